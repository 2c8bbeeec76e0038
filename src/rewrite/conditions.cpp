// The shape of `if` statements as a person writes it; the bytecode does not tell.
#include <algorithm>
#include <utility>

#include "rewrite/rewriter.h"

namespace depyf {
namespace {

bool ends(const Rewriter& r, std::span<const StmtId> list) {
  if (list.empty()) return false;
  const StmtKind kind = r.ast[list.back()].kind;
  return kind == StmtKind::Return || kind == StmtKind::Raise || kind == StmtKind::Break || kind == StmtKind::Continue;
}

bool is_not(const Rewriter& r, ExprId id) {
  const Expr& e = r.ast[id];
  return e.kind == ExprKind::Unary && static_cast<UnaryOp>(e.op) == UnaryOp::Not;
}

}  // namespace

void tidy_conditions(Rewriter& r) {
  // In the place of an `elif` nothing may follow.
  std::vector<StmtId> statements;
  collect_statements(r.ast, r.body, statements);
  std::vector<std::uint32_t> elifs;
  for (StmtId id : statements) {
    Stmt& s = r.ast[id];
    if (s.kind != StmtKind::If) continue;
    // `if not a: X else: Y` reads better the other way round, unless that makes an `elif` out of nothing.
    if (!s.body.empty() && !s.orelse.empty() && is_not(r, s.e[0]) && !(s.orelse.size() == 1 && r.ast[s.orelse[0]].kind == StmtKind::If) &&
        !(ends(r, s.body) && !ends(r, s.orelse))) {
      s.e[0] = r.ast[s.e[0]].kids[0];
      std::swap(s.body, s.orelse);
    }
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
      if (s.kind != StmtKind::If || s.orelse.empty() || !ends(r, s.body)) continue;
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
