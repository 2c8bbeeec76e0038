#pragma once
#include <string_view>

#include "ast/ast.h"

namespace depyf {

/// The last rung of the ladder (L6): the body of `code` becomes statements that rebuild it from its
/// marshalled form and run it, with the same arguments, globals, free variables and, in a class or
/// module, the same namespace. Sets ast.bodies[code], done. `reason` goes into a comment. Throws
/// Error where the code holds a live object, or a free variable that no source can name.
void rebuild(Ast& ast, CodeId code, std::string_view reason);

}  // namespace depyf
