#include "flow/cfg.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "bytecode/effect.h"
#include "flow/gaps.h"
#include "flow/steps.h"
#include "opcode/op_set.h"
#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

std::string at(const Module& module, CodeId code, std::uint32_t offset) {
  const StrId name = module[code].name;
  return (name ? std::string(module[name]) : std::string("<code>")) + " at offset " +
         std::to_string(offset);
}

void check_rows(const Module& module, CodeId code, const InstrList& list) {
  const auto n = static_cast<std::uint32_t>(list.instrs.size());
  for (const ExceptionRow& row : list.rows)
    if (row.begin > row.end || row.end > n || row.target >= n)
      throw Error(at(module, code, 0) + ": exception table row " + std::to_string(row.begin) + "-" +
                  std::to_string(row.end) + " to " + std::to_string(row.target) +
                  " is outside of the " + std::to_string(n) + " instructions");
}

/// 3.11+: steps from one entry or end of control to the next, one region for each (target, depth,
/// lasti) of the exception table.
Steps steps_of_rows(const Module& module, CodeId code, const InstrList& list) {
  const std::vector<Instr>& instrs = list.instrs;
  const auto n = static_cast<std::uint32_t>(instrs.size());
  Steps out;
  out.instrs = instrs;
  std::vector<std::uint32_t> step_at(n + 1, kNone);  // of each instruction that a step begins with
  std::size_t count = 0;
  const auto begin_at = [&](std::uint32_t i) {
    count += step_at[i] == kNone;
    step_at[i] = 0;
  };
  begin_at(0);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (!ends_block(instrs[i].op)) continue;
    begin_at(i + 1);
    if (instrs[i].target == kNoTarget) continue;
    if (instrs[i].target >= n) fail_target(module, code, list, instrs[i]);
    begin_at(instrs[i].target);
  }
  for (const ExceptionRow& row : list.rows)
    for (std::uint32_t i : {row.begin, row.end, row.target}) begin_at(i);
  out.steps.reserve(count);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (step_at[i] == kNone) continue;
    if (!out.steps.empty()) out.steps.back().end = i;
    step_at[i] = static_cast<std::uint32_t>(out.steps.size());
    out.steps.push_back({i, n});
  }
  for (Step& step : out.steps) {
    const Instr& last = instrs[step.end - 1];
    if (is_branch(last.op) && last.target != kNoTarget) step.target = step_at[last.target];
    if (last.op == Op::JUMP && last.target != kNoTarget) step.next = step_at[last.target];
    if (ends_flow(last.op)) continue;
    if (step.end == n)
      throw Error(at(module, code, last.offset) + ": control falls off the end of the code after " +
                  std::string(op_name(last.op)) + "; RETURN_VALUE, RAISE or JUMP was expected");
    step.next = step_at[step.end];
  }
  if (list.rows.empty()) return out;
  struct Key {
    std::uint32_t target, depth;
    bool lasti;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (static_cast<std::size_t>(key.target) * 0x9E3779B97F4A7C15u) ^
             (key.depth * 2u + key.lasti);
    }
  };
  std::unordered_map<Key, std::uint32_t, Hash> ids;
  for (const ExceptionRow& row : list.rows) {
    if (row.begin == row.end) continue;
    const auto [found, fresh] = ids.try_emplace({row.target, row.depth, row.lasti},
                                                static_cast<std::uint32_t>(out.regions.size()));
    if (fresh) {
      StepRegion region;
      region.handler = step_at[row.target];
      region.depth = row.depth;
      region.lasti = row.lasti;
      out.regions.push_back(region);
    }
    for (std::uint32_t s = step_at[row.begin]; s < out.steps.size() && out.steps[s].begin < row.end;
         ++s)
      out.steps[s].region = found->second;
  }
  // What protects a handler encloses the region that the handler belongs to. A handler that is
  // reached from itself (no compiler emits one) would make a cycle: the first region met on it
  // stays without a parent. Blocks keep their own region, so nothing is lost but the nesting.
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
Cfg assemble(Steps&& in) {
  const auto n = static_cast<std::uint32_t>(in.steps.size());
  // Of each step: kNone until it is reached, kInside after the first normal entry, kStarts when a
  // block must start there; then that block.
  constexpr std::uint32_t kInside = kNone - 1, kStarts = kNone - 2;
  std::vector<std::uint32_t> block_of(n, kNone);
  std::vector<std::uint8_t> used(in.regions.size(), 0);
  SmallVector<std::uint32_t, 64> starts, work;
  auto start = [&](std::uint32_t step) {
    if (block_of[step] == kStarts) return;
    starts.push_back(step);
    if (block_of[step] == kNone) work.push_back(step);
    block_of[step] = kStarts;
  };
  start(in.entry);
  while (!work.empty()) {
    std::uint32_t i = work.back();
    work.pop_back();
    for (;;) {  // as far as control goes on to steps that were not reached before
      const Step& step = in.steps[i];
      for (std::uint32_t r = step.region; r != kNone && !used[r]; r = in.regions[r].parent) {
        used[r] = 1;
        start(in.regions[r].handler);
      }
      if (step.target != kNone) start(step.target);
      if (step.next == kNone) break;
      if (ends_block(in.instrs[step.end - 1].op) || block_of[step.next] != kNone ||
          in.steps[step.next].region != step.region) {
        start(step.next);
        break;
      }
      block_of[step.next] = kInside;
      i = step.next;
    }
  }

  const auto offset = [&](std::uint32_t step) { return in.instrs[in.steps[step].begin].offset; };
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return offset(a) != offset(b) ? offset(a) < offset(b) : a < b;
  };
  if (!std::is_sorted(starts.begin(), starts.end(), earlier))
    std::sort(starts.begin(), starts.end(), earlier);
  for (std::uint32_t b = 0; b < starts.size(); ++b) block_of[starts[b]] = b;

  // Parents before children.
  std::vector<std::uint32_t> region_id(in.regions.size(), kNone), chain;
  Cfg cfg;
  cfg.loops = std::move(in.loops);
  cfg.elses = std::move(in.elses);
  cfg.unreached = in.unreached;
  cfg.ends_in_compound = in.ends_in_compound;
  for (std::uint32_t i = 0; i < in.regions.size(); ++i) {
    if (!used[i]) continue;
    for (std::uint32_t r = i; r != kNone && region_id[r] == kNone; r = in.regions[r].parent)
      chain.push_back(r);
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
  cfg.instrs.reserve(in.instrs.size());
  cfg.entry = BlockId(block_of[in.entry]);
  for (std::uint32_t start : starts) {
    Block block;
    block.first = static_cast<std::uint32_t>(cfg.instrs.size());
    if (in.steps[start].region != kNone) block.region = RegionId(region_id[in.steps[start].region]);
    std::uint32_t i = start, from = in.steps[start].begin;
    for (;;) {
      const Step& step = in.steps[i];
      const bool last = step.next == kNone || block_of[step.next] != kInside;
      if (last || in.steps[step.next].begin !=
                      step.end) {  // steps that follow each other are copied together
        cfg.instrs.insert(cfg.instrs.end(), in.instrs.begin() + from, in.instrs.begin() + step.end);
        if (!last) from = in.steps[step.next].begin;
      }
      if (last) break;
      i = step.next;
    }
    cfg.instrs.back().target = kNoTarget;  // of what ends a block: no other instruction has one
    if (in.steps[i].next != kNone) block.next = BlockId(block_of[in.steps[i].next]);
    if (in.steps[i].target != kNone) block.target = BlockId(block_of[in.steps[i].target]);
    block.end = static_cast<std::uint32_t>(cfg.instrs.size());
    cfg.blocks.push_back(block);
  }
  return cfg;
}

/// A handler that is also reached by a jump (≤ 3.10: one RERAISE shared by several handlers) gets
/// an empty block of its own for the exception.
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

void fail_target(const Module& module, CodeId code, const InstrList& list, const Instr& instr) {
  throw Error(at(module, code, instr.offset) + ": " + std::string(op_name(instr.op)) +
              " to instruction " + std::to_string(instr.target) + " of " +
              std::to_string(list.instrs.size()));
}

/// One block, from the first instruction to the last, that nothing protects?
bool is_straight(const InstrList& list) {
  if (!list.rows.empty() || list.instrs.empty() ||
      (list.instrs.back().op != Op::RETURN_VALUE && list.instrs.back().op != Op::RAISE))
    return false;
  return std::all_of(list.instrs.begin(), list.instrs.end() - 1,
                     [](const Instr& instr) { return acts_on_values_alone(instr.op); });
}

/// 3.10 copies the code from a jump's target to the end of the function, right after itself, where
/// the target has no line (compile.c, duplicate_exits_without_lineno). Inside of a call only the
/// MAP_ADD of its 16th and later keywords has none (compiler_subkwargs): `f(a=x or y, …)`. The
/// jumps lead to the original again; none where there is no copy.
static std::optional<InstrList> without_copied_calls(const InstrList& list) {
  const std::vector<Instr>& instrs = list.instrs;
  const std::size_t n = instrs.size();
  const auto is_copied = [](const Instr& a, const Instr& b) {
    return a.op == b.op && a.arg == b.arg && a.aux == b.aux && a.target == kNoTarget &&
           b.target == kNoTarget;
  };
  std::vector<std::uint32_t> original;  // by index: where the code there was copied from
  for (const Instr& instr : instrs) {
    const std::size_t copy = instr.target;
    if (copy >= n || instrs[copy].op != Op::MAP_ADD) continue;
    if (original.empty()) original.assign(n, kNone);
    if (original[copy] != kNone) continue;
    original[copy] = static_cast<std::uint32_t>(copy);
    std::size_t length = 1;
    while (copy + length < n && !ends_block(instrs[copy + length - 1].op)) ++length;
    if (length > copy) continue;
    const auto from = instrs.begin() + static_cast<std::ptrdiff_t>(copy - length);
    const auto to = instrs.begin() + static_cast<std::ptrdiff_t>(copy);
    if (std::equal(from, to, to, is_copied))
      original[copy] = static_cast<std::uint32_t>(copy - length);
  }
  if (original.empty()) return std::nullopt;
  // A second copy follows the first.
  for (std::size_t i = 0; i < n; ++i)
    if (original[i] < i && original[original[i]] != kNone) original[i] = original[original[i]];
  InstrList joined = list;
  for (Instr& instr : joined.instrs)
    if (instr.target < n && original[instr.target] != kNone) instr.target = original[instr.target];
  return joined;
}

static VersionTraits traits_of(PyVersion version) {
  return {
      .source_order = version < PyVersion{3, 10},
      .continue_in_finally = version >= PyVersion{3, 8},
      .named_expressions = version >= PyVersion{3, 8},
      .one_test_on_a_row = version >= PyVersion{3, 10} && version < PyVersion{3, 12},
      .tests_on_statement_row = version >= PyVersion{3, 8} && version < PyVersion{3, 11},
      .comparison_moves_row = version == PyVersion{3, 10},
      .turns_tests = version >= PyVersion{3, 12},
      .keeps_starred = version >= PyVersion{3, 11},
      .folds_displays = version >= PyVersion{3, 14},
      .keeps_not = version >= PyVersion{3, 14},
      .signals_at_jumps = version.has_exception_table(),
      // Measured; up to 3.8 a stack limits the parser, which the statements around need, too.
      .brackets = version < PyVersion{3, 8}   ? 80u
                  : version < PyVersion{3, 9} ? 90u
                                              : 199u,
  };
}

Cfg build_cfg_by_table(const Module& module, CodeId code, const InstrList& list, bool unreached) {
  if (is_straight(list)) {
    Cfg cfg;
    cfg.instrs = list.instrs;
    cfg.blocks.push_back({0, static_cast<std::uint32_t>(list.instrs.size()), {}, {}, {}});
    cfg.entry = BlockId(0);
    return cfg;
  }
  if (list.instrs.empty())
    throw Error(at(module, code, 0) +
                ": no instructions; a code object needs at least a RETURN_VALUE");
  check_rows(module, code, list);
  const PyVersion version = module[code].version;
  const bool table = version >= PyVersion{3, 11};
  if (table) return assemble(steps_of_rows(module, code, list));
  const std::optional<InstrList> joined =
      version >= PyVersion{3, 10} ? without_copied_calls(list) : std::nullopt;
  Steps steps = expand_contexts(module, code, joined ? *joined : list, unreached);
  const std::uint32_t misplaced = steps.misplaced;
  Cfg cfg = assemble(std::move(steps));
  cfg.misplaced = misplaced;
  return cfg;
}

static bool has_empty_region(const InstrList& list) {
  static constexpr OpSet setups{Op::SETUP_FINALLY, Op::SETUP_WITH};
  return std::ranges::adjacent_find(list.instrs, [](const Instr& one, const Instr& next) {
           return setups[one.op] && next.op == Op::POP_BLOCK;
         }) != list.instrs.end();
}

bool jumps_back(const Cfg& cfg, const Block& block) {
  if (block.first == block.end) return false;
  const std::uint32_t from = cfg.instrs[block.end - 1].offset;
  return std::ranges::any_of(std::array{block.next, block.target}, [&](BlockId to) {
    if (!to) return false;
    // An empty block is never in a loop.
    const Block& begins = cfg[to];
    return begins.first < begins.end && cfg.instrs[begins.first].offset <= from;
  });
}

Cfg build_cfg(const Module& module, CodeId code, const InstrList& list, bool unreached) {
  const PyVersion version = module[code].version;
  Cfg cfg = build_cfg_by_table(module, code, list, unreached);
  cfg.traits = traits_of(version);
  cfg.behind_jumps = list.behind_jumps;
  cfg.hides_signals = version < PyVersion{3, 11} && has_empty_region(list);
  const bool branches_on_bools = version >= PyVersion{3, 13};
  if (cfg.regions.empty()) return cfg;
  if (version >= PyVersion{3, 11}) drop_cleanups(cfg, branches_on_bools);
  for (Block& block : cfg.blocks) block.region_at_end = block.region;
  if (version >= PyVersion{3, 12}) absorb_gaps(cfg, branches_on_bools);
  absorb_returns(cfg);
  join_blocks(cfg);
  separate_handlers(cfg);
  return cfg;
}

}  // namespace depyf
