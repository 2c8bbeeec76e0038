#include "verify/soundness.h"

#include <algorithm>
#include <optional>

#include "bytecode/effect.h"
#include "bytecode/scan.h"
#include "flow/gaps.h"
#include "opcode/tables.h"
#include "verify/promises.h"
#include "verify/raw_code.h"

namespace depyf::verify_detail {
namespace {

/// Does everything that is reached from the handler of `region` leave alone what lies below it on
/// the stack?
bool handler_stays_above(const Cfg& cfg, const Region& region) {
  std::vector<std::uint64_t> entry(cfg.size(), UINT64_MAX);
  std::vector<std::uint32_t> work;
  bool known = true;
  const auto enter = [&](BlockId to, std::uint64_t depth) {
    if (!to.valid()) return;
    if (entry[to.index] == UINT64_MAX) {
      entry[to.index] = depth;
      work.push_back(to.index);
    } else if (depth < entry[to.index]) {
      known = false;
    }
  };
  const auto raise_into =
      [&](const Region& handled) {  // nothing counts but what is pushed for the handler
        enter(handled.handler, handled.entry == HandlerEntry::Six ? 6u : handled.lasti ? 2u : 1u);
      };
  raise_into(region);
  while (!work.empty()) {
    const Block& block = cfg.blocks[work.back()];
    std::uint64_t depth = entry[work.back()], at_target = depth;
    work.pop_back();
    if (block.region.valid()) raise_into(cfg[block.region]);
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const StackEffect effect = stack_effect(cfg.instrs[i]);
      if (effect.pops > depth) return false;
      at_target = depth - effect.pops + effect.target_pushes;
      depth = depth - effect.pops + effect.pushes;
    }
    enter(block.next, depth);
    enter(block.target, at_target);
  }
  return known;
}

/// lift() reads stack slots by what they hold. Here their number: the stack stays within
/// co_stacksize, and wherever something may raise it is at least as deep as the handler wants it,
/// or else (as in the contexts that Dynamo puts around a call whose operands lie on the stack) what
/// the handler leads to never looks below its own values. False in code that no compiler makes,
/// which may do anything.
/// `handlers`: also what handlers want.
bool stack_is_sound(const CodeObject& code, const Cfg& cfg, bool handlers) {
  constexpr std::uint64_t kUnknown = UINT64_MAX;
  // Where KW_NAMES hands the names over, the constant that decode() puts before the call is not on
  // the stack.
  const VersionTable* table = version_table(code.version);
  const bool names_aside =
      table && std::any_of(table->opcodes.begin(), table->opcodes.end(),
                           [](const OpcodeInfo& info) { return info.name == "KW_NAMES"; });
  std::vector<std::uint64_t> entry(cfg.size(), kUnknown);
  std::vector<std::uint8_t> shallow(cfg.regions.size(),
                                    0);  // 1: may be entered with less on the stack, 2: may not
  std::vector<std::uint32_t> work{cfg.entry.index};
  entry[cfg.entry.index] = 0;
  const auto enter = [&](BlockId to, std::uint64_t depth) {
    if (!to.valid() || entry[to.index] != kUnknown) return;
    entry[to.index] = depth;
    work.push_back(to.index);
  };
  while (!work.empty()) {
    const Block& block = cfg.blocks[work.back()];
    std::uint64_t depth = entry[work.back()], at_target = depth;
    work.pop_back();
    const Region* region = block.region.valid() ? &cfg[block.region] : nullptr;
    if (region)
      enter(region->handler, region->depth + (region->entry == HandlerEntry::Six ? 6u
                                              : region->lasti                    ? 2u
                                                                                 : 1u));
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const Instr& instr = cfg.instrs[i];
      const StackEffect effect = stack_effect(instr);
      if (effect.pops > depth) return false;
      const std::uint64_t least = depth - effect.pops + std::min(effect.pops, effect.pushes);
      if (handlers && region && !cannot_raise(instr.op) && least < region->depth) {
        std::uint8_t& known = shallow[block.region.index];
        if (known == 0) known = handler_stays_above(cfg, *region) ? 1 : 2;
        if (known == 2) return false;
      }
      at_target = depth - effect.pops + effect.target_pushes;
      depth = depth - effect.pops + effect.pushes;
      // So is what RETURN_CONST returns, which decode() splits.
      const bool aside = i + 1 < block.end &&
                         ((names_aside && cfg.instrs[i + 1].op == Op::CALL_KW) ||
                          (instr.op == Op::LOAD_CONST && cfg.instrs[i + 1].op == Op::RETURN_VALUE &&
                           cfg.instrs[i + 1].offset == instr.offset));
      if (std::max(depth, at_target) > std::uint64_t{code.stacksize} + aside) return false;
    }
    enter(block.next, depth);
    enter(block.target, at_target);
  }
  return true;
}

std::string unsound(Module& module, CodeId id, const InstrList& list, const Cfg& cfg, bool tests,
                    bool& tests_format) {
  const CodeObject& code = module[id];
  if (cfg.misplaced != kNoOffset)
    return "the instruction at offset " + std::to_string(cfg.misplaced) +
           " does not find on the stack what handlers and `finally` bodies keep there";
  if (std::string problem = uninterruptible_loop(code, cfg); !problem.empty()) return problem;
  // As CPython runs it: build_cfg() takes out handlers that no source says.
  const bool handles = !cfg.regions.empty() || !list.rows.empty();
  std::optional<Cfg> as_written;
  if (handles) as_written = build_cfg_by_table(module, id, list);
  const Cfg& run = handles ? *as_written : cfg;
  const StackProblems problems = broken_stacks(module, id, run);
  if (!problems.handlers.empty()) return problems.handlers;
  tests_format = problems.tests_format;
  if (tests && problems.tests_other) return kTestsOther;
  if (handles && waits_at_other_depth(code, problems))
    return "a handler of `await` or `yield from` cuts the stack at another depth";
  const bool iterators = iterators_take_two(code.version);
  const std::uint64_t least = dropped_handlers(code, list) > 0 ? 2 : 0;
  // Those that only restore the state find less than they want in Dynamo's contexts.
  const bool sound = code.stacksize >= std::max(least, iterators ? problems.deepest : 0) &&
                     stack_is_sound(code, cfg, true) &&
                     (!handles || stack_is_sound(code, run, false));
  return sound ? std::string() : "one side leaves its stack";
}

}  // namespace

Soundness soundness(Module& module, CodeId id, const InstrList& list, const Cfg& cfg, bool tests) {
  Soundness out;
  out.problem = unsound(module, id, list, cfg, tests, out.tests_format);
  return out;
}

}  // namespace depyf::verify_detail
