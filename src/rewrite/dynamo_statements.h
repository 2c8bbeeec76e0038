#pragma once
// Statements of Dynamo's code that only take results apart, or delete.
#include <cstdint>
#include <unordered_set>

#include "ast/ast.h"

namespace depyf {

/// Where `into` stands, `from` is, too: its place in the bytecode is noted.
void absorb(Ast& ast, StmtId into, StmtId from);

/// `a, b = out[0], out[1]` and `del a, b`, as far as a line goes.
///
/// `given` are names of locals, as ids of strings: only such a one is taken out of a result so.
void join_statements(Ast& ast, CodeId code, const std::unordered_set<std::uint32_t>& given,
                     std::uint32_t indentation);

}  // namespace depyf
