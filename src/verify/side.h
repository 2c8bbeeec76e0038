#pragma once
// What lockstep.cpp knows about one side before it walks.
#include <vector>

#include "lift/lifted.h"
#include "verify/canon.h"

namespace depyf::verify_detail {

constexpr std::uint32_t kLiveOut = UINT32_MAX;

struct BlockFacts {
  std::vector<ValueId> events;  // the body, with a Previous where 3.11's PUSH_EXC_INFO stands
  std::vector<ValueId>
      at_entry;  // what a handler's entry defines: exception, lasti, previous state …
  std::vector<ValueId>
      live_in;  // sorted; values of other blocks that this block or what follows needs
  std::uint32_t predecessors = 0;  // normal edges, handler edges, the entry
  std::uint32_t number = kNone;    // in reverse postorder; kNone when unreachable
  ValueId test;                    // Branch: the tested value under any number of `not` and bool()
  bool flipped = false;            // an odd number of `not`, that of a last `is not` included
};

/// Facts by value.
struct ValueFacts {
  std::uint32_t last_use =
      0;  // position + 1 of the last use in the own block, kLiveOut when needed after it; 0 unused
  std::uint32_t position = 0;  // position + 1 of the definition in the own block; 0 at its entry
  std::uint32_t uses = 0;
  bool bound = false;        // LOAD_FAST, DELETE_FAST: the local has a value here on every way
  bool transparent = false;  // `not` or bool() that the block's test absorbs
  bool inverted = false;  // an `is not` that counts as `is`: the block's test has its arms swapped
  std::uint32_t results =
      kNone;  // first of the Results of this operation, a list through next_result
  std::uint32_t next_result = kNone;
};

struct Facts {
  std::vector<BlockFacts> blocks;
  std::vector<ValueFacts> values;
  bool complete = true;  // false: too large, the budget ended
};

/// `bare`: by slot, the cells that nothing captures, which count as locals (Canon::bare). Stops,
/// incomplete, after `budget` steps.
Facts gather(const Lifted& lifted, const Module& module, const std::vector<bool>& bare,
             std::size_t budget);

}  // namespace depyf::verify_detail
