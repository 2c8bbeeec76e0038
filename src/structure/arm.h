#pragma once
// Arms of tests inside expressions: blocks that evaluate one expression.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "structure/graph.h"
#include "structure/operations.h"

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

/// Questions about arms, and about the values that edges hand on.
class Arms {
 public:
  explicit Arms(StructureGraph& s) : s_(s) {}

  bool is_arm_block(BlockId a, const Edge& edge) const {
    const Node& arm = s_.nodes[edge.to.index];
    return arm.pred_count == 1 && arm.params.empty() && edge.to != a && edge.to != s_.entry &&
           arm.match == UINT32_MAX && arm.region == s_.nodes[a.index].region;
  }

  Arm as_expression(BlockId block, ValueId root, std::uint32_t inside_uses) {
    return arm_as_expression(s_, block, root, inside_uses);
  }
  Arm prefix_as_expression(BlockId block, std::size_t length, ValueId root,
                           std::uint32_t inside_uses) {
    return prefix_as_arm(s_, block, length, root, inside_uses);
  }

  /// The value whose comparison a following link of a chain takes up: the right side of the
  /// comparison that `test` ends in.
  ValueId right_side(ValueId test) const {
    const Value& v = s_.at(test);
    if (v.kind != ValueKind::Operation || !kComparisons[v.op]) return {};
    return s_.resolve(v.operands[1]);
  }

  /// How many names get `v` right after it was computed.
  std::uint32_t walrus_stores(ValueId v) {
    const Value& value = s_.at(v);
    if (s_.uses[v.index] <= 2 || !value.block) return 0;
    const std::vector<ValueId>& body = s_.nodes[value.block.index].body;
    auto at = std::find(body.begin(), body.end(), v);
    std::uint32_t stores = 0;
    while (at != body.end() && ++at != body.end()) {
      const Value& store = s_.at(*at);
      if (store.kind != ValueKind::Operation || !is_name_store(store.op) ||
          s_.resolve(store.operands[0]) != v)
        break;
      ++stores;
    }
    return stores;
  }

  bool chain_fits(const Arm& arm, ValueId first) {
    if (!arm.external) return true;
    ValueId right = right_side(first);
    return right && s_.resolve(right) == arm.external && is_taken_up(arm.external);
  }

  /// Is the right side of a comparison the left side of another one, and nothing else?
  bool is_taken_up(ValueId right) { return s_.uses[right.index] == 2 + walrus_stores(right); }

  std::uint32_t count_in(const Edge& edge, ValueId v) {
    std::uint32_t n = 0;
    for (ValueId arg : edge.args) n += s_.resolve(arg) == v;
    return n;
  }

  Edge replace_in(const Edge& edge, ValueId from, ValueId to) {
    std::vector<ValueId> args;
    for (ValueId arg : edge.args) args.push_back(s_.resolve(arg) == from ? to : s_.resolve(arg));
    return Edge{edge.to, s_.lifted.arena.copy(args), edge.written};
  }

  void kill(BlockId b) {
    Node& node = s_.nodes[b.index];
    node.alive = false;
    node.body.clear();
    node.pred_count = 0;
  }

 protected:
  StructureGraph& s_;
};

}  // namespace depyf
