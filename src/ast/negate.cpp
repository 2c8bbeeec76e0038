#include "ast/negate.h"

namespace depyf {

ExprId negate(Ast& ast, ExprId test) {
  const Expr e = ast[test];
  if (e.kind == ExprKind::Unary && static_cast<UnaryOp>(e.op) == UnaryOp::Not) return e.kids[0];
  if (e.kind == ExprKind::Compare && e.extra.size() == 1) {
    auto inverted = [&](CompareOp op) {
      const std::uint32_t ops[] = {static_cast<std::uint32_t>(op)};
      return ast.add(Expr{ExprKind::Compare, e.op, e.a, e.kids, ast.arena.copy(ops), e.origin});
    };
    switch (static_cast<CompareOp>(e.extra[0])) {
      case CompareOp::Is: return inverted(CompareOp::IsNot);
      case CompareOp::IsNot: return inverted(CompareOp::Is);
      case CompareOp::In: return inverted(CompareOp::NotIn);
      case CompareOp::NotIn: return inverted(CompareOp::In);
      case CompareOp::Lt: case CompareOp::Le: case CompareOp::Eq: case CompareOp::Ne: case CompareOp::Gt: case CompareOp::Ge: break;
    }
  }
  return ast.expr(ExprKind::Unary, {test}, UINT32_MAX, static_cast<std::uint8_t>(UnaryOp::Not), e.origin);
}

bool negation_is_free(const Ast& ast, ExprId test) {
  const Expr& e = ast[test];
  if (e.kind != ExprKind::Compare || e.extra.size() != 1 || e.op == kEitherPolarity) return true;
  const CompareOp op = static_cast<CompareOp>(e.extra[0]);
  return op != CompareOp::Is && op != CompareOp::IsNot && op != CompareOp::In && op != CompareOp::NotIn;
}

}  // namespace depyf
