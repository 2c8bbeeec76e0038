#include "ast/negate.h"

#include <vector>

namespace depyf {

bool is_not(const Expr& e) {
  return e.kind == ExprKind::Unary && static_cast<UnaryOp>(e.op) == UnaryOp::Not;
}

ExprId with_not(Ast& ast, ExprId test) {
  return ast.expr(ExprKind::Unary, {test}, UINT32_MAX, static_cast<std::uint8_t>(UnaryOp::Not),
                  ast[test].origin);
}

namespace {

/// `x is y` as `x is not y` and the like; none for comparisons whose opposite is no operator of
/// exactly that meaning.
ExprId inverted_comparison(Ast& ast, const Expr& e) {
  if (e.kind != ExprKind::Compare || e.extra.size() != 1 || e.op == kKeepsNot) return {};
  auto inverted = [&](CompareOp op) {
    const std::uint32_t ops[] = {static_cast<std::uint32_t>(op)};
    return ast.add(Expr{ExprKind::Compare, e.op, 0, e.a, e.kids, ast.arena.copy(ops), e.origin});
  };
  switch (static_cast<CompareOp>(e.extra[0])) {
    case CompareOp::Is:
      return inverted(CompareOp::IsNot);
    case CompareOp::IsNot:
      return inverted(CompareOp::Is);
    case CompareOp::In:
      return inverted(CompareOp::NotIn);
    case CompareOp::NotIn:
      return inverted(CompareOp::In);
    case CompareOp::Lt:
    case CompareOp::Le:
    case CompareOp::Eq:
    case CompareOp::Ne:
    case CompareOp::Gt:
    case CompareOp::Ge:
      break;
  }
  return {};
}

/// De Morgan: `not (a or b)` is `not a and not b`, which as a condition makes the same jumps. None
/// where that reads no better, or where an operand's negation is another operation.
ExprId distributed(Ast& ast, const Expr& e) {
  if (e.kind != ExprKind::BoolOp) return {};
  std::size_t negations = 0, clumsy = 0;
  for (ExprId kid : e.kids) {
    if (!negation_is_free(ast, kid)) return {};
    negations += is_not(ast[kid]);
    // `not a < b` and `not (a and b)`
    clumsy += ast[kid].kind == ExprKind::BoolOp ||
              (ast[kid].kind == ExprKind::Compare && ast[kid].op != kEitherPolarity);
  }
  if (clumsy != 0 && (negations == 0 || negations * 2 < e.kids.size())) return {};
  Expr out = e;
  out.op = e.op == 0;
  std::vector<ExprId> kids;
  for (ExprId kid : e.kids) {
    if (!is_not(ast[kid])) {
      const ExprId other = inverted_comparison(ast, Expr(ast[kid]));
      kids.push_back(other ? other : with_not(ast, kid));
      continue;
    }
    const Expr inner = ast[ast[kid].kids[0]];
    if (inner.kind == ExprKind::BoolOp && inner.op == out.op)
      kids.insert(kids.end(), inner.kids.begin(), inner.kids.end());
    else
      kids.push_back(ast[kid].kids[0]);
  }
  out.kids = ast.arena.copy(kids);
  return ast.add(out);
}

}  // namespace

ExprId negate(Ast& ast, ExprId test) {
  const Expr e = ast[test];
  if (const ExprId other = distributed(ast, e)) return other;
  if (is_not(e)) return e.kids[0];
  const ExprId other = inverted_comparison(ast, e);
  return other ? other : with_not(ast, test);
}

bool negation_is_free(const Ast& ast, ExprId test) {
  const Expr& e = ast[test];
  if (e.kind != ExprKind::Compare || e.extra.size() != 1 || e.op == kEitherPolarity ||
      e.op == kKeepsNot)
    return true;
  const CompareOp op = static_cast<CompareOp>(e.extra[0]);
  return op != CompareOp::Is && op != CompareOp::IsNot && op != CompareOp::In &&
         op != CompareOp::NotIn;
}

}  // namespace depyf
