#pragma once
// Properties that every compiler's code has and other code may lack: that a generator has the
// instructions of one, that a local is set when it is read.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/instr.h"
#include "flow/cfg.h"

namespace depyf::verify_detail {

/// Why a call of `code` does not return what its flags say (3.11 on); empty when it does. The flags
/// alone make no generator, and an instruction wraps each value that an asynchronous one yields.
std::string broken_generator(const CodeObject& code, const InstrList& list);

/// From 3.12 on, most instructions that read a local do not check that it is set. The name of a
/// local that such an instruction may read unset, which is undefined behaviour in CPython; empty
/// when there is none.
std::string unchecked_local(const Module& module, CodeId id, const Cfg& cfg);

/// Properties that CPython relies on without a check: see broken_stacks().
struct StackProblems {
  std::string handlers;       // empty: what handlers take is what they were given
  bool tests_other = false;   // 3.13+: a test takes a value that is no bool
  bool tests_format = false;  // 3.14+: the first one does, in the way that annotations begin
  std::uint64_t deepest = 0;  // values on the stack, two for each iterator that GET_ITER made
  /// Of each YIELD_FROM: its offset, and how many values the stack holds.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> waits;
};

/// From 3.11 on, the stack of a handler may hold the position of the instruction that raised, and
/// the operand of RERAISE says how deep. CPython relies on that depth. In every version it relies
/// on POP_EXCEPT popping what was saved at the start of the handler. The two values that
/// LOAD_METHOD pushes, the function and its first argument, may only be used together, by a call.
/// From 3.13 on, a test and `not` compare with True and False, so their operand must be a bool.
/// From 3.14 on, some loads of locals take no reference. The local must then keep its value for as
/// long as it is on the stack, and it must not be stored in another local. `cfg` is the graph with
/// the whole exception table (build_cfg_by_table).
StackProblems broken_stacks(const Module& module, CodeId id, const Cfg& cfg);

/// From 3.11 on, a loop lets signals and other threads run in its back edge, a call or a `yield`,
/// but not in JUMP_BACKWARD_NO_INTERRUPT. Why a loop never lets them run, or empty.
std::string uninterruptible_loop(const CodeObject& code, const Cfg& cfg);

}  // namespace depyf::verify_detail
