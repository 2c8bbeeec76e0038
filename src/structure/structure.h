#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <string>

#include "ast/ast.h"
#include "lift/lifted.h"

namespace depyf {

struct StructureOptions {
  bool keep_temporaries = false;
  std::string_view temp_prefix = "__temp_";
  /// Code that Dynamo made: its lines do not tell which instructions are one statement.
  bool made_by_dynamo = false;
  /// Temporaries get names that say what they are.
  bool name_temporaries = false;
  /// Parameters of functions that the code calls by a global name (Dynamo's resume functions), for
  /// such names.
  const std::vector<std::pair<std::string, std::vector<std::string>>>* callee_parameters = nullptr;
  /// Where code stands (its order up to 3.9, its lines and columns) tells how it was written; else
  /// control flow alone does.
  bool layout_tells = true;
  /// Ends that are the same code are taken for copies of one, which the compiler made. Where no
  /// statements lead there from each copy, they stay apart.
  bool joins_ends = true;
};

/// Turns the graph into raw statements (if, while, for, try, with, match …), by dominators and
/// handler regions. Never gives up: where plain structure does not do, it uses the ladder L1 … L6
/// and adds a Diagnostic. Nested code objects are NOT visited: they appear as FunctionValue. Sets
/// ast.bodies[code].
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
