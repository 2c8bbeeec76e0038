#pragma once
// Handler regions as nested sets of blocks, and the repair of what the compiler's table leaves out of them.
#include <cstdint>
#include <vector>

#include "flow/cfg.h"

namespace depyf {

/// Interval numbering of the forest of regions: is a region inside another?
class RegionTree {
 public:
  explicit RegionTree(const Cfg& cfg);
  /// `inner` is `outer` or lies in it. The absent region encloses every other.
  bool encloses(RegionId outer, RegionId inner) const {
    if (!outer) return true;
    return inner && in_[outer.index] <= in_[inner.index] && in_[inner.index] <= out_[outer.index];
  }

 private:
  std::vector<std::uint32_t> in_, out_;
};

/// How many regions are entered (normally: by jump or fall-through) at more than one block.
std::uint32_t count_multiple_entries(const Cfg& cfg);

/// 3.12+ lets blocks inside of a `try` out of its rows: reversing a conditional jump backward makes a JUMP (3.13, 3.14: the branch
/// too) without a handler, and the region seems to be entered again behind it. Puts each block that cannot raise, that is entered only
/// from a region and that leads back into it elsewhere than at its start, into that region. Nothing changes for what runs: a handler
/// cannot tell a block that never raises. `branches_on_bools`: BRANCH_FALSE and BRANCH_TRUE never call __bool__ (3.13+: TO_BOOL does).
void absorb_gaps(Cfg& cfg, bool branches_on_bools);

/// The graph before absorb_gaps.
Cfg build_cfg_by_table(const Module& module, CodeId code, const InstrList& list);

}  // namespace depyf
