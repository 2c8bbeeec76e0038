#pragma once
#include <string>

#include "ast/ast.h"

namespace depyf {

/// The statements of one code object as an indented tree, one statement a line, expressions as
/// `Kind(a, b)`: for `dump` and tests.
std::string to_text(const Ast& ast, CodeId code);

}  // namespace depyf
