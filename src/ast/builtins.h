#pragma once
// Builtins that only the text of the decompiler calls.
#include <string_view>

#include "ast/ast.h"

namespace depyf {

/// A builtin; where the module may give its name another meaning, as
/// `__import__('builtins').name`.
ExprId builtin(Ast& ast, std::string_view name);

/// The same in the text of `code`. A class body whose namespace a metaclass may have filled gets it
/// from a function that is called at once, which does not look there: `(lambda: name)()`.
ExprId builtin(Ast& ast, std::string_view name, CodeId code);

}  // namespace depyf
