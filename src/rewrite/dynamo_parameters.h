#pragma once
// The parameters of Dynamo's code that keep their values.
#include <cstdint>
#include <unordered_set>

#include "ast/ast.h"

namespace depyf {

/// Adds the names that a target binds: those in `a.b` and `a[b]` it only reads.
void add_bound_names(const Ast& ast, ExprId target, std::unordered_set<std::uint32_t>& names);

/// The parameters that hold the caller's argument from the beginning to the end of the body: no
/// statement binds or deletes them. `p = p` binds nothing new.
std::unordered_set<std::uint32_t> settled_parameters(const Ast& ast, CodeId code);

}  // namespace depyf
