#pragma once
#include "ast/ast.h"

namespace depyf {

/// Raw body of one code object -> what a person would write. Bodies of nested code objects (smaller
/// CodeIds) are done already. The passes and their order are a list in rewrite.cpp: each a function
/// `void pass(Rewriter&)` in a file of its own.
void rewrite(Ast& ast, CodeId code);

}  // namespace depyf
