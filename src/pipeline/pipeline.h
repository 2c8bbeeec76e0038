#pragma once
// The way through the house: every stage in order, for a whole module or one function.
#include <string>
#include <vector>

#include "ast/ast.h"
#include "print/print.h"
#include "pyc/code_object.h"

namespace depyf {

struct DecompileOptions {
  std::uint32_t indentation = 4;
  std::string temp_prefix = "__temp_";
  bool keep_temporaries = false;
  std::string name;             // function mode: name to print instead of co_name
  bool function = false;        // print the root as one function, not as a module
};

struct Decompiled {
  Source source;
  std::vector<Diagnostic> diagnostics;
};

/// Every code object of `module`, innermost first, then printing. A code object that fails never loses the others: its place holds the
/// next rung of the ladder, and a Diagnostic says why.
Decompiled decompile(Module& module, const DecompileOptions& options);

}  // namespace depyf
