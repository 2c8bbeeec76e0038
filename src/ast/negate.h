#pragma once
#include "ast/ast.h"

namespace depyf {

/// Is it `not x`?
bool is_not(const Expr& e);

/// `not x`, whatever x is.
ExprId with_not(Ast& ast, ExprId test);

/// `not x`, with comparisons inverted only where that is exact (is/is not, in/not in), and `not not
/// x` as x in a boolean context.
ExprId negate(Ast& ast, ExprId test);

/// `test or True`, `test and False`: the constant decides.
ExprId with_decision(Ast& ast, ExprId test, ExprId constant);

/// Expr::op of a comparison with None that a jump made: its negation costs nothing, while `not (x
/// is y)` compiles to another operation.
constexpr std::uint8_t kEitherPolarity = 1;
/// Likewise of `x is y` and `x in y` where `if not x in y` tests `x in y`: `not` costs nothing, the
/// opposite operator is another operation.
constexpr std::uint8_t kKeepsNot = 2;

/// Can the test be negated without another operation in the bytecode?
bool negation_is_free(const Ast& ast, ExprId test);

}  // namespace depyf
