// Expressions with control flow inside: `and`, `or`, conditional expressions, chained comparisons.
#include "ast/comprehension.h"
#include "structure/build.h"
#include "structure/operations.h"

namespace depyf {

/// Operands of `and` or `or` as a value that jump to the next one's test, where they are operations
/// too. So do those of theirs (`b` and `c` of `(a or b and x or c and d) and e`), and what the
/// `else` of a conditional expression among them gives.
static void keep_on_one_row(Ast& ast, std::span<const ExprId> operands) {
  std::vector<ExprId> work(operands.begin(), operands.end());
  while (!work.empty()) {
    Expr& e = ast[work.back()];
    work.pop_back();
    if (e.kind == ExprKind::IfExp) work.push_back(e.kids[2]);
    if (e.kind != ExprKind::BoolOp || e.a != UINT32_MAX) continue;
    e.a = kOnSameRow;
    work.insert(work.end(), e.kids.begin(), e.kids.end());
  }
}

/// A comprehension as one of several operands: the jump behind another one leads to the store.
static ExprId as_operand(Ast& ast, ExprId operand) {
  Expr& e = ast[operand];
  if (is_comprehension(e.kind) && e.op == kStoredLast) e.op = 0;
  return operand;
}

/// The expression of a value with control flow inside, over the expression of what is evaluated
/// first.
ExprId BlockBuilder::select_expression(ValueId v, ExprId operand) {
  const Select& select = s_.select_of(v);
  switch (select.kind) {
    case Select::Prebuilt: {  // a comprehension; the operand is the iterable of its first `for`
      Expr whole = s_.ast[select.rest];
      whole.kids = s_.ast.arena.copy(whole.kids);
      for (ExprId& kid : whole.kids) {
        if (!kid || s_.ast[kid].kind != ExprKind::Comprehension) continue;
        Expr generator = s_.ast[kid];
        generator.kids = s_.ast.arena.copy(generator.kids);
        generator.kids[1] = operand;
        kid = s_.ast.add(generator);
        break;
      }
      return s_.ast.add(whole);
    }
    case Select::IfExp: {
      ExprId test = select.negate_first ? negate(s_.ast, operand) : operand;
      if (select.decided) test = with_decision(s_.ast, test, select.decided);
      const ExprId chosen = as_operand(s_.ast, select.rest);
      return s_.ast.expr(ExprKind::IfExp, {test, chosen, as_operand(s_.ast, select.orelse)},
                         UINT32_MAX, 0, origin(v));
    }
    case Select::Subject:
      return operand;
    case Select::And:
    case Select::Or:
      break;
  }
  const std::uint8_t op = select.kind == Select::Or;
  const ExprId first = select.negate_first ? negate(s_.ast, operand) : operand;
  auto operands_of = [&](ExprId e) {
    const Expr& whole = s_.ast[e];
    return whole.kind == ExprKind::BoolOp && whole.op == op && whole.a != kBeginsRow &&
                   whole.a != kInner
               ? std::vector<ExprId>(whole.kids.begin(), whole.kids.end())
               : std::vector<ExprId>{e};
  };
  // `(a or b) or c` tests twice
  const bool merged = s_.is_merged(s_.resolve(s_.at(v).operands[0]));
  if (merged && s_.lifted.traits.one_test_on_a_row && s_.ast[first].kind == ExprKind::BoolOp)
    s_.ast[first].a = kBeginsRow;
  std::vector<ExprId> list = merged ? std::vector<ExprId>{first} : operands_of(first),
                      right = operands_of(select.rest);
  if (select.chained) {  // `a < b` and `… < c` are `a < b < c`
    Expr chain = s_.ast[list.back()];
    const Expr& link = s_.ast[right.front()];
    std::vector<ExprId> kids(chain.kids.begin(), chain.kids.end());
    kids.insert(kids.end(), link.kids.begin() + 1, link.kids.end());
    std::vector<std::uint32_t> ops(chain.extra.begin(), chain.extra.end());
    ops.insert(ops.end(), link.extra.begin(), link.extra.end());
    chain.kids = s_.ast.arena.copy(kids);
    chain.extra = s_.ast.arena.copy(ops);
    list.back() = s_.ast.add(chain);
    right.erase(right.begin());
  }
  // `(a and b) and c`: what a threaded test of `a` begins ends with the next operand, or goes on
  // where that begins such operands itself.
  if (select.inner && !select.chained) {
    if (Expr& next = s_.ast[right.front()];
        next.kind == ExprKind::BoolOp && next.op == op && next.a == kInner) {
      const std::vector<ExprId> more(next.kids.begin(), next.kids.end());
      list.insert(list.end(), more.begin(), more.end());
    } else {
      list.push_back(right.front());
    }
    right.erase(right.begin());
    Expr inner;
    inner.kind = ExprKind::BoolOp;
    inner.op = op;
    inner.a = kInner;
    inner.kids = s_.ast.arena.copy(list);
    inner.origin = origin(v);
    list.assign(1, s_.ast.add(inner));
  }
  list.insert(list.end(), right.begin(), right.end());
  if (select.merged && s_.lifted.traits.one_test_on_a_row)
    keep_on_one_row(s_.ast, std::span(list).first(list.size() - 1));
  if (list.size() == 1) return list[0];
  for (const ExprId e : list) as_operand(s_.ast, e);
  Expr both;
  both.kind = ExprKind::BoolOp;
  both.op = op;
  both.kids = s_.ast.arena.copy(list);
  both.origin = origin(v);
  return s_.ast.add(both);
}

}  // namespace depyf
