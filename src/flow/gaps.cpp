#include "flow/gaps.h"

#include <algorithm>

#include "opcode/effect.h"

namespace depyf {

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
      entry[r.index] = entry[r.index] == UINT32_MAX || entry[r.index] == to.index ? to.index : kMany;
  };
  enter(RegionId(), cfg.entry);
  for (const Block& block : cfg.blocks) {
    if (block.next) enter(block.region, block.next);
    if (block.target) enter(block.region, block.target);
  }
  return static_cast<std::uint32_t>(std::count(entry.begin(), entry.end(), kMany));
}

}  // namespace depyf
