#pragma once
#include <string>

#include "pyc/code_object.h"

namespace depyf {

enum class VerdictKind : std::uint8_t { Identical, Exact, Equivalent, Different };

struct Verdict {
  VerdictKind kind = VerdictKind::Different;
  std::string detail;           // Different: the first place where the two part, in words
};

struct VerifyOptions {
  bool compare_names = true;    // co_name, co_qualname, docstring
  bool nested = true;           // nested code objects too
};

/// Do two code objects of one Python version do the same thing? Nothing is executed. identical: same instructions and operands.
/// exact: bisimulation of the bytecode. equivalent: bisimulation after lift and simplify, temporaries of one side promoted.
/// Constants: by type and value (0.0 ≠ -0.0, 1 ≠ True), live objects by Const::object index, so both must share one table.
Verdict verify(Module& a, CodeId code_a, Module& b, CodeId code_b, const VerifyOptions& options = {});

}  // namespace depyf
