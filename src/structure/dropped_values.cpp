// Statements that are expressions with control flow inside: their operands meet again.
#include <algorithm>

#include "structure/build.h"
#include "structure/comprehensions.h"
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

/// Finds where the operands of a statement that is an expression meet again.
class Joiner {
 public:
  explicit Joiner(StructureGraph& s) : s_(s), constants_(s), meeting_(s.nodes.size()) {}

  void run() {
    find_choices();
    bool any = false;
    for (std::size_t i = meeting_.size(); i-- > 0;) {  // the innermost operator first
      if (!s_.nodes[i].alive || s_.nodes[i].term != TermKind::Branch) continue;
      // Where both ways only drop the value, the one that the test jumps is short for the other.
      const int jumps = s_.nodes[i].falls == 0 ? 1 : 0;
      any |= join_operands(i, jumps) || join_operands(i, 1 - jumps) || join_choice(i);
    }
    if (any) s_.recount();
  }

 private:
  /// Does the arm end in a copy of the block's last `count` operations, and of a few blocks after
  /// it? The end of a handler lies after its protected code. `copies_`: those of the blocks after
  /// it.
  bool ends_likewise(BlockId arm_block, BlockId end_block, std::size_t count) {
    constexpr std::size_t kSteps = 4;
    copies_.clear();
    std::vector<std::pair<ValueId, ValueId>> pairs;  // of the arm and of the end
    for (;;) {
      const Node &arm = s_.nodes[arm_block.index], &end = s_.nodes[end_block.index];
      if (arm.term != end.term || arm.jump != end.jump || arm.body.size() < count ||
          end.body.size() < count)
        return false;
      const auto code = std::span(arm.body).last(count), likewise = std::span(end.body).last(count);
      const auto same = [&](ValueId x, ValueId y) {
        return x == y || std::find(pairs.begin(), pairs.end(), std::pair(x, y)) != pairs.end();
      };
      for (std::size_t n = 0; n < code.size(); ++n) {
        const Value &x = s_.at(code[n]), &y = s_.at(likewise[n]);
        if (!s_.same_operation(x, y)) return false;
        for (std::size_t o = 0; o < x.operands.size(); ++o)
          if (!same(s_.resolve(x.operands[o]), s_.resolve(y.operands[o]))) return false;
        pairs.emplace_back(code[n], likewise[n]);
      }
      if (arm.term == TermKind::Return || arm.term == TermKind::Reraise)
        return same(s_.resolve(arm.value), s_.resolve(end.value));
      if (arm.term == TermKind::Raise)
        return std::ranges::equal(arm.raise_args, end.raise_args, [&](ValueId x, ValueId y) {
          return same(s_.resolve(x), s_.resolve(y));
        });
      if (arm.term != TermKind::Jump || !arm.edges[0].args.empty() || !end.edges[0].args.empty())
        return false;
      arm_block = arm.edges[0].to;
      end_block = end.edges[0].to;
      if (arm_block == end_block) return true;
      if (past_jump(arm_block) == past_jump(end_block)) return true;
      const Node &x = s_.nodes[arm_block.index], &y = s_.nodes[end_block.index];
      if (copies_.size() == kSteps || x.pred_count != 1 || y.pred_count != 1 ||
          x.region != y.region || !x.params.empty() || !y.params.empty() ||
          x.body.size() != y.body.size())
        return false;
      copies_.push_back(arm_block);
      count = y.body.size();
    }
  }

  /// Where the block leads that only jumps, as out of protected code; else itself.
  BlockId past_jump(BlockId b) const {
    const Node& node = s_.nodes[b.index];
    const bool only = node.is_plain_jump() && node.body.empty() && node.params.empty();
    return only && node.edges[0].args.empty() ? node.edges[0].to : b;
  }

  /// What the arm's first `length` operations leave for a statement to drop; none where they do
  /// anything else.
  ValueId dropped_by(BlockId arm, std::size_t length) {
    const ValueId last = s_[arm].body[length - 1];
    ValueId dropped = last;
    if (gives_back(s_, last))
      dropped = s_.lifted.blocks[arm.index].stack_in.back();  // the comprehension itself
    else if (is_name_store(s_.at(last).op))
      dropped = s_.resolve(s_.at(last).operands[0]);  // of a walrus
    else if (s_.uses[last.index] != 0)
      return ValueId();
    return yields_no_value(s_.at(dropped).op, s_.at(dropped).aux) ? ValueId() : dropped;
  }

  /// Up to there a value may be handed on that the block drops, `a` in `a and b or c()`.
  bool reads_params(const Node& arm) const {
    return std::ranges::any_of(arm.params, [&](ValueId p) { return s_.uses[p.index] != 0; });
  }

  /// `a and b()`, whose test leaves its value on the stack of way `k`.
  bool join_operands(std::size_t i, int k) {
    Node& node = s_.nodes[i];
    const ValueId tested = s_.resolve(node.value);
    Edge& kept = node.edges[k];
    const BlockId to = kept.to, other_way = node.edges[1 - k].to;
    if (to == other_way || to.index >= s_.lifted.blocks.size() ||
        s_.lifted.blocks[to.index].stack_in.empty())
      return false;
    const BlockId arm_block = behind_comprehensions(s_, other_way);
    Node &end = s_.nodes[to.index], &arm = s_.nodes[arm_block.index];
    if (end.term != TermKind::Return && end.term != TermKind::Reraise &&
        (end.term != TermKind::Jump || end.edges[0].to == to))
      return false;
    const ValueId top = s_.lifted.blocks[to.index].stack_in.back();
    const bool alone = end.params.empty() && end.pred_count == 1 && s_.resolve(top) == tested;
    const bool shared = end.params.size() == 1 && s_.uses[end.params[0].index] == 0 &&
                        top == end.params[0] && s_.resolve(kept.args[0]) == tested;
    if ((!alone && !shared) || arm.region != node.region) return false;
    if (!arm.params.empty() && (end.term != TermKind::Reraise || reads_params(arm))) return false;
    const bool continues = arm.pred_count == 1 || !arm.params.empty();
    if (arm.term == TermKind::Branch && continues && meeting_[arm_block.index]) {
      if (shared && meeting_[arm_block.index] != to) return false;
      if (alone) end.alive = false;
      kept = Edge{meeting_[arm_block.index],
                  s_.lifted.arena.copy(std::initializer_list<ValueId>{tested}), kept.written};
      meeting_[i] = kept.to;
      return true;
    }
    std::size_t length = arm.body.size() - std::min(arm.body.size(), end.body.size());
    if (!ends_likewise(arm_block, to, end.body.size())) return false;
    if (length == 0) length = constants_.insert(arm_block);
    const ValueId other = dropped_by(arm_block, length);
    if (!other) return false;
    if (alone) {
      end.params.push_back(s_.add_param(to));
      kept.args = s_.lifted.arena.copy(std::initializer_list<ValueId>{tested});
    }
    arm.body.resize(length);
    for (BlockId copy : copies_) s_.nodes[copy.index].alive = false;
    s_.jump_with(arm, to, other);
    meeting_[i] = to;
    return true;
  }

  /// How many operations of the arm end with a comprehension whose value is still on the stack when
  /// its variables are given back, and then dropped; 0: none. From 3.13 on the compiler drops the
  /// value of a statement before that, and gives back the variable last that it cleared last.
  std::size_t keeps_comprehension(BlockId arm) {
    const std::vector<ValueId>& body = s_[arm].body;
    std::size_t end = body.size();
    while (end > 0 && !gives_back(s_, body[end - 1])) --end;
    std::size_t first = end;
    while (first > 0 && gives_back(s_, body[first - 1])) --first;
    if (end - first < 2 || !s_.module.version.drops_repeated_stores()) return 0;
    const auto variable = [&](std::size_t n) { return s_.resolve(s_.at(body[n]).operands[0]); };
    return variable(end - 1) < variable(first) ? end : 0;
  }

  /// Where such a comprehension meets another value, both of which the statement drops.
  void find_choices() {
    if (!s_.module.version.drops_repeated_stores()) return;
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i) {
      const Node& arm = s_.nodes[i];
      if (!arm.alive || arm.term != TermKind::Jump || arm.edges[0].args.size() != 1) continue;
      Node& end = s_[arm.edges[0].to];
      if (end.params.size() == 1 && s_.uses[end.params[0].index] == 0 &&
          keeps_comprehension(BlockId(i)) == arm.body.size() && !arm.body.empty())
        end.drops_choice = true;
    }
  }

  /// `a() if b else [x for x, y in c]`: of the operands of a conditional expression only such a
  /// comprehension tells that they are no statements.
  bool join_choice(std::size_t i) {
    BlockId arms[2];
    for (int k = 0; k < 2; ++k) {
      arms[k] = behind_comprehensions(s_, s_.nodes[i].edges[k].to);
      const Node& arm = s_[arms[k]];
      if (!arm.params.empty() || arm.region != s_.nodes[i].region) return false;
    }
    if (arms[0] == arms[1]) return false;
    for (int k = 0; k < 2; ++k) {
      const std::size_t length = keeps_comprehension(arms[k]);
      if (length == 0 || !join_arm(arms[k], length, arms[1 - k])) continue;
      meeting_[i] = s_[arms[k]].edges[0].to;
      return true;
    }
    return false;
  }

  /// Leads what the arm's first `length` operations leave to where the value of `other` meets, or
  /// makes that block.
  bool join_arm(BlockId arm, std::size_t length, BlockId other) {
    const bool tests = s_[other].term == TermKind::Branch;
    BlockId end = tests ? meeting_[other.index] : other;
    const std::size_t tail = s_[arm].body.size() - length;
    const ValueId value = dropped_by(arm, length);
    if (!end || !value || (tests && s_[end].body.size() != tail) || !ends_likewise(arm, end, tail))
      return false;
    if (!tests) {
      std::size_t kept = s_[other].body.size() - tail;
      if (kept == 0) kept = constants_.insert(other);
      const ValueId beside = dropped_by(other, kept);
      if (!beside) return false;
      end = s_.split_off(other, kept);
      s_[end].params.push_back(s_.add_param(end));
      s_.jump_with(s_[other], end, beside);
    }
    for (BlockId copy : copies_) s_[copy].alive = false;
    s_[arm].body.resize(length);
    s_.jump_with(s_[arm], end, value);
    s_[end].drops_choice = true;
    return true;
  }

  StructureGraph& s_;
  DroppedConstants constants_;
  SmallVector<BlockId, 64> meeting_;  // by test: where its value meets the other operand's
  std::vector<BlockId> copies_;
};

}  // namespace

/// `a and b()` as the last statement of a function: 3.10+ copies the end of the function to each
/// way (duplicate_exits_without_lineno), so that the operands no longer meet; 3.10 copies any short
/// end, 3.13+ the way back to a loop's start. Where a test leaves its value on the stack of an end
/// that does not read it, the other operand's copy becomes a jump there.
void join_dropped_values(StructureGraph& s) {
  if (!s.options.made_by_dynamo) Joiner(s).run();
}

}  // namespace depyf
