#pragma once
#include <string_view>

#include "ast/ast.h"

namespace depyf {

/// The last rung of the ladder (L6): the body of `code` becomes statements that rebuild it from its
/// marshalled form and run it, with the same arguments, globals, free variables and, in a class or
/// module, the same namespace. Sets ast.bodies[code], done. `reason` goes into a comment. Throws
/// Error where the code holds a live object, and UnusualCode where only code around it can be
/// rebuilt: `outer_to_rebuild`.
void rebuild(Ast& ast, CodeId code, std::string_view reason);

/// The innermost code object around `code` that rebuild() takes, which makes it of bytes as well:
/// no source can name a free variable of those further inside. None where there is none.
CodeId outer_to_rebuild(const Module& module, CodeId code);

}  // namespace depyf
