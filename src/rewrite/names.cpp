// Private names of classes as they were written: `_C__x` inside class C was `__x`.
#include <algorithm>
#include <string>

#include "rewrite/rewriter.h"

namespace depyf {
namespace {

/// `_C__x`
bool may_be_mangled(std::string_view name) { return name.size() >= 4 && name[0] == '_' && name[1] != '_' && name.find("__", 2) != name.npos; }

/// The prefix "_C__" of names that the class around `code` mangles; empty outside classes.
std::string mangled_prefix(const Module& module, CodeId code) {
  for (CodeId at = code; at; at = module[at].parent) {
    if (role_of(module, at) != Role::Class) continue;
    std::string_view name = module[module[at].name];
    while (!name.empty() && name[0] == '_') name.remove_prefix(1);
    return name.empty() ? std::string() : "_" + std::string(name) + "__";
  }
  return {};
}

}  // namespace

StrId unmangled(Module& module, CodeId scope, StrId id) {
  if (!id) return id;
  const std::string_view name = module[id];
  if (!may_be_mangled(name)) return id;
  const std::string prefix = mangled_prefix(module, scope);
  if (prefix.empty() || !name.starts_with(prefix)) return id;
  const std::string_view rest = name.substr(prefix.size() - 2);
  if (rest.size() <= 2 || rest.ends_with("__") || rest.find('.') != rest.npos) return id;
  return module.intern(rest);
}

void unmangle_names(Rewriter& r) {
  const auto looks_mangled = [&](StrId name) { return may_be_mangled(r.module[name]); };
  if (std::none_of(r.object.names.begin(), r.object.names.end(), looks_mangled) &&
      std::none_of(r.object.slots.begin(), r.object.slots.end(), [&](const Slot& slot) { return looks_mangled(slot.name); }))
    return;
  const std::string prefix = mangled_prefix(r.module, r.code);
  if (prefix.empty()) return;
  auto is_mangled = [&](std::uint32_t a) { return a != UINT32_MAX && r.module.strings[a].size() > prefix.size() && r.module.strings[a].starts_with(prefix); };
  auto fix = [&](std::uint32_t& a) {
    if (is_mangled(a)) a = unmangled(r.module, r.code, StrId(a)).index;
  };
  auto holds_name = [](const Expr& e) {
    return e.kind == ExprKind::Name || e.kind == ExprKind::Attribute || e.kind == ExprKind::CellRef || e.kind == ExprKind::ImportModule ||
           e.kind == ExprKind::ImportedName || e.kind == ExprKind::MatchStar || e.kind == ExprKind::MatchAs || e.kind == ExprKind::MatchMapping;
  };
  StmtIds statements;
  collect_statements(r.ast, r.body, statements);
  for (StmtId id : statements)
    if (r.ast[id].kind == StmtKind::Handler) fix(r.ast[id].a);
  for (ExprId id : collect_expressions(r.ast, r.body))
    if (holds_name(r.ast[id])) fix(r.ast[id].a);
}

}  // namespace depyf
