#pragma once
// Handler regions as nested sets of blocks, and the repair of what the compiler's table leaves out
// of them.
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

/// 3.12+ lets blocks inside of a `try` out of its rows: reversing a conditional jump backward makes
/// a JUMP (3.13, 3.14: the branch too) without a handler, and the region seems to be entered again
/// after it. Puts each block that cannot raise, that is entered only from a region and that leads
/// back into it elsewhere than at its start, into that region. Nothing changes for what runs: a
/// handler cannot tell a block that never raises. `branches_on_bools`: BRANCH_FALSE and BRANCH_TRUE
/// never call __bool__ (3.13+: TO_BOOL does).
void absorb_gaps(Cfg& cfg, bool branches_on_bools);

/// `return expression` in a `try` body computes the value under the handler and returns outside of
/// it, in every version. A block that is nothing but RETURN_VALUE, entered only from one region and
/// returning a value from there, goes into that region: it cannot raise.
void absorb_returns(Cfg& cfg);

/// 3.11+: takes out the regions whose handler only restores the exception state and raises again
/// (COPY 3; POP_EXCEPT 1; RERAISE 1), so that handlers look like those of ≤ 3.10: an exception that
/// leaves one restores the state by itself. Does nothing and returns false where the code would
/// lose something: an exception could leave a handler without being caught inside, or another state
/// be restored.
bool drop_cleanups(Cfg& cfg, bool branches_on_bools);

/// Takes out the blocks marked in `gone`, to which no edge may lead.
void remove_blocks(Cfg& cfg, const std::vector<std::uint8_t>& gone);

/// Joins neighbours that only a difference of regions kept apart.
void join_blocks(Cfg& cfg);

/// The graph as the table or the block stack has it, before any of these.
Cfg build_cfg_by_table(const Module& module, CodeId code, const InstrList& list,
                       bool unreached = false);

}  // namespace depyf
