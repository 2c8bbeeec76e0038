// Statements that are expressions with control flow inside: their operands meet again.
#include <algorithm>

#include "structure/build.h"
#include "structure/graph.h"
#include "structure/steps.h"
#include "support/small_vector.h"

namespace depyf {

namespace {

/// Constants that blocks load and nothing reads, `1` of the statement `a or 1`. They are no
/// operations any more.
class DroppedConstants {
 public:
  explicit DroppedConstants(StructureGraph& s) : s_(s) {}

  /// Makes the first one of the block its first operation again: one more than before.
  std::size_t insert(BlockId b) {
    std::vector<ValueId>& body = s_.nodes[b.index].body;
    body.insert(body.begin(), of(b));
    return 1;
  }

 private:
  /// None, where the compiler left it out.
  ValueId of(BlockId b) {
    if (first_.empty()) {
      first_.resize(s_.nodes.size());
      for (std::uint32_t i = 0; i < s_.lifted.values.size(); ++i)
        if (const ValueId v(i);
            s_.is_const(v) && s_.uses[i] == 0 && s_.at(v).block && !first_[s_.at(v).block.index])
          first_[s_.at(v).block.index] = v;
    }
    return first_[b.index] ? first_[b.index] : s_.add_none(b);
  }

  StructureGraph& s_;
  std::vector<ValueId> first_;  // by block
};

}  // namespace

/// `a and b()` as the last statement of a function: 3.10+ copies the end of the function to each
/// way (duplicate_exits_without_lineno), so that the operands no longer meet; 3.10 copies any short
/// end, 3.13+ the way back to a loop's start. Where a test leaves its value on the stack of an end
/// that does not read it, the other operand's copy becomes a jump there.
void join_dropped_values(StructureGraph& s) {
  constexpr std::size_t kSteps = 4;
  if (s.options.made_by_dynamo) return;
  // Does the arm end in a copy of the block, and of a few blocks after it? The end of a handler
  // lies after its protected code. `copies`: those of the blocks after it.
  auto ends_likewise = [&](BlockId arm_block, BlockId end_block, std::vector<BlockId>& copies) {
    copies.clear();
    std::vector<std::pair<ValueId, ValueId>> pairs;  // of the arm and of the end
    for (;;) {
      const Node &arm = s.nodes[arm_block.index], &end = s.nodes[end_block.index];
      if (arm.term != end.term || arm.jump != end.jump || arm.body.size() < end.body.size())
        return false;
      const auto code = std::span(arm.body).last(end.body.size());
      const auto same = [&](ValueId x, ValueId y) {
        return x == y || std::find(pairs.begin(), pairs.end(), std::pair(x, y)) != pairs.end();
      };
      for (std::size_t n = 0; n < code.size(); ++n) {
        const Value &x = s.at(code[n]), &y = s.at(end.body[n]);
        if (!s.same_operation(x, y)) return false;
        for (std::size_t o = 0; o < x.operands.size(); ++o)
          if (!same(s.resolve(x.operands[o]), s.resolve(y.operands[o]))) return false;
        pairs.emplace_back(code[n], end.body[n]);
      }
      if (arm.term == TermKind::Return || arm.term == TermKind::Reraise)
        return same(s.resolve(arm.value), s.resolve(end.value));
      if (arm.term != TermKind::Jump || !arm.edges[0].args.empty() || !end.edges[0].args.empty())
        return false;
      arm_block = arm.edges[0].to;
      end_block = end.edges[0].to;
      if (arm_block == end_block) return true;
      const Node &x = s.nodes[arm_block.index], &y = s.nodes[end_block.index];
      if (copies.size() == kSteps || x.pred_count != 1 || y.pred_count != 1 ||
          x.region != y.region || !x.params.empty() || !y.params.empty() ||
          x.body.size() != y.body.size())
        return false;
      copies.push_back(arm_block);
    }
  };
  DroppedConstants constants(s);
  SmallVector<BlockId, 64> meeting(
      s.nodes.size());  // by test: where its value meets the other operand's
  std::vector<BlockId> copies;
  bool any = false;
  for (std::size_t i = s.nodes.size(); i-- > 0;) {  // the innermost operator first
    Node& node = s.nodes[i];
    if (!node.alive || node.term != TermKind::Branch) continue;
    const ValueId tested = s.resolve(node.value);
    for (int k = 0; k < 2; ++k) {
      Edge& kept = node.edges[k];
      const BlockId to = kept.to, arm_block = node.edges[1 - k].to;
      Node &end = s.nodes[to.index], &arm = s.nodes[arm_block.index];
      if (to == arm_block || to.index >= s.lifted.blocks.size() ||
          s.lifted.blocks[to.index].stack_in.empty())
        continue;
      if (end.term != TermKind::Return && end.term != TermKind::Reraise &&
          (end.term != TermKind::Jump || end.edges[0].to == to))
        continue;
      const ValueId top = s.lifted.blocks[to.index].stack_in.back();
      const bool alone = end.params.empty() && end.pred_count == 1 && s.resolve(top) == tested;
      const bool shared = end.params.size() == 1 && s.uses[end.params[0].index] == 0 &&
                          top == end.params[0] && s.resolve(kept.args[0]) == tested;
      if ((!alone && !shared) || !arm.params.empty() || arm.region != node.region) continue;
      if (arm.term == TermKind::Branch && arm.pred_count == 1 && meeting[arm_block.index]) {
        if (shared && meeting[arm_block.index] != to) continue;
        if (alone) end.alive = false;
        kept = Edge{meeting[arm_block.index],
                    s.lifted.arena.copy(std::initializer_list<ValueId>{tested}), kept.written};
        meeting[i] = kept.to;
        any = true;
        break;
      }
      std::size_t length = arm.body.size() - std::min(arm.body.size(), end.body.size());
      if (!ends_likewise(arm_block, to, copies)) continue;
      if (length == 0) length = constants.insert(arm_block);
      ValueId other = arm.body[length - 1];
      if (is_name_store(s.at(other).op))
        other = s.resolve(s.at(other).operands[0]);  // of a walrus
      else if (s.uses[other.index] != 0)
        continue;
      if (yields_no_value(s.at(other).op, s.at(other).aux)) continue;
      if (alone) {
        end.params.push_back(s.add_param(to));
        kept.args = s.lifted.arena.copy(std::initializer_list<ValueId>{tested});
      }
      arm.body.resize(length);
      for (BlockId copy : copies) s.nodes[copy.index].alive = false;
      s.jump_with(arm, to, other);
      meeting[i] = to;
      any = true;
      break;
    }
  }
  if (!any) return;
  s.recount();
}

}  // namespace depyf
