#pragma once
// Builtins that only the text of the decompiler calls.
#include <string_view>

#include "ast/ast.h"

namespace depyf {

/// A builtin; where the module may give its name another meaning, as
/// `__import__('builtins').name`.
ExprId builtin(Ast& ast, std::string_view name);

}  // namespace depyf
