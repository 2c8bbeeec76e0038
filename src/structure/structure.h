#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ast/ast.h"
#include "lift/lifted.h"

namespace depyf {

/// `while True` around the code from `begin` on, whose `break` leads to `exit`: a loop that never
/// comes around. Both are nodes of the StatementGraph.
struct LoopOnce {
  std::uint32_t begin, exit;
};

struct StructureOptions {
  std::string_view temp_prefix = "__temp_";
  /// Code that Dynamo made: its lines do not tell which instructions are one statement.
  bool made_by_dynamo = false;
  /// Each value that several operations share, or that waits for a statement, gets a statement of
  /// its own, in the order of the bytecode.
  bool statement_per_value = false;
  /// Locals that are the program's own, whatever they are named.
  std::span<const std::string> own_locals;
  /// Where code stands (its order up to 3.9, its lines and columns) tells how it was written; else
  /// control flow alone does.
  bool layout_tells = true;
  /// Ends that are the same code are taken for copies of one, which the compiler made. Where no
  /// statements lead there from each copy, they stay apart.
  bool joins_ends = true;
  /// Such loops to make. Before Error is thrown for a jump that no statement expresses, the loop is
  /// added whose `break` it would be.
  std::vector<LoopOnce>* loops = nullptr;
  bool makes_loops = false;  // they will be: what has no place in a loop around one statement alone
                             // asks for one

  bool is_own(std::string_view local) const {
    return std::find(own_locals.begin(), own_locals.end(), local) != own_locals.end();
  }
};

/// Turns the graph into raw statements (if, while, for, try, with, match …), by dominators and
/// handler regions. Nested code objects are NOT visited: they appear as FunctionValue. Sets
/// ast.bodies[code]. Throws Error where no plain statements express the control flow, or where an
/// effect would be lost; the pipeline then takes the next rung of its ladder.
void structure(Lifted& lifted, Ast& ast, const StructureOptions& options = {});

/// Throws Error when the statements of a body are nested deeper than `indentation` levels, or than
/// CPython lets loops, with and try statements be.
void check_nesting(const Ast& ast, CodeId code, std::uint32_t indentation);

/// L5: the whole body as a loop over its blocks, for control flow that structure() threw at.
/// `lifted` must be fresh: structure() changes it. Adds a Diagnostic with `reason`. Throws Error
/// where an operation has no form outside of the statement that it belongs to.
void structure_as_dispatch(Lifted& lifted, Ast& ast, const StructureOptions& options,
                           const std::string& reason);

}  // namespace depyf
