#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ast/ast.h"
#include "lift/lifted.h"

namespace depyf {

struct StructureOptions {
  bool keep_temporaries = false;
  std::string_view temp_prefix = "__temp_";
  /// Code that Dynamo made: temporaries get names that say what they are.
  bool name_temporaries = false;
  /// Parameters of functions that the code calls by a global name (Dynamo's resume functions), for such names.
  const std::vector<std::pair<std::string, std::vector<std::string>>>* callee_parameters = nullptr;
};

/// Turns the graph into raw statements (if, while, for, try, with, match …), by dominators and handler regions.
/// Never gives up: where plain structure does not do, it uses the ladder L1 … L6 and adds a Diagnostic.
/// Nested code objects are NOT visited: they appear as FunctionValue. Sets ast.bodies[code].
void structure(Lifted& lifted, Ast& ast, const StructureOptions& options = {});

}  // namespace depyf
