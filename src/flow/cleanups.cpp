// 3.11+ spells out what the block stack of ≤ 3.10 did by itself: an exception that leaves a handler
// goes to a region whose handler restores the exception state (COPY 3; POP_EXCEPT; RERAISE) and
// passes it on. No source says so, and none can say otherwise.
#include <algorithm>
#include <unordered_map>

#include "bytecode/effect.h"
#include "flow/gaps.h"

namespace depyf {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// A handler that runs: PUSH_EXC_INFO put the saved state at stack position `pushed`; it now lies
/// at `now`.
struct Active {
  std::uint32_t parent, pushed, now;
};

class CleanupCheck {
 public:
  CleanupCheck(const Cfg& cfg, bool branches_on_bools)
      : cfg_(cfg), branches_on_bools_(branches_on_bools), cleanup_(cfg.regions.size(), 0) {}

  const std::vector<std::uint8_t>& cleanups() const { return cleanup_; }

  bool find() {
    std::vector<std::uint32_t> entries(cfg_.size(), 0);
    for (const Block& block : cfg_.blocks) {
      if (block.next) ++entries[block.next.index];
      if (block.target) ++entries[block.target.index];
    }
    for (const Region& region : cfg_.regions) ++entries[region.handler.index];
    bool any = false;
    for (std::size_t r = 0; r < cfg_.regions.size(); ++r) {
      const Region& region = cfg_.regions[r];
      const Block& handler = cfg_[region.handler];
      const Instr* at = &cfg_.instrs[handler.first];
      cleanup_[r] = region.lasti && region.depth > 0 && region.handler != cfg_.entry &&
                    entries[region.handler.index] == 1 && handler.region == region.parent &&
                    handler.end - handler.first == 3 && at[0].op == Op::COPY && at[0].arg == 3 &&
                    at[1].op == Op::POP_EXCEPT && at[1].arg == 1 && at[2].op == Op::RERAISE &&
                    at[2].arg == 1 && at[2].aux == 1;
      any |= cleanup_[r] != 0;
    }
    return any;
  }

  /// Nothing is lost without the cleanups when, wherever an exception can come from while a handler
  /// runs, a region inside of that handler catches it; and when a cleanup is what catches it, it
  /// restores what that very handler saved.
  bool hold() {
    depth_.assign(cfg_.size(), kNone);
    active_of_.assign(cfg_.size(), kNone);
    if (!flow(cfg_.entry, 0, kNone)) return false;
    while (!work_.empty()) {
      const std::uint32_t b = work_.back();
      work_.pop_back();
      if (!walk(cfg_.blocks[b], b)) return false;
    }
    return true;
  }

 private:
  std::uint32_t intern(Active active) {
    const std::uint64_t key = (static_cast<std::uint64_t>(active.parent) * 0x9E3779B97F4A7C15u) ^
                              (static_cast<std::uint64_t>(active.pushed) << 32) ^ active.now;
    for (auto [at, end] = ids_.equal_range(key); at != end; ++at) {
      const Active& other = actives_[at->second];
      if (other.parent == active.parent && other.pushed == active.pushed && other.now == active.now)
        return at->second;
    }
    actives_.push_back(active);
    ids_.emplace(key, static_cast<std::uint32_t>(actives_.size() - 1));
    return static_cast<std::uint32_t>(actives_.size() - 1);
  }

  bool flow(BlockId to, std::uint64_t depth, std::uint32_t active) {
    if (!to) return true;
    if (depth > 0x1000000) return false;
    if (depth_[to.index] != kNone)
      return depth_[to.index] == depth && active_of_[to.index] == active;
    depth_[to.index] = static_cast<std::uint32_t>(depth);
    active_of_[to.index] = active;
    work_.push_back(to.index);
    return true;
  }

  bool raises(const Instr& instr) const {
    return !cannot_raise(instr.op) &&
           !(branches_on_bools_ && (instr.op == Op::BRANCH_FALSE || instr.op == Op::BRANCH_TRUE));
  }

  /// An exception in `r` while `active` runs.
  bool raise(RegionId r, std::uint32_t active) {
    for (; r; r = cfg_[r].parent) {
      const Region& region = cfg_[r];
      if (active != kNone && actives_[active].pushed >= region.depth)
        return false;  // it leaves the handler, the state stays
      if (!cleanup_[r.index])
        return flow(region.handler, std::uint64_t{region.depth} + 1 + region.lasti, active);
      // The cleanup takes the saved state from below lasti and the exception, then raises in the
      // region around.
      if (active == kNone || actives_[active].pushed != actives_[active].now ||
          actives_[active].now + 1 != region.depth)
        return false;
      active = actives_[active].parent;
    }
    return active == kNone;
  }

  bool walk(const Block& block, std::uint32_t b) {
    std::uint64_t depth = depth_[b], taken = depth;
    std::uint32_t active = active_of_[b],
                  raised = kNone - 1;  // with which handler running it was last seen to raise
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const Instr& instr = cfg_.instrs[i];
      const StackEffect effect = stack_effect(instr);
      if (effect.pops > depth) return false;
      if (active != raised && raises(instr)) {
        if (!raise(block.region, active)) return false;
        raised = active;
      }
      if (instr.op == Op::PUSH_EXC_INFO) {
        const auto at = static_cast<std::uint32_t>(depth - 1);
        active = intern({active, at, at});
      } else if (instr.op == Op::POP_EXCEPT) {
        if (instr.arg != 1 || active == kNone || actives_[active].now + 1 != depth) return false;
        active = actives_[active].parent;
      } else if (active != kNone && depth - effect.pops <= actives_[active].now) {
        // Something reaches down to the saved state: only an exchange that brings it to the top is
        // followed.
        if (instr.op == Op::SWAP && instr.arg > 1 && actives_[active].now == depth - instr.arg)
          active = intern({actives_[active].parent, actives_[active].pushed,
                           static_cast<std::uint32_t>(depth - 1)});
        else if (instr.op != Op::COPY && instr.op != Op::WITH_EXCEPT_START && !ends_flow(instr.op))
          return false;
      }
      taken = depth - effect.pops + effect.target_pushes;
      depth = depth - effect.pops + effect.pushes;
    }
    return flow(block.next, depth, active) && flow(block.target, taken, active);
  }

  const Cfg& cfg_;
  const bool branches_on_bools_;
  std::vector<std::uint8_t> cleanup_;
  std::vector<Active> actives_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> ids_;
  std::vector<std::uint32_t> depth_, active_of_, work_;
};

}  // namespace

bool drop_cleanups(Cfg& cfg, bool branches_on_bools) {
  CleanupCheck check(cfg, branches_on_bools);
  if (!check.find()) return true;
  if (!check.hold()) return false;
  const std::vector<std::uint8_t>& cleanup = check.cleanups();
  std::vector<RegionId> instead(
      cfg.regions.size());  // the region that stands for each: itself or what is around the cleanup
  std::vector<Region> kept;
  std::vector<std::uint8_t> gone(cfg.size(), 0);
  for (std::uint32_t r = 0; r < cfg.regions.size(); ++r) {
    Region region = cfg.regions[r];
    if (region.parent) region.parent = instead[region.parent.index];
    if (cleanup[r]) {
      instead[r] = region.parent;
      gone[region.handler.index] = 1;
    } else {
      instead[r] = RegionId(static_cast<std::uint32_t>(kept.size()));
      kept.push_back(region);
    }
  }
  cfg.regions = std::move(kept);
  for (Block& block : cfg.blocks)
    if (block.region) block.region = instead[block.region.index];
  remove_blocks(cfg, gone);
  return true;
}

}  // namespace depyf
