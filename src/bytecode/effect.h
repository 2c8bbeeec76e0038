#pragma once
// Stack behaviour of one version-free operation, as op.def states it.
#include <array>
#include <cstdint>

#include "bytecode/instr.h"
#include "opcode/op_set.h"

namespace depyf {

/// `pops`: how many values the operation reads or moves from the top; `pushes`: how many are there
/// instead when control falls through; `target_pushes`: the same on the edge to the target (equal
/// to `pushes` where the operation does not branch).
struct StackEffect {
  std::uint64_t pops = 0, pushes = 0, target_pushes = 0;
  constexpr bool operator==(const StackEffect&) const = default;
};

/// That of an operation which does the same whatever its operands are.
struct FixedEffect {
  bool fixed = false;
  std::uint8_t pops = 0, pushes = 0, target_pushes = 0;
};
extern const std::array<FixedEffect, 256> kFixedEffects;
StackEffect operand_effect(const Instr& instr);

/// The effect of `instr`. For END_FINALLY, WITH_CLEANUP_*, CALL_FINALLY, POP_FINALLY and
/// BEGIN_FINALLY it depends on how control came there, which flow/ resolves: they count as nothing
/// here, like SETUP_* and UNKNOWN.
inline StackEffect stack_effect(const Instr& instr) {
  const FixedEffect& known = kFixedEffects[static_cast<std::uint8_t>(instr.op)];
  return known.fixed ? StackEffect{known.pops, known.pushes, known.target_pushes}
                     : operand_effect(instr);
}

/// Conditional: falls through or goes to `target`.
inline constexpr OpSet kBranches{Op::FOR_ITER,
                                 Op::SEND,
                                 Op::BRANCH_FALSE,
                                 Op::BRANCH_TRUE,
                                 Op::BRANCH_NONE,
                                 Op::BRANCH_NOT_NONE,
                                 Op::BRANCH_FALSE_OR_POP,
                                 Op::BRANCH_TRUE_OR_POP};
inline bool is_branch(Op op) { return kBranches[op]; }

/// Control never reaches the next instruction: JUMP, RETURN_VALUE, RAISE, RERAISE, and ≤ 3.7's
/// BREAK_LOOP, CONTINUE_LOOP.
inline constexpr OpSet kFlowEnds{Op::JUMP,    Op::RETURN_VALUE, Op::RAISE,
                                 Op::RERAISE, Op::BREAK_LOOP,   Op::CONTINUE_LOOP};
inline bool ends_flow(Op op) { return kFlowEnds[op]; }

/// Control goes elsewhere than only to the next instruction: a branch, or the end of the flow.
inline bool ends_block(Op op) {
  static constexpr OpSet ends = kBranches | kFlowEnds;
  return ends[op];
}

}  // namespace depyf
