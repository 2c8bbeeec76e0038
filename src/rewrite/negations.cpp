// Where `not` stood: `not a and not b` makes the jumps of `not (a or b)`. Between two operands on
// one row there is room for the operator alone, or for a `not` too.
#include <string_view>

#include "rewrite/rewriter.h"
#include "rewrite/source_columns.h"

namespace depyf {
namespace {

constexpr std::uint32_t kAnd = 5, kOr = 4, kNot = 4;  // ` and `, ` or `, `not `

class Negations {
 public:
  explicit Negations(Rewriter& r) : r_(r), columns_(r.columns()) {}

  void place() {
    for (ExprId id : collect_expressions(r_.ast, r_.body)) {
      const Expr e = r_.ast[id];
      if (e.kind == ExprKind::BoolOp) {
        gather(id);
      } else if (is_not(e) && r_.ast[e.kids[0]].kind == ExprKind::BoolOp) {
        distribute(id);
      }
    }
  }

 private:
  ExprId without_not(ExprId id) const {
    const Expr& e = r_.ast[id];
    return is_not(e) ? e.kids[0] : id;
  }

  /// How many columns lie between two operands, without `not` before them; 0: unknown.
  std::uint32_t gap(ExprId first, ExprId second) const {
    first = without_not(first), second = without_not(second);
    if (r_.ast[first].kind == ExprKind::BoolOp || r_.ast[second].kind == ExprKind::BoolOp) return 0;
    const SourceSpan a = columns_.of(first), b = columns_.of(second);
    return a.line != 0 && a.line == b.line && a.end < b.first ? b.first - a.end : 0;
  }

  /// Does the gap before an operand, which is negated here, show that it was not, and that the
  /// other operator stood there?
  bool is_joined(ExprId first, ExprId second, bool is_or) const {
    const bool negated = is_not(r_.ast[second]);
    return gap(first, second) == (is_or ? kAnd : kOr) && (negated || !is_or) &&
           (is_not(r_.ast[first]) || negated) && negation_is_free(r_.ast, first) &&
           negation_is_free(r_.ast, second);
  }

  /// `not a and not b` as `not (a or b)`.
  void gather(ExprId id) {
    const Expr e = r_.ast[id];
    const bool is_or = e.op != 0;
    std::vector<ExprId> kids;
    for (std::size_t i = 0; i < e.kids.size();) {
      std::size_t end = i + 1;
      while (end < e.kids.size() && is_joined(e.kids[end - 1], e.kids[end], is_or)) ++end;
      if (end == i + 1) {
        kids.push_back(e.kids[i++]);
        continue;
      }
      std::vector<ExprId> group;
      for (; i < end; ++i) group.push_back(negate(r_.ast, e.kids[i]));
      kids.push_back(with_not(r_.ast, r_.ast.expr(ExprKind::BoolOp, group, e.a, !is_or, e.origin)));
    }
    if (kids.size() == e.kids.size()) return;
    r_.ast[id] = kids.size() == 1 ? Expr(r_.ast[kids[0]]) : with_kids(e, kids);
  }

  /// `not (a or b)` as `not a and not b`.
  void distribute(ExprId id) {
    const Expr e = r_.ast[r_.ast[id].kids[0]];
    const bool is_or = e.op != 0;
    bool told = false;
    for (std::size_t i = 0; i < e.kids.size(); ++i) {
      if (!negation_is_free(r_.ast, e.kids[i])) return;
      if (i == 0) continue;
      const std::uint32_t found = gap(e.kids[i - 1], e.kids[i]);
      if (found == 0) continue;
      if (found != (is_or ? kAnd : kOr) + (is_not(r_.ast[e.kids[i]]) ? 0 : kNot)) return;
      told = true;
    }
    if (!told) return;
    std::vector<ExprId> kids;
    for (ExprId kid : e.kids) kids.push_back(negate(r_.ast, kid));
    Expr all = with_kids(e, kids);
    all.op = !is_or;
    r_.ast[id] = all;
  }

  Expr with_kids(Expr e, std::span<const ExprId> kids) {
    e.kids = r_.ast.arena.copy(kids);
    return e;
  }

  Rewriter& r_;
  const SourceColumns& columns_;
};

}  // namespace

void place_negations(Rewriter& r) {
  if (r.may_hold(ExprKind::BoolOp) && r.columns().known()) Negations(r).place();
}

}  // namespace depyf
