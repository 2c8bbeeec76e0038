// Private names of classes as they were written: `_C__x` inside class C was `__x`.
#include <algorithm>
#include <string>

#include "rewrite/rewriter.h"
#include "support/error.h"
#include "support/flat_map.h"

namespace depyf {
namespace {

/// What mangles the private names of a code object.
struct Mangling {
  std::string prefix;  // "_C__"; empty outside of classes
  CodeId header;       // the code whose variables alone are mangled

  bool covers(const Module& module, std::string_view mangled) const {
    if (prefix.empty() || !mangled.starts_with(prefix)) return false;
    if (!header) return true;
    const auto slots = module[header].slots;
    return std::any_of(slots.begin(), slots.end(),
                       [&](const Slot& slot) { return module[slot.name] == mangled; });
  }
};

/// The class around `code`; in the header of a generic class that class, for its type parameters
/// alone (3.12.4+).
Mangling mangling_of(const Module& module, CodeId code) {
  static constexpr std::string_view kGeneric = "<generic parameters of ";
  for (CodeId at = code; at; at = module[at].parent) {
    const Role role = role_of(module, at);
    if (role != Role::Class && role != Role::GenericScope) continue;
    std::string_view name = module[module[at].name];
    const auto slots = module[at].slots;
    if (role == Role::GenericScope) {
      if (std::none_of(slots.begin(), slots.end(),
                       [&](const Slot& slot) { return module[slot.name] == ".type_params"; }))
        continue;
      name.remove_prefix(kGeneric.size());
      if (name.ends_with('>')) name.remove_suffix(1);
    }
    while (!name.empty() && name[0] == '_') name.remove_prefix(1);
    return {name.empty() ? std::string() : "_" + std::string(name) + "__",
            role == Role::GenericScope ? at : CodeId::none()};
  }
  return {};
}

/// A name such as `__x` that its class has not mangled: written plainly, it would be.
void refuse_unmangled(const Rewriter& r) {
  const auto is_private = [&](StrId name) {
    return name && (r.module.traits(name) & kPrivateName);
  };
  const Mangling mangling = mangling_of(r.module, r.code);
  if (mangling.prefix.empty()) return;
  const auto refuse = [&](const Expr& e) {
    const bool outside =
        e.kind == ExprKind::Attribute ||
        (e.kind == ExprKind::Name && (e.op == static_cast<std::uint8_t>(NameScope::Global) ||
                                      e.op == static_cast<std::uint8_t>(NameScope::Name)));
    if (outside && is_private(StrId(e.a)) &&
        mangling.covers(r.module, mangling.prefix + std::string(r.text(StrId(e.a)).substr(2))))
      throw UnusualCode("a private name that the class around it has not mangled");
  };
  for (const std::span<const Expr> own : r.own_exprs())
    std::for_each(own.begin(), own.end(), refuse);
}

}  // namespace

StrId unmangled(Module& module, CodeId scope, StrId id) {
  if (!id) return id;
  if (!(module.traits(id) & kPerhapsMangled)) return id;
  const std::string_view name = module[id];
  const Mangling mangling = mangling_of(module, scope);
  if (!mangling.covers(module, name)) return id;
  const std::string_view rest = name.substr(mangling.prefix.size() - 2);
  if (rest.size() <= 2 || rest.ends_with("__") || rest.find('.') != rest.npos) return id;
  return module.intern(rest);
}

StrId as_spelt(Module& module, CodeId scope, StrId name, StrId spelt) {
  return unmangled(module, scope, spelt) == name ? spelt : name;
}

/// One name for a local and for a global of the same function: source has no such thing (outside
/// of comprehensions, whose variables are their own), but Dynamo has, for a user's global that is
/// called `graph_out_0`. The local gets a name that no source can hold, for the printer to spell.
void separate_locals(Rewriter& r) {
  if (!(r.object.flags & kOptimized)) return;
  const std::uint64_t parameters = r.object.parameter_count();
  const std::span<Expr> own = r.own_exprs()[0];  // no pass has made a name yet
  const auto is_scope = [](const Expr& e, NameScope scope) {
    return e.kind == ExprKind::Name && e.op == static_cast<std::uint8_t>(scope);
  };
  constexpr std::uint32_t kKept = UINT32_MAX;
  FlatMap<std::uint32_t> renamed;  // local -> its name from now on, 0 where it has none yet
  for (std::size_t i = parameters; i < r.object.slots.size(); ++i)
    if (r.object.slots[i].kind == kLocal) renamed[r.object.slots[i].name.index] = kKept;
  if (std::none_of(r.object.names.begin(), r.object.names.end(),
                   [&](StrId name) { return renamed.at(name.index); }))
    return;
  bool any = false;
  for (const Expr& e : own)
    if (is_scope(e, NameScope::Global))
      if (renamed.at(e.a)) {
        renamed[e.a] = 0;
        any = true;
      }
  if (!any) return;
  ExprIds targets;
  for (const Expr& e : own)
    if (e.kind == ExprKind::Comprehension && e.kids[0]) targets.push_back(e.kids[0]);
  collect_below(r.ast, targets);
  for (ExprId id : targets)
    if (r.ast[id].kind == ExprKind::Name && renamed.at(r.ast[id].a)) renamed[r.ast[id].a] = kKept;
  const auto rename = [&](std::uint32_t& name) {
    if (!renamed.at(name)) return;
    std::uint32_t& to = renamed[name];
    if (to == kKept) return;
    if (to == 0) {
      const StrId made = r.module.intern(std::string(r.text(StrId(name))) + " (a local)");
      r.ast.separated.emplace_back(made, StrId(name));
      to = made.index;
    }
    name = to;
  };
  const auto fast = static_cast<std::uint8_t>(NameScope::Fast);
  for (Expr& e : own)
    if ((e.kind == ExprKind::Name || e.kind == ExprKind::MatchStar || e.kind == ExprKind::MatchAs ||
         e.kind == ExprKind::MatchMapping) &&
        e.op == fast && e.a != UINT32_MAX)
      rename(e.a);
  const std::span<Stmt> statements = r.own_stmts()[0];
  for (Stmt& s : statements)
    if (s.kind == StmtKind::Handler && s.flag == fast && s.a != UINT32_MAX) rename(s.a);
}

void unmangle_names(Rewriter& r) {
  std::uint8_t traits = 0;
  for (const StrId name : r.object.names) traits |= r.module.traits(name);
  if (!r.ast.renames && (traits & kPrivateName)) refuse_unmangled(r);
  for (const Slot& slot : r.object.slots) traits |= r.module.traits(slot.name);
  if (!(traits & kPerhapsMangled)) return;
  const std::string prefix = mangling_of(r.module, r.code).prefix;
  if (prefix.empty()) return;
  auto is_mangled = [&](std::uint32_t a) {
    return a != UINT32_MAX && r.module.strings[a].size() > prefix.size() &&
           r.module.strings[a].starts_with(prefix);
  };
  auto fix = [&](std::uint32_t& a) {
    if (is_mangled(a)) a = unmangled(r.module, r.code, StrId(a)).index;
  };
  auto holds_name = [](const Expr& e) {
    return e.kind == ExprKind::Name || e.kind == ExprKind::Attribute ||
           e.kind == ExprKind::CellRef || e.kind == ExprKind::ImportModule ||
           e.kind == ExprKind::ImportedName || e.kind == ExprKind::MatchStar ||
           e.kind == ExprKind::MatchAs || e.kind == ExprKind::MatchMapping;
  };
  StmtIds statements;
  collect_statements(r.ast, r.body, statements);
  for (StmtId id : statements)
    if (r.ast[id].kind == StmtKind::Handler) fix(r.ast[id].a);
  for (ExprId id : collect_expressions(r.ast, r.body))
    if (holds_name(r.ast[id])) fix(r.ast[id].a);
}

}  // namespace depyf
