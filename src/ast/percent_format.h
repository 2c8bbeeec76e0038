#pragma once
#include <optional>
#include <string>

#include "ast/ast.h"

namespace depyf {

/// The left side of the `… % (…)` of which CPython 3.11+ makes the bytecode of this f-string
/// (Python/ast_opt.c, optimize_format), one conversion for each field; none where the f-string has
/// no such origin.
std::optional<std::string> percent_format(const Ast& ast, const Expr& joined);

}  // namespace depyf
