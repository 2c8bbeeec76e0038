#include "ast/negate.h"

#include <optional>
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

/// How often `not` stands in a condition as it is, and where its negation is brought to the
/// operands at the bottom; none where that of one of them is another operation.
struct Nots {
  std::size_t as_is = 0, negated = 0;
};
std::optional<Nots> count_nots(const Ast& ast, const Expr& e) {
  Nots out;
  std::vector<ExprId> work(e.kids.begin(), e.kids.end());
  while (!work.empty()) {
    const ExprId id = work.back();
    const Expr& kid = ast[id];
    work.pop_back();
    if (kid.kind == ExprKind::BoolOp) {
      work.insert(work.end(), kid.kids.begin(), kid.kids.end());
    } else if (is_not(kid)) {
      ++out.as_is;
    } else if (!negation_is_free(ast, id)) {
      return {};
    } else {
      ++out.negated;
    }
  }
  return out;
}

/// The negation of the operands of `and` and `or`, and of the operands of those, at any depth.
ExprId brought_down(Ast& ast, const Expr& top) {
  struct Part {
    ExprId source;
    std::vector<ExprId> kids;
  };
  std::vector<Part> open{{{}, {}}};
  while (true) {
    const Expr e = open.size() == 1 ? top : Expr(ast[open.back().source]);
    const std::size_t done = open.back().kids.size();
    if (done == e.kids.size()) {
      Expr out = e;
      out.op = e.op == 0;
      out.kids = ast.arena.copy(open.back().kids);
      const ExprId made = ast.add(out);
      open.pop_back();
      if (open.empty()) return made;
      open.back().kids.push_back(made);
      continue;
    }
    const ExprId kid = e.kids[done];
    if (ast[kid].kind == ExprKind::BoolOp)
      open.push_back({kid, {}});
    else
      open.back().kids.push_back(is_not(ast[kid]) ? ast[kid].kids[0] : with_not(ast, kid));
  }
}

/// The same where that has no more `not` than before: of `a and (not b or not c)`,
/// `not a or b and c`.
ExprId brought_down_if_shorter(Ast& ast, const Expr& e) {
  if (e.kind != ExprKind::BoolOp) return {};
  const std::optional<Nots> nots = count_nots(ast, e);
  return nots && nots->negated <= nots->as_is ? brought_down(ast, e) : ExprId();
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
  if (clumsy != 0 && (negations == 0 || negations * 2 < e.kids.size()))
    return brought_down_if_shorter(ast, e);
  Expr out = e;
  out.op = e.op == 0;
  std::vector<ExprId> kids;
  for (ExprId kid : e.kids) {
    if (!is_not(ast[kid])) {
      ExprId other = inverted_comparison(ast, Expr(ast[kid]));
      if (!other) other = brought_down_if_shorter(ast, Expr(ast[kid]));
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

ExprId with_decision(Ast& ast, ExprId test, ExprId constant) {
  const Expr e = ast[test];
  const bool is_or = (*ast.module)[ConstId(ast[constant].a)].kind == ConstKind::True;
  std::vector<ExprId> kids{test};
  if (e.kind == ExprKind::BoolOp && (e.op != 0) == is_or && e.a == UINT32_MAX)
    kids.assign(e.kids.begin(), e.kids.end());
  kids.push_back(constant);
  return ast.expr(ExprKind::BoolOp, kids, UINT32_MAX, is_or, e.origin);
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
