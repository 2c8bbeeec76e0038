#pragma once
#include <string>
#include <string_view>

#include "pyc/code_object.h"

namespace depyf {

enum class VerdictKind : std::uint8_t { Identical, Exact, Equivalent, Different };

/// `identical`, `exact`, `equivalent` or `different`.
std::string_view verdict_word(VerdictKind kind);

struct Verdict {
  VerdictKind kind = VerdictKind::Different;
  std::string detail;           // Different: the first place where the two part, in words
};

struct VerifyOptions {
  bool compare_names = true;    // of the root: name, docstring, what its flags say about where it stands; of all: qualified names
  bool nested = true;           // nested code objects too
  /// Torch wrote the code of `a` (not the functions inside it), also where no name in it says so: the order of stores to different locals, one right after
  /// the other, is nobody's intent, and the globals that torch installs are there and stay.
  bool dynamo = false;
  std::uint32_t iter_object = UINT32_MAX;  // Const::object of the function `iter`, when it is in the table
};

/// May `b` stand in for `a`, code of one Python version? Nothing is executed; the work is bounded, and what is not proven is different.
/// identical: same instructions and operands in the same order. exact: the graphs of instructions after decode and build_cfg cannot be told
/// apart, handlers included. equivalent: the same effects in the same order on the same values after lift and simplify; values that one
/// side keeps in a local of its own and the other on the stack are promoted (see Verifier::temporaries). How long a value without a name
/// lives is no part of that, and neither is the line that a traceback shows.
/// Constants: by type and value (0.0 ≠ -0.0, 1 ≠ True), live objects by Const::object, so both must share one table. Nested code objects are
/// compared in pairs as they are met; `kind` is the worst of all. Input that cannot be decoded or lifted is different.
Verdict verify(Module& a, CodeId code_a, Module& b, CodeId code_b, const VerifyOptions& options = {});

}  // namespace depyf
