#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyc/code_object.h"

namespace depyf {

/// The first three are proofs. Different says how a program tells the two apart, Unproven where the
/// proof ends.
enum class VerdictKind : std::uint8_t { Identical, Exact, Equivalent, Unproven, Different };
constexpr bool is_proof(VerdictKind kind) { return kind < VerdictKind::Unproven; }

/// `identical`, `exact`, `equivalent`, `unproven` or `different`.
std::string_view verdict_word(VerdictKind kind);

struct Verdict {
  VerdictKind kind = VerdictKind::Unproven;
  std::string detail;  // of a proof: what was ignored; else the first place where the two part
  std::vector<CodeId> codes;         // no proof: every code object of `a` that part of it is in …
  std::vector<std::string> details;  // … and of each the first place
};

struct VerifyOptions {
  /// `b` was decompiled from `a`: values that it names where the other keeps them on its stack, and
  /// names that Dynamo made up in `a`, count for nothing, also where a call might look at them. Not
  /// so, such a call must not be reached while they have a value.
  bool decompiled = true;
  bool compare_names = true;  // of the root: name, docstring, what its flags say about where it
                              // stands; of all: qualified names
  bool nested = true;         // nested code objects too
  /// Torch wrote the code of `a` (not the functions inside it), and every global in it that has a
  /// name of torch's is one that torch installed. Else they are names like others. The order of
  /// stores to different locals, one right after the other, is nobody's intent, and the globals
  /// that torch installs are there and stay.
  bool dynamo = false;
  /// Code objects of `a` (not its root) whose counterpart does nothing but run the very bytes of
  /// the original (rewrite/rebuilt.h): of these, only arguments and docstrings are compared.
  std::vector<CodeId> rebuilt;
  /// `b` shall run in the place of `a`: a local of `b` that `a` lacks must be empty when nothing
  /// reads it any more, so that no value lives longer than on the stack of `a`; and so must one of
  /// `a` that `b` lacks, so that no value dies earlier. At each effect the stacks of both, with
  /// such locals, must hold the same values.
  bool lifetimes = false;
  /// With `lifetimes`, where the two do the same effects: the offsets of calls in the roots of `a`
  /// and `b` that correspond. Not all of them where these part.
  std::set<std::pair<std::uint32_t, std::uint32_t>>* calls = nullptr;
  std::uint32_t iter_object =
      UINT32_MAX;  // Const::object of the function `iter`, when it is in the table
  std::span<const std::string> own_locals;  // see SimplifyOptions
  bool live = false;                        // both are code of the running process, not of files
};

/// May `b` stand in for `a`, code of one Python version? Nothing is executed; the work is bounded.
/// identical: same instructions and operands in the same order. exact: the graphs of instructions
/// after decode and build_cfg cannot be told apart, handlers included. equivalent: the same effects
/// in the same order on the same values after lift and simplify; values that one side keeps in a
/// local of its own and the other on the stack are promoted (see temporaries() in variables.h). How
/// long a value that one side keeps in such a local lives, and when values without a name are
/// freed, is part of that only with `lifetimes` (else `detail` says so), and the line that a
/// traceback shows is no part of it. Constants: by type and value (0.0 ≠ -0.0, 1 ≠ True), a NaN
/// also by which object it is, a frozenset also by the order in which it gives its items unless it
/// is only searched, live objects by Const::object, so both must share one table. Nested code
/// objects are compared in pairs as they are met; `kind` is the worst of all. Input that cannot be
/// decoded or lifted is unproven.
Verdict verify(Module& a, CodeId code_a, Module& b, CodeId code_b,
               const VerifyOptions& options = {});

/// Locals with names of torch's that keep a value which nothing reads any more while code of the
/// program may run: what stands in for this code must have them, or the value dies earlier there.
std::vector<std::string> kept_temporaries(Module& module, CodeId id);

}  // namespace depyf
