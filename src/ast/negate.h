#pragma once
#include "ast/ast.h"

namespace depyf {

/// `not x`, with comparisons inverted only where that is exact (is/is not, in/not in), and `not not x` as x in a boolean context.
ExprId negate(Ast& ast, ExprId test);

}  // namespace depyf
