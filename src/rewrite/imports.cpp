// `import` and `from … import` from the stores of what IMPORT_NAME and IMPORT_FROM gave.
#include <algorithm>
#include <string>

#include "rewrite/rewriter.h"
#include "support/error.h"

namespace depyf {
namespace {

constexpr std::uint8_t kLazy = 1;

constexpr std::int64_t kMostDots =
    1000;  // of a relative import: more would be no source that anyone can read

bool is_module(const Rewriter& r, ExprId id) {
  return id && r.ast[id].kind == ExprKind::ImportModule;
}
bool is_member(const Rewriter& r, ExprId id) {
  return id && r.ast[id].kind == ExprKind::ImportedName;
}

StmtId import_statement(Rewriter& r, StmtKind kind, StmtId at, const Expr& module,
                        std::span<const std::uint32_t> names) {
  Stmt s;
  s.kind = kind;
  s.flag = module.op == kLazy;
  s.origin = r.ast[at].origin;
  s.absorbed = r.ast[at].absorbed;
  s.extra = r.ast.arena.copy(names);
  if (kind == StmtKind::ImportFrom) {
    const Const* level = r.constant(module.kids[0]);
    const bool known = level && level->kind == ConstKind::Int && !level->big &&
                       level->integer >= 0 && level->integer <= kMostDots;
    if (!known) throw UnusualCode("an import whose level is no number of dots");
    s.level = static_cast<std::uint32_t>(level->integer);
    s.a = r.text(StrId(module.a)).empty() ? UINT32_MAX : module.a;
  }
  return r.ast.add(s);
}

/// The name of a member as the list of names spells it that IMPORT_NAME gets, in which nothing is
/// mangled.
StrId member_as_listed(Rewriter& r, const Expr& module, std::size_t index, StrId name) {
  const Const* listed = r.constant(module.kids[1]);
  if (!listed || listed->kind != ConstKind::Tuple || index >= listed->items.size()) return name;
  const Const& item = r.module[listed->items[index]];
  if (item.kind != ConstKind::Str) return name;
  return as_spelt(r.module, r.code, name, r.module.intern(item.text));
}

/// Is `name`, which may have been unmangled, what a dotted name spells as `text`? In a dotted name
/// nothing is mangled.
bool is_spelt(Rewriter& r, StrId name, std::string_view text) {
  return r.text(name) == text || as_spelt(r.module, r.code, name, r.module.intern(text)) != name;
}

/// `import a.b.c` or `import a.b.c as name`; none when the value does not fit.
StmtId plain_import(Rewriter& r, StmtId id, StrId name, ExprId value) {
  std::vector<StrId> attributes;  // last first
  while (is_member(r, value)) {
    attributes.push_back(StrId(r.ast[value].a));
    value = r.ast[value].kids[0];
  }
  if (!is_module(r, value)) return StmtId::none();
  const Expr module = r.ast[value];
  const Const* level = r.constant(module.kids[0]);
  if (!r.is_none(module.kids[1]) || !level || level->kind != ConstKind::Int || level->big ||
      level->integer != 0)
    return StmtId::none();
  std::string_view dotted = r.text(StrId(module.a));
  StrId as = name;
  if (attributes.empty()) {
    if (is_spelt(r, name, dotted.substr(0, dotted.find('.'))))
      as = StrId::none();
    else if (dotted.find('.') != dotted.npos)
      return StmtId::none();
  } else {
    for (StrId attribute : attributes) {
      const std::size_t dot = dotted.rfind('.');
      if (dot == dotted.npos || !is_spelt(r, attribute, dotted.substr(dot + 1)))
        return StmtId::none();
      dotted = dotted.substr(0, dot);
    }
    if (dotted.find('.') != dotted.npos) return StmtId::none();
  }
  const std::uint32_t names[] = {module.a, as.index};
  return import_statement(r, StmtKind::Import, id, module, names);
}

}  // namespace

void restore_imports(Rewriter& r) {
  if (!r.may_hold(ExprKind::ImportModule) && !r.may_hold(ExprKind::ImportedName)) return;
  const auto imports = [&](StmtId id) {
    const Stmt& s = r.ast[id];
    return s.kind == StmtKind::ImportStar ||
           (r.assigned_name(s) && (is_module(r, s.e[0]) || is_member(r, s.e[0])));
  };
  std::vector<ExprId> replaced;  // nodes for which statements stand now
  const auto replace = [&](ExprId value) {
    for (; is_member(r, value); value = r.ast[value].kids[0]) replaced.push_back(value);
    replaced.push_back(value);
  };
  r.edit_lists([&](std::vector<StmtId>& list) {
    if (std::none_of(list.begin(), list.end(), imports)) return false;
    std::vector<StmtId> out;
    bool changed = false;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const StmtId id = list[i];
      if (!imports(id)) {
        out.push_back(id);
        continue;
      }
      const Stmt s = r.ast[id];
      StmtId made;
      if (s.kind == StmtKind::ImportStar && is_module(r, s.e[0])) {
        const std::uint32_t names[] = {r.module.intern("*").index, UINT32_MAX};
        made = import_statement(r, StmtKind::ImportFrom, id, r.ast[s.e[0]], names);
        replace(s.e[0]);
      } else if (const StrId name = r.assigned_name(s)) {
        const Expr value = r.ast[s.e[0]];
        if (value.kind == ExprKind::ImportedName && is_module(r, value.kids[0]) &&
            !r.is_none(r.ast[value.kids[0]].kids[1])) {
          std::vector<std::uint32_t> names;
          std::size_t end = i;
          for (; end < list.size(); ++end) {
            const Stmt& member = r.ast[list[end]];
            const StrId target = r.assigned_name(member);
            if (!target || !is_member(r, member.e[0]) ||
                r.ast[member.e[0]].kids[0] != value.kids[0])
              break;
            const std::uint32_t imported = r.ast[member.e[0]].a;
            names.push_back(
                member_as_listed(r, r.ast[value.kids[0]], end - i, StrId(imported)).index);
            names.push_back(imported == target.index ? UINT32_MAX : target.index);
            replace(member.e[0]);
          }
          made = import_statement(r, StmtKind::ImportFrom, id, r.ast[value.kids[0]], names);
          for (std::size_t j = i + 1; j < end; ++j) r.absorb(made, list[j]);
          i = end - 1;
        } else {
          made = plain_import(r, id, name, s.e[0]);
          if (made) replace(s.e[0]);
        }
      }
      changed = changed || made;
      out.push_back(made ? made : id);
    }
    if (changed) list.swap(out);
    return changed;
  });

  std::sort(replaced.begin(), replaced.end());
  replaced.erase(std::unique(replaced.begin(), replaced.end()), replaced.end());
  std::size_t all = 0;
  for (const std::span<const Expr> own : r.own_exprs())
    for (const Expr& e : own)
      all += e.kind == ExprKind::ImportModule || e.kind == ExprKind::ImportedName;
  if (all == replaced.size()) return;
  // An import whose value goes elsewhere than into a name has no statement: the function behind it
  // says the same.
  for (ExprId id : collect_expressions(r.ast, r.body)) {
    const ExprKind kind = r.ast[id].kind;
    if (kind == ExprKind::ImportModule) {
      const Expr e = r.ast[id];
      const ExprId none = r.ast.constant(r.make_constant(ConstKind::None));
      const ExprId function = r.ast.name(r.module.intern("__import__"), e.origin);
      r.ast[function].op = static_cast<std::uint8_t>(NameScope::Global);
      Const text;
      text.kind = ConstKind::Str;
      text.text = r.text(StrId(e.a));
      const ExprId kids[] = {
          function, r.ast.constant(r.module.add(text), e.origin), none, none, e.kids[1], e.kids[0]};
      r.ast[id] = Expr{ExprKind::Call, 0, 0, UINT32_MAX, r.ast.arena.copy(kids), {}, e.origin};
    } else if (kind == ExprKind::ImportedName) {
      r.ast[id].kind = ExprKind::Attribute;
    }
  }
}

}  // namespace depyf
