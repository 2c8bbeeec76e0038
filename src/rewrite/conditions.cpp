// `else` after `return` and the like, which the bytecode does not tell: flat, as a person writes guards, unless it is an `elif`.
#include <algorithm>

#include "rewrite/rewriter.h"

namespace depyf {
void tidy_conditions(Rewriter& r) {
  // In the place of an `elif` nothing may follow.
  std::vector<StmtId> statements;
  collect_statements(r.ast, r.body, statements);
  std::vector<std::uint32_t> elifs;
  for (StmtId id : statements) {
    const Stmt& s = r.ast[id];
    if (s.kind != StmtKind::If) continue;
    if (s.orelse.size() == 1 && r.ast[s.orelse[0]].kind == StmtKind::If) elifs.push_back(s.orelse[0].index);
  }
  std::sort(elifs.begin(), elifs.end());
  r.edit_lists([&](std::vector<StmtId>& list) {
    if (list.size() == 1 && std::binary_search(elifs.begin(), elifs.end(), list[0].index)) return false;
    std::vector<StmtId> out;
    bool changed = false;
    for (StmtId id : list) {
      out.push_back(id);
      Stmt& s = r.ast[id];
      if (s.kind != StmtKind::If || s.flag != 0 || s.orelse.empty() || !never_ends(r.ast, s.body)) continue;
      if (s.orelse.size() == 1 && r.ast[s.orelse[0]].kind == StmtKind::If) continue;
      out.insert(out.end(), s.orelse.begin(), s.orelse.end());
      s.orelse = {};
      changed = true;
    }
    if (changed) list.swap(out);
    return changed;
  });
}

}  // namespace depyf
