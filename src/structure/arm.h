#pragma once
// Arms of tests inside expressions: blocks that evaluate one expression.
#include <cstddef>
#include <cstdint>

#include "structure/graph.h"

namespace depyf {

/// An arm: entered from one place, and nothing but the evaluation of one expression.
struct Arm {
  ExprId expr;
  ValueId external;  // what it takes from outside, as the left side of a comparison
  explicit operator bool() const { return static_cast<bool>(expr); }
};

/// The arm's body as the expression of `root`. `inside_uses`: how many of root's uses the fold
/// replaces.
Arm arm_as_expression(StructureGraph& s, BlockId block, ValueId root, std::uint32_t inside_uses);

/// Of the block's first operations alone.
Arm prefix_as_arm(StructureGraph& s, BlockId block, std::size_t length, ValueId root,
                  std::uint32_t inside_uses);

/// How often the last `length` operations, and what the block ends in, take the value.
std::uint32_t uses_in_tail(StructureGraph& s, const Node& node, std::size_t length, ValueId v);

/// How many variables walruses bind to the value before the last `length` operations.
std::uint32_t stores_before_tail(StructureGraph& s, const Node& node, std::size_t length,
                                 ValueId v);

}  // namespace depyf
