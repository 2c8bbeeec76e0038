#pragma once
#include "ast/ast.h"
#include "lift/lifted.h"

namespace depyf {

struct StructureOptions {
  bool keep_temporaries = false;
  std::string_view temp_prefix = "__temp_";
};

/// Turns the graph into raw statements (if, while, for, try, with, match …), by dominators and handler regions.
/// Never gives up: where plain structure does not do, it uses the ladder L1 … L6 and adds a Diagnostic.
/// Nested code objects are NOT visited: they appear as FunctionValue. Sets ast.bodies[code].
void structure(Lifted& lifted, Ast& ast, const StructureOptions& options = {});

}  // namespace depyf
