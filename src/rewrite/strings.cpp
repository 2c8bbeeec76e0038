// f-strings: a formatted value is part of one, and constant parts that touch are one part.
#include <string>
#include <unordered_set>

#include "rewrite/rewriter.h"

namespace depyf {

void restore_strings(Rewriter& r) {
  const std::vector<ExprId> order = collect_expressions(r.ast, r.body);
  std::unordered_set<std::uint32_t> inside;
  for (ExprId id : order)
    if (r.ast[id].kind == ExprKind::JoinedStr)
      for (ExprId kid : r.ast[id].kids) inside.insert(kid.index);
  for (ExprId id : order) {
    const Expr e = r.ast[id];
    if (e.kind == ExprKind::FormattedValue && !inside.contains(id.index)) {
      const ExprId part = r.ast.add(e);
      r.ast[id] = Expr{ExprKind::JoinedStr, 0, UINT32_MAX, {}, {}, e.origin};
      const ExprId kids[] = {part};
      r.ast[id].kids = r.ast.arena.copy(kids);
      inside.insert(part.index);
      continue;
    }
    if (e.kind != ExprKind::JoinedStr) continue;
    std::vector<ExprId> parts;
    bool changed = false;
    for (std::size_t i = 0; i < e.kids.size(); ++i) {
      std::size_t end = i;
      while (end < e.kids.size() && r.is_constant(e.kids[end], ConstKind::Str)) ++end;
      if (end < i + 2) {
        parts.push_back(e.kids[i]);
        continue;
      }
      std::string text;
      for (std::size_t j = i; j < end; ++j) text += r.constant(e.kids[j])->text;
      Const joined;
      joined.kind = ConstKind::Str;
      joined.text = r.module.arena.copy_string(text);
      parts.push_back(r.ast.constant(r.module.add(joined), r.ast[e.kids[i]].origin));
      i = end - 1;
      changed = true;
    }
    if (changed) r.ast[id].kids = r.ast.arena.copy(parts);
  }
}

}  // namespace depyf
