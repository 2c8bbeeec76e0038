#include "flow/cfg.h"

#include <algorithm>
#include <unordered_map>

#include "flow/gaps.h"
#include "flow/steps.h"
#include "opcode/effect.h"
#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

std::string at(const Module& module, CodeId code, std::uint32_t offset) {
  const StrId name = module[code].name;
  return (name ? std::string(module[name]) : std::string("<code>")) + " at offset " + std::to_string(offset);
}

void check_targets(const Module& module, CodeId code, const InstrList& list) {
  const auto n = static_cast<std::uint32_t>(list.instrs.size());
  if (n == 0) throw Error(at(module, code, 0) + ": no instructions; a code object needs at least a RETURN_VALUE");
  for (const Instr& instr : list.instrs)
    if (instr.target != kNoTarget && instr.target >= n)
      throw Error(at(module, code, instr.offset) + ": " + std::string(op_name(instr.op)) + " to instruction " +
                  std::to_string(instr.target) + " of " + std::to_string(n));
  for (const ExceptionRow& row : list.rows)
    if (row.begin > row.end || row.end > n || row.target >= n)
      throw Error(at(module, code, 0) + ": exception table row " + std::to_string(row.begin) + "-" + std::to_string(row.end) +
                  " to " + std::to_string(row.target) + " is outside of the " + std::to_string(n) + " instructions");
}

/// 3.11+: one step for each instruction, one region for each (target, depth, lasti) of the exception table.
Steps steps_of_rows(const Module& module, CodeId code, const InstrList& list) {
  const auto n = static_cast<std::uint32_t>(list.instrs.size());
  Steps out;
  out.steps.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    Step& step = out.steps[i];
    step.instr = list.instrs[i];
    if (is_branch(step.instr.op)) {
      step.target = step.instr.target;
      step.next = i + 1;
    } else if (step.instr.op == Op::JUMP) {
      step.next = step.instr.target;
    } else if (!ends_flow(step.instr.op)) {
      step.next = i + 1;
    }
    if (step.next == n)
      throw Error(at(module, code, step.instr.offset) + ": control falls off the end of the code after " +
                  std::string(op_name(step.instr.op)) + "; RETURN_VALUE, RAISE or JUMP was expected");
  }
  struct Key {
    std::uint32_t target, depth;
    bool lasti;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (static_cast<std::size_t>(key.target) * 0x9E3779B97F4A7C15u) ^ (key.depth * 2u + key.lasti);
    }
  };
  std::unordered_map<Key, std::uint32_t, Hash> ids;
  for (const ExceptionRow& row : list.rows) {
    if (row.begin == row.end) continue;
    const auto [found, fresh] = ids.try_emplace({row.target, row.depth, row.lasti}, static_cast<std::uint32_t>(out.regions.size()));
    if (fresh) {
      StepRegion region;
      region.handler = row.target;
      region.depth = row.depth;
      region.lasti = row.lasti;
      out.regions.push_back(region);
    }
    for (std::uint32_t i = row.begin; i < row.end; ++i) out.steps[i].region = found->second;
  }
  // What protects a handler encloses the region that the handler belongs to. A handler that is reached from itself (no compiler
  // emits one) would make a cycle: the first region met on it stays without a parent. Blocks keep their own region, so nothing
  // is lost but the nesting.
  for (StepRegion& region : out.regions) region.parent = out.steps[region.handler].region;
  std::vector<std::uint32_t> mark(out.regions.size(), kNone);
  for (std::uint32_t i = 0; i < out.regions.size(); ++i) {
    std::uint32_t r = i;
    while (r != kNone && mark[r] == kNone) {
      mark[r] = i;
      const std::uint32_t up = out.regions[r].parent;
      if (up != kNone && mark[up] == i) out.regions[r].parent = kNone;
      r = out.regions[r].parent;
    }
  }
  return out;
}

/// Blocks out of steps: reachable ones only, regions only where a reachable block needs them.
Cfg assemble(const Steps& in) {
  const auto n = static_cast<std::uint32_t>(in.steps.size());
  std::vector<std::uint8_t> leader(n, 0);  // 0: not reached, 1 after the first normal entry, 2 when a block must start here
  std::vector<std::uint8_t> used(in.regions.size(), 0);
  SmallVector<std::uint32_t, 64> work;
  auto reach = [&](std::uint32_t step, bool starts) {
    if (leader[step] == 0) work.push_back(step);
    if (leader[step] < 2) leader[step] = starts || leader[step] == 1 ? 2 : 1;
  };
  reach(in.entry, true);
  while (!work.empty()) {
    const std::uint32_t i = work.back();
    work.pop_back();
    const Step& step = in.steps[i];
    const bool control = is_branch(step.instr.op) || ends_flow(step.instr.op);
    if (step.next != kNone) reach(step.next, control || in.steps[step.next].region != step.region);
    if (step.target != kNone) reach(step.target, true);
    for (std::uint32_t r = step.region; r != kNone && !used[r]; r = in.regions[r].parent) {
      used[r] = 1;
      reach(in.regions[r].handler, true);
    }
  }

  std::vector<std::uint32_t> starts;
  for (std::uint32_t i = 0; i < n; ++i)
    if (leader[i] == 2) starts.push_back(i);
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return in.steps[a].instr.offset < in.steps[b].instr.offset; };
  if (!std::is_sorted(starts.begin(), starts.end(), earlier)) std::stable_sort(starts.begin(), starts.end(), earlier);
  std::vector<std::uint32_t> block_of(n, kNone);
  for (std::uint32_t b = 0; b < starts.size(); ++b) block_of[starts[b]] = b;

  // Parents before children.
  std::vector<std::uint32_t> region_id(in.regions.size(), kNone), chain;
  Cfg cfg;
  cfg.loops = in.loops;
  cfg.elses = in.elses;
  cfg.unreached = in.unreached;
  cfg.ends_in_compound = in.ends_in_compound;
  for (std::uint32_t i = 0; i < in.regions.size(); ++i) {
    if (!used[i]) continue;
    for (std::uint32_t r = i; r != kNone && region_id[r] == kNone; r = in.regions[r].parent) chain.push_back(r);
    while (!chain.empty()) {
      const StepRegion& from = in.regions[chain.back()];
      Region region;
      if (from.parent != kNone) region.parent = RegionId(region_id[from.parent]);
      region.handler = BlockId(block_of[from.handler]);
      region.depth = from.depth;
      region.lasti = from.lasti;
      region.entry = from.entry;
      region.cleanup = from.cleanup;
      region.setup = from.setup;
      region.after = from.after;
      region.end = from.end;
      region_id[chain.back()] = static_cast<std::uint32_t>(cfg.regions.size());
      cfg.regions.push_back(region);
      chain.pop_back();
    }
  }

  cfg.blocks.reserve(starts.size());
  cfg.instrs.reserve(n);
  cfg.entry = BlockId(block_of[in.entry]);
  for (std::uint32_t start : starts) {
    Block block;
    block.first = static_cast<std::uint32_t>(cfg.instrs.size());
    if (in.steps[start].region != kNone) block.region = RegionId(region_id[in.steps[start].region]);
    std::uint32_t i = start;
    for (;;) {
      const Step& step = in.steps[i];
      cfg.instrs.push_back(step.instr);
      cfg.instrs.back().target = kNoTarget;
      if (is_branch(step.instr.op) || ends_flow(step.instr.op) || step.next == kNone || leader[step.next] == 2) {
        if (step.next != kNone) block.next = BlockId(block_of[step.next]);
        if (step.target != kNone) block.target = BlockId(block_of[step.target]);
        break;
      }
      i = step.next;
    }
    block.end = static_cast<std::uint32_t>(cfg.instrs.size());
    cfg.blocks.push_back(block);
  }
  return cfg;
}

/// A handler that is also reached by a jump (≤ 3.10: one RERAISE shared by several handlers) gets an empty block of its own for the exception.
void separate_handlers(Cfg& cfg) {
  std::vector<std::uint8_t> entered(cfg.blocks.size(), 0);
  entered[cfg.entry.index] = 1;
  for (const Block& block : cfg.blocks) {
    if (block.next) entered[block.next.index] = 1;
    if (block.target) entered[block.target.index] = 1;
  }
  std::vector<BlockId> own(entered.size());
  for (Region& region : cfg.regions) {
    const BlockId handler = region.handler;
    if (!entered[handler.index]) continue;
    if (!own[handler.index]) {
      Block block = cfg.blocks[handler.index];
      block.end = block.first;
      block.next = handler;
      block.target = BlockId();
      own[handler.index] = BlockId(static_cast<std::uint32_t>(cfg.blocks.size()));
      cfg.blocks.push_back(block);
    }
    region.handler = own[handler.index];
  }
}

}  // namespace

Cfg build_cfg_by_table(const Module& module, CodeId code, const InstrList& list, bool unreached) {
  check_targets(module, code, list);
  const PyVersion version = module[code].version;
  const bool table = version >= PyVersion{3, 11};
  return assemble(table ? steps_of_rows(module, code, list) : expand_contexts(module, code, list, unreached));
}

Cfg build_cfg(const Module& module, CodeId code, const InstrList& list, bool unreached) {
  const PyVersion version = module[code].version;
  Cfg cfg = build_cfg_by_table(module, code, list, unreached);
  cfg.source_order = version < PyVersion{3, 10};
  cfg.continue_in_finally = version >= PyVersion{3, 8};
  cfg.named_expressions = version >= PyVersion{3, 8};
  cfg.folds_displays = version >= PyVersion{3, 14};
  cfg.keeps_not = version >= PyVersion{3, 14};
  cfg.turns_tests = version >= PyVersion{3, 12};
  const bool branches_on_bools = version >= PyVersion{3, 13};
  if (cfg.regions.empty()) return cfg;
  if (version >= PyVersion{3, 11}) drop_cleanups(cfg, branches_on_bools);
  if (version >= PyVersion{3, 12}) absorb_gaps(cfg, branches_on_bools);
  absorb_returns(cfg);
  join_blocks(cfg);
  separate_handlers(cfg);
  return cfg;
}

}  // namespace depyf
