#include "flow/gaps.h"

#include <algorithm>

#include "bytecode/effect.h"

namespace depyf {

namespace {
constexpr std::uint32_t kNone = UINT32_MAX;
}

RegionTree::RegionTree(const Cfg& cfg) : in_(cfg.regions.size()), out_(cfg.regions.size()) {
  const std::size_t n = cfg.regions.size();
  std::vector<std::uint32_t> size(n, 1), next(n, 0);
  for (std::size_t r = n; r-- > 0;)
    if (const RegionId up = cfg.regions[r].parent) size[up.index] += size[r];
  std::uint32_t root = 0;
  for (std::size_t r = 0; r < n; ++r) {
    const RegionId up = cfg.regions[r].parent;
    std::uint32_t& at = up ? next[up.index] : root;
    in_[r] = at;
    at += size[r];
    out_[r] = in_[r] + size[r] - 1;
    next[r] = in_[r] + 1;
  }
}

std::uint32_t count_multiple_entries(const Cfg& cfg) {
  constexpr std::uint32_t kMany = UINT32_MAX - 1;
  const RegionTree tree(cfg);
  std::vector<std::uint32_t> entry(cfg.regions.size(), UINT32_MAX);
  auto enter = [&](RegionId from, BlockId to) {
    for (RegionId r = cfg[to].region; r && !tree.encloses(r, from); r = cfg[r].parent)
      entry[r.index] =
          entry[r.index] == UINT32_MAX || entry[r.index] == to.index ? to.index : kMany;
  };
  enter(RegionId(), cfg.entry);
  for (const Block& block : cfg.blocks) {
    if (block.next) enter(block.region, block.next);
    if (block.target) enter(block.region, block.target);
  }
  return static_cast<std::uint32_t>(std::count(entry.begin(), entry.end(), kMany));
}

namespace {

/// Deeper forests than any compiler makes are left as they are: the repair is for readability only,
/// and walks up the forest.
constexpr std::uint32_t kMaxForestDepth = 256;

/// No handler can tell whether it covers `block`: nothing in it raises, and it leaves the values
/// below its entry's stack alone, so that even the stack a handler would start with is the same as
/// before.
bool is_inert(const Cfg& cfg, const Block& block, bool branches_on_bools) {
  std::uint64_t above = 0;  // values that the block itself has pushed
  for (std::uint32_t i = block.first; i < block.end; ++i) {
    const Instr& instr = cfg.instrs[i];
    const bool last = i + 1 == block.end;
    if (last && branches_on_bools && (instr.op == Op::BRANCH_FALSE || instr.op == Op::BRANCH_TRUE))
      return true;
    if (last && (instr.op == Op::BRANCH_NONE || instr.op == Op::BRANCH_NOT_NONE)) return true;
    if (!cannot_raise(instr.op)) return false;
    const StackEffect effect = stack_effect(instr);
    if (effect.pops > above) return false;
    above += effect.pushes - effect.pops;
  }
  return true;
}

/// 3.13 and 3.14 also leave out the branch itself, so that its condition is computed inside of the
/// region and tested outside. A branch alone in its block that is entered only by falling out of
/// one region belongs there: it cannot raise.
void absorb_branches(Cfg& cfg) {
  std::vector<std::uint32_t> entries(cfg.size(), 0);
  entries[cfg.entry.index] = 1;
  for (const Region& region : cfg.regions) ++entries[region.handler.index];
  for (const Block& block : cfg.blocks) {
    if (block.next) ++entries[block.next.index];
    if (block.target) ++entries[block.target.index];
  }
  const RegionTree tree(cfg);
  for (const Block& block : cfg.blocks) {
    if (!block.next || block.target || !block.region || ends_flow(cfg.instrs[block.end - 1].op))
      continue;
    Block& next = cfg.blocks[block.next.index];
    if (entries[block.next.index] == 1 && next.end - next.first == 1 && is_inert(cfg, next, true) &&
        next.target && next.region != block.region && tree.encloses(next.region, block.region))
      next.region = block.region;
  }
}

}  // namespace

void join_blocks(Cfg& cfg) {
  const std::uint32_t n = cfg.size();
  std::vector<std::uint32_t> entries(n, 0);
  ++entries[cfg.entry.index];
  for (const Region& region : cfg.regions) ++entries[region.handler.index];
  for (const Block& block : cfg.blocks) {
    if (block.next) ++entries[block.next.index];
    if (block.target) ++entries[block.target.index];
  }
  // In the order of the bytecode, so that a block and what it falls into are neighbours.
  std::vector<std::uint32_t> moved(n);
  std::uint32_t kept = 0;
  for (std::uint32_t b = 0; b < n; ++b) {
    const Block& block = cfg.blocks[b];
    if (b > 0) {
      Block& before = cfg.blocks[kept - 1];
      if (before.next.index == b && !before.target && before.end == block.first &&
          before.region == block.region && entries[b] == 1 &&
          !ends_flow(cfg.instrs[before.end - 1].op)) {
        before.end = block.end;
        before.next = block.next;
        before.target = block.target;
        before.region_at_end = block.region_at_end;
        moved[b] = kept - 1;
        continue;
      }
    }
    moved[b] = kept;
    cfg.blocks[kept++] = block;
  }
  if (kept == n) return;
  cfg.blocks.resize(kept);
  for (Block& block : cfg.blocks) {
    if (block.next) block.next = BlockId(moved[block.next.index]);
    if (block.target) block.target = BlockId(moved[block.target.index]);
  }
  for (Region& region : cfg.regions) region.handler = BlockId(moved[region.handler.index]);
  cfg.entry = BlockId(moved[cfg.entry.index]);
}

void remove_blocks(Cfg& cfg, const std::vector<std::uint8_t>& gone) {
  std::vector<BlockId> moved(cfg.size());
  std::vector<Instr> instrs;
  std::uint32_t kept = 0;
  instrs.reserve(cfg.instrs.size());
  for (std::uint32_t b = 0; b < gone.size(); ++b) {
    if (gone[b]) continue;
    Block block = cfg.blocks[b];
    const auto first = static_cast<std::uint32_t>(instrs.size());
    instrs.insert(instrs.end(), cfg.instrs.begin() + block.first, cfg.instrs.begin() + block.end);
    block.first = first;
    block.end = static_cast<std::uint32_t>(instrs.size());
    moved[b] = BlockId(kept);
    cfg.blocks[kept++] = block;
  }
  cfg.blocks.resize(kept);
  cfg.instrs = std::move(instrs);
  for (Block& block : cfg.blocks) {
    if (block.next) block.next = moved[block.next.index];
    if (block.target) block.target = moved[block.target.index];
  }
  for (Region& region : cfg.regions) region.handler = moved[region.handler.index];
  cfg.entry = moved[cfg.entry.index];
}

void absorb_returns(Cfg& cfg) {
  const std::uint32_t n = cfg.size();
  // The region that every way in comes out of. kMixed: several, or none.
  constexpr std::uint32_t kMixed = UINT32_MAX - 1;
  std::vector<std::uint32_t> from(n, kNone);
  auto enter = [&](BlockId to, std::uint32_t region) {
    if (to) from[to.index] = from[to.index] == kNone || from[to.index] == region ? region : kMixed;
  };
  auto is_return = [&](const Block& block) {
    return block.end - block.first == 1 && cfg.instrs[block.first].op == Op::RETURN_VALUE;
  };
  enter(cfg.entry, kMixed);
  for (const Region& region : cfg.regions) enter(region.handler, kMixed);
  for (const Block& block : cfg.blocks) {
    const std::uint32_t region = block.region ? block.region.index : kMixed;
    enter(block.next, region);
    enter(block.target, region);
  }
  const RegionTree tree(cfg);
  auto wanted = [&](std::uint32_t b) {
    return from[b] < kMixed && is_return(cfg.blocks[b]) && cfg.blocks[b].region.index != from[b] &&
           tree.encloses(cfg.blocks[b].region, RegionId(from[b]));
  };
  bool any = false;
  for (std::uint32_t b = 0; b < n && !any; ++b) any = wanted(b);
  if (!any) return;
  // The value must come from inside: the stack is deeper than where the region's handler starts.
  std::vector<std::uint64_t> depth(n, kNone);
  std::vector<std::uint32_t> work;
  auto flow = [&](BlockId to, std::uint64_t value) {
    if (!to || depth[to.index] != kNone) return;
    depth[to.index] = value;
    work.push_back(to.index);
  };
  flow(cfg.entry, 0);
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    const Block& block = cfg.blocks[b];
    std::uint64_t at = depth[b], taken = at;
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const StackEffect effect = stack_effect(cfg.instrs[i]);
      if (effect.pops > at || at > 0x1000000) return;  // not for this function to report
      taken = at - effect.pops + effect.target_pushes;
      at = at - effect.pops + effect.pushes;
    }
    flow(block.next, at);
    flow(block.target, taken);
    if (block.region) {
      const Region& region = cfg[block.region];
      flow(region.handler, std::uint64_t{region.depth} +
                               (region.entry == HandlerEntry::Six ? 6u : 1u + region.lasti));
    }
  }
  for (std::uint32_t b = 0; b < n; ++b)
    if (wanted(b) && depth[b] != kNone && depth[b] > cfg.regions[from[b]].depth)
      cfg.blocks[b].region = RegionId(from[b]);
}

namespace {

/// Blocks between the parts of a region that do nothing which could raise, and belong to it.
class Gaps {
 public:
  Gaps(Cfg& cfg, std::vector<std::uint32_t> level)
      : cfg_(cfg), level_(std::move(level)), tree_(cfg) {}

  void absorb(bool branches_on_bools) {
    find_candidates(branches_on_bools);
    find_origins();
    find_entries();
    lead_back();
  }

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX - 1;

  std::uint32_t up(std::uint32_t r) const { return cfg_.regions[r].parent.index; }
  /// The innermost region around both; `kNone` is the outside of all.
  std::uint32_t common(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      if (a == kNone || b == kNone) return kNone;
      std::uint32_t& inner = level_[a] >= level_[b] ? a : b;
      inner = up(inner);
    }
    return a;
  }
  bool inside(std::uint32_t inner, std::uint32_t outer) const {
    return tree_.encloses(RegionId(outer), RegionId(inner));
  }
  std::uint32_t region_of(std::uint32_t b) const { return cfg_.blocks[b].region.index; }
  template <class Visit>
  void edges_of(std::uint32_t b, const Visit& visit) const {
    if (cfg_.blocks[b].next) visit(b, cfg_.blocks[b].next.index);
    if (cfg_.blocks[b].target) visit(b, cfg_.blocks[b].target.index);
  }
  template <class Visit>
  void edges(const Visit& visit) const {
    for (std::uint32_t b = 0; b < cfg_.size(); ++b) edges_of(b, visit);
  }

  void find_candidates(bool branches_on_bools) {
    candidate_.assign(cfg_.size(), 0);
    for (std::uint32_t b = 0; b < cfg_.size(); ++b)
      candidate_[b] = b != cfg_.entry.index && is_inert(cfg_, cfg_.blocks[b], branches_on_bools);
    for (const Region& region : cfg_.regions) candidate_[region.handler.index] = 0;
  }

  /// Greatest fixpoint.
  void find_origins() {
    from_.assign(cfg_.size(), kUnknown);
    std::vector<std::uint32_t> work;
    const auto enter = [&](std::uint32_t to, std::uint32_t region) {
      if (!candidate_[to]) return;
      const std::uint32_t now = from_[to] == kUnknown ? region : common(from_[to], region);
      if (now == from_[to]) return;
      from_[to] = now;
      work.push_back(to);
    };
    edges([&](std::uint32_t b, std::uint32_t to) {
      if (!candidate_[b]) enter(to, region_of(b));
    });
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      work.pop_back();
      edges_of(at, [&](std::uint32_t b, std::uint32_t to) { enter(to, from_[b]); });
    }
  }

  void find_entries() {
    entry_.assign(cfg_.regions.size(), kNone);
    loops_.assign(cfg_.regions.size(), 0);
    for (std::uint32_t r = region_of(cfg_.entry.index); r != kNone; r = up(r))
      entry_[r] = cfg_.entry.index;
    edges([&](std::uint32_t b, std::uint32_t to) {
      const std::uint32_t home = candidate_[b] && from_[b] != kUnknown ? from_[b] : region_of(b);
      for (std::uint32_t r = region_of(to); r != kNone && !inside(home, r); r = up(r))
        if (entry_[r] == kNone) entry_[r] = to;
    });
    edges([&](std::uint32_t b, std::uint32_t to) {
      for (std::uint32_t r = region_of(to); r != kNone && entry_[r] == to; r = up(r))
        if (inside(region_of(b), r)) loops_[r] = 1;
    });
  }

  /// Each candidate gets the innermost region that it leads back into: least fixpoint, against the
  /// edges.
  void lead_back() {
    const std::uint32_t n = cfg_.size();
    std::vector<std::uint32_t> offsets(n + 1, 0), preds, work;
    edges([&](std::uint32_t, std::uint32_t to) { ++offsets[to + 1]; });
    for (std::uint32_t b = 0; b < n; ++b) offsets[b + 1] += offsets[b];
    preds.resize(offsets[n]);
    {
      std::vector<std::uint32_t> at(offsets.begin(), offsets.end() - 1);
      edges([&](std::uint32_t b, std::uint32_t to) { preds[at[to]++] = b; });
    }
    std::vector<std::uint32_t> home(n);
    for (std::uint32_t b = 0; b < n; ++b) home[b] = region_of(b);
    const auto lead = [&](std::uint32_t b, std::uint32_t to) {
      if (!candidate_[b] || from_[b] == kUnknown) return;
      std::uint32_t r = home[to];
      // To come back to where the region starts is what a loop around it does, unless the region
      // itself has the loop.
      while (r != kNone && entry_[r] == to && !loops_[r]) r = up(r);
      r = common(r, from_[b]);
      if (r == home[b] || !inside(r, home[b])) return;
      home[b] = r;
      work.push_back(b);
    };
    edges(lead);
    while (!work.empty()) {
      const std::uint32_t to = work.back();
      work.pop_back();
      for (std::uint32_t k = offsets[to]; k < offsets[to + 1]; ++k) lead(preds[k], to);
    }
    for (std::uint32_t b = 0; b < n; ++b)
      if (candidate_[b]) cfg_.blocks[b].region = RegionId(home[b]);
  }

  Cfg& cfg_;
  const std::vector<std::uint32_t> level_;
  const RegionTree tree_;
  std::vector<std::uint8_t> candidate_;  // by block
  std::vector<std::uint32_t> from_;   // by candidate: the innermost region that all ways come from
  std::vector<std::uint32_t> entry_;  // by region: where it is entered, gaps apart,
  std::vector<std::uint8_t> loops_;   // and whether something in it goes back there
};

}  // namespace

void absorb_gaps(Cfg& cfg, bool branches_on_bools) {
  if (cfg.regions.empty()) return;
  std::vector<std::uint32_t> level(cfg.regions.size(), 1);
  for (std::uint32_t r = 0; r < cfg.regions.size(); ++r) {
    if (const RegionId up = cfg.regions[r].parent) level[r] = level[up.index] + 1;
    if (level[r] > kMaxForestDepth) return;
  }
  if (branches_on_bools) absorb_branches(cfg);
  Gaps(cfg, std::move(level)).absorb(branches_on_bools);
}

}  // namespace depyf
