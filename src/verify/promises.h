#pragma once
// What code of no compiler may break: that a generator is one, that a local that is read is set.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/instr.h"
#include "flow/cfg.h"

namespace depyf::verify_detail {

/// Why a call of `code` does not return what its flags say (3.11 on): the flags alone make no
/// generator, and what an asynchronous one yields is wrapped by an instruction. Empty when it does.
std::string broken_generator(const CodeObject& code, const InstrList& list);

/// From 3.12 on most reads of a local do not look whether it is set: the name of one that may be
/// read unset so, which is no Python any more. Empty when there is none.
std::string unchecked_local(const Module& module, CodeId id, const Cfg& cfg);

/// What CPython believes without looking: see broken_stacks().
struct StackProblems {
  std::string handlers;       // empty: what handlers take is what they were given
  bool tests_other = false;   // 3.13+: a test takes a value that is no bool
  bool tests_format = false;  // 3.14+: the first one does, in the way that annotations begin
  std::uint64_t deepest = 0;  // values on the stack, two for each iterator that GET_ITER made
  /// Of each YIELD_FROM: its offset, and how many values the stack holds.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> waits;
};

/// From 3.11 on a handler may find the position of the instruction that raised on its stack, and
/// RERAISE takes it from there by a depth of its own: CPython believes that depth, and in every
/// version that POP_EXCEPT takes what was saved when the handler began. The two values that
/// LOAD_METHOD pushes, the function and what it is called with, are one method only for the call of
/// both. From 3.13 on a test and `not` compare with True and False: what they take must have gone
/// through bool() before. From 3.14 on some loads of locals count no reference, so that the local
/// must keep its value as long as the stack has it, and no other local gets it. `cfg` is the graph
/// as the table has it (build_cfg_by_table).
StackProblems broken_stacks(const Module& module, CodeId id, const Cfg& cfg);

/// From 3.11 on a loop lets signals and other threads run by its jump back, a call or a `yield`.
/// JUMP_BACKWARD_NO_INTERRUPT does not: why a loop never lets them, or empty.
std::string uninterruptible_loop(const CodeObject& code, const Cfg& cfg);

}  // namespace depyf::verify_detail
