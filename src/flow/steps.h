#pragma once
// What the two front ends of build_cfg hand to block building: runs of instructions with explicit
// successors and regions.
#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/instr.h"
#include "flow/cfg.h"
#include "opcode/op_set.h"

namespace depyf {

/// Instructions that survive into the Cfg and are only entered at the first one. Successors and
/// regions are indices, UINT32_MAX for none.
struct Step {
  std::uint32_t begin, end;  // in Steps::instrs; the last one may branch
  std::uint32_t next = UINT32_MAX, target = UINT32_MAX;
  std::uint32_t region = UINT32_MAX;
};

struct StepRegion {
  std::uint32_t parent = UINT32_MAX;   // index of a StepRegion
  std::uint32_t handler = UINT32_MAX;  // index of a Step
  std::uint32_t depth = 0;
  bool lasti = false;
  HandlerEntry entry = HandlerEntry::Exception;
  bool cleanup = false;  // see Region, as what follows
  std::uint32_t setup = kNoOffset, after = kNoOffset, end = kNoOffset;
};

struct Steps {
  std::vector<Step> steps;
  std::span<const Instr> instrs;  // those of the InstrList, or `made`
  std::vector<Instr> made;
  std::vector<StepRegion> regions;
  std::uint32_t entry = 0;
  std::vector<LoopSpan> loops;  // see Cfg, as what follows
  std::vector<ElseSpan> elses;
  bool unreached = false;
  std::uint32_t misplaced = kNoOffset;
  bool ends_in_compound = false;
};

/// Throws Error: `instr` leads to no instruction of the list.
[[noreturn]] void fail_target(const Module& module, CodeId code, const InstrList& list,
                              const Instr& instr);

/// Neither branches nor acts on blocks or handlers: the groups of op.def before OP_CONTROL.
inline bool acts_on_values_alone(Op op) { return op < Op::JUMP; }

/// ≤ 3.10: walks the code with its block stack and gives each (instruction, block stack) its own
/// steps, so that SETUP_*, POP_BLOCK and all that acts on the block stack is resolved. In 3.9
/// and 3.10 that copies nothing; in 3.7 and 3.8 a `finally` body is copied once for each way into
/// it. Throws Error when the block stack does not fit an instruction, or on a blow-up. `unreached`:
/// see build_cfg.
Steps expand_contexts(const Module& module, CodeId code, const InstrList& list, bool unreached);

}  // namespace depyf
