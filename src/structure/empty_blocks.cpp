// Blocks that only jump: what leads there leads on.
#include <algorithm>

#include "structure/copies.h"
#include "structure/graph.h"
#include "support/small_vector.h"

namespace depyf {

namespace {

/// An empty block that only jumps is skipped. Kept: a block that stands before a protected region
/// and is entered more than once, because it tells a `try` inside a loop from a loop inside a
/// `try`; and where the operands of an expression meet whose value is dropped.
class EmptyBlocks {
 public:
  explicit EmptyBlocks(StructureGraph& s) : s_(s), empties_(s.nodes.size()) {}

  bool skip() {
    bool none = true;
    for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
      empties_[i] = is_empty(s_.nodes[i]);
      none &= !empties_[i];
    }
    if (none) return false;
    find_dropped_operands();
    keep_continues();
    bool any = false;
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i)
      for (int k = 0; s_.nodes[i].alive && k < s_.nodes[i].edge_count(); ++k)
        for (int steps = 0; steps < kMostHops && may_skip(s_.nodes[i], k); ++steps) {
          skip(i, k);
          any = true;
        }
    if (!unclear_.empty()) std::sort(statements_.begin(), statements_.end());
    for (const Unclear& u : unclear_)
      if (Edge& edge = s_.nodes[u.node].edges[u.k];
          !edge.written && s_.nodes[u.node].alive &&
          std::binary_search(statements_.begin(), statements_.end(), u.empty))
        edge.written = u.jump;
    return any;
  }

 private:
  struct Unclear {
    std::uint32_t node;
    int k;
    BlockId empty;
    WrittenJump jump;
  };

  /// With the drop of a loop's iterator, which marks the loop's end: no mark is needed where other
  /// ways lead there too, see may_skip().
  bool is_empty(const Node& node) const {
    return node.is_plain_jump() && std::all_of(node.body.begin(), node.body.end(),
                                               [&](ValueId v) { return s_.is_op(v, Op::POP_TOP); });
  }

  void find_dropped_operands() {
    if (s_.options.made_by_dynamo) return;
    for (const Node& node : s_.nodes) {
      if (node.term != TermKind::Branch || !node.alive) continue;
      for (const Edge& edge : node.edges)
        for (std::size_t i = 0; i < edge.args.size(); ++i)
          if (s_.resolve(edge.args[i]) == s_.resolve(node.value) &&
              s_.uses[s_[edge.to].params[i].index] == 0)
            drops_operands_.push_back(edge.to);
    }
    std::sort(drops_operands_.begin(), drops_operands_.end());
  }

  /// `continue` behind a compound statement is the end of it that all its ways lead to. Its row,
  /// and from 3.11 on its columns, tell it from the end of the loop's body.
  void keep_continues() {
    if (!s_.source_layout_tells() || s_.lifted.traits.source_order) return;
    struct Ways {
      std::int32_t last = 0;             // the last row of what leads there
      std::uint32_t begin = UINT32_MAX;  // and the least offset
      bool known = true;
      std::uint32_t behind = 0;  // how many are more than the arm of a test,
      bool handled = true;       // and does each of these leave a handler?
    };
    FlatMap<Ways> found;
    for (const Node& node : s_.nodes) {
      if (!node.alive) continue;
      for (int k = 0; k < node.edge_count(); ++k) {
        const BlockId to = node.edges[k].to;
        if (!empties_[to.index] || !s_[to].body.empty() || !s_.is_written_continue(s_[to]))
          continue;
        const std::int32_t row = node.term == TermKind::Jump && !node.body.empty()
                                     ? s_.at(node.body.back()).line
                                     : node.term_line;
        Ways& ways = found[to.index];
        ways.known &= row > 0 && (s_[to].term_columns != 0 || !may_clean_up(node.region, s_[to]));
        ways.begin = std::min(
            ways.begin, node.body.empty() ? node.term_offset : s_.at(node.body.front()).offset);
        ways.last = std::max(ways.last, row);
        if (node.term == TermKind::Branch ||
            (node.term == TermKind::Jump && s_.are_quiet(node.body)))
          continue;
        ways.behind += node.term == TermKind::ForIter ? 2 : 1;
        ways.handled &= leaves_handler(node, s_[to].region);
      }
    }
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i) {
      const Ways* const ways = found.at(i);
      Node& node = s_.nodes[i];
      if (!ways || !ways->known || s_[BlockId(i)].pred_count + ways->behind < 3 || ways->handled ||
          ways->last >= node.term_line || s_.first_offset(node.edges[0].to) > ways->begin)
        continue;
      node.jump = JumpRole::Continue;
      empties_[i] = false;
    }
  }

  /// Rows without columns do not tell a `continue` from the body of a `finally`.
  bool may_clean_up(RegionId from, const Node& empty) const {
    if (empty.behind_copy) return true;
    for (; from; from = s_.regions[from.index].parent) {
      if (s_.regions[from.index].kind == RegionKind::Finally) return true;
      if (from == empty.region) return false;
    }
    return false;
  }

  /// Does the block end a handler, also by unbinding the name of `except … as name`?
  bool leaves_handler(const Node& node, RegionId to) const {
    const std::size_t size = node.body.size();
    if (size > 1 && deletes_stored(s_.at(node.body[size - 2]), s_.at(node.body[size - 1])))
      return true;
    for (RegionId from = node.region; from && !s_.is_ancestor(from, to);
         from = s_.regions[from.index].parent)
      if (s_.regions[from.index].kind == RegionKind::Scope) return true;
    return false;
  }

  bool may_skip(const Node& node, int k) {
    const BlockId to = node.edges[k].to;
    if (!empties_[to.index] || to == s_.entry) return false;
    const Node& empty = s_[to];
    const BlockId behind = empty.edges[0].to;
    const Node& target = s_[behind];
    if (behind == to || empty.drops_choice || (!empty.body.empty() && target.pred_count < 2) ||
        std::binary_search(drops_operands_.begin(), drops_operands_.end(), to))
      return false;
    if (target.region != empty.region && s_.is_ancestor(empty.region, target.region)) {
      if (empty.pred_count > 1) return false;
      // out of the region and back into it, past no copy of what a `finally` or `with` does
      RegionId entered = target.region;
      while (s_.regions[entered.index].parent != empty.region)
        entered = s_.regions[entered.index].parent;
      if (s_.is_ancestor(entered, node.region) &&
          (!cleans_up(s_.regions[entered.index].kind) || empty.behind_copy))
        return false;
    }
    // all that a statement protects: `with a: pass`
    if (empty.region && s_.regions[empty.region.index].kind != RegionKind::Scope &&
        !s_.is_ancestor(empty.region, node.region) && !s_.is_ancestor(empty.region, target.region))
      return false;
    return std::all_of(empty.params.begin(), empty.params.end(), [&](ValueId param) {
      std::uint32_t passed_on = 0;
      for (ValueId arg : empty.edges[0].args) passed_on += s_.resolve(arg) == param;
      return s_.uses[param.index] == passed_on;
    });
  }

  void skip(std::uint32_t i, int k) {
    const Node& node = s_.nodes[i];
    Edge& edge = s_.nodes[i].edges[k];
    const BlockId skipped = edge.to;
    Node& empty = s_[skipped];
    SmallVector<ValueId, 8> args;
    for (ValueId arg : empty.edges[0].args) {
      ValueId v = s_.resolve(arg);
      const auto param = std::find(empty.params.begin(), empty.params.end(), v);
      if (param != empty.params.end())
        v = s_.resolve(edge.args[static_cast<std::size_t>(param - empty.params.begin())]);
      args.push_back(v);
    }
    s_.add_edge_uses(edge, -1);
    const BlockId to = empty.edges[0].to;
    --empty.pred_count;
    edge = Edge{to, s_.lifted.arena.copy(args), written_jump(node, k, skipped, i)};
    s_.add_edge_uses(edge, 1);
    ++s_[to].pred_count;
    if (empty.pred_count == 0) {
      s_.add_edge_uses(empty.edges[0], -1);
      --s_[to].pred_count;
      empty.alive = false;
    }
  }

  /// A jump right after a test, of another line, is a statement of its own; so is one of that line
  /// whose columns are those of a `continue`.
  WrittenJump written_jump(const Node& node, int k, BlockId skipped, std::uint32_t i) {
    const Node& empty = s_[skipped];
    const WrittenJump known = node.edges[k].written;
    if (!known && node.term == TermKind::Jump && node.term_line > 0 &&
        empty.term_line > node.term_line && s_.is_written_continue(empty))
      return {empty.term_line, empty.term_offset, empty.term_columns, empty.leads_ahead};
    if (known || node.term != TermKind::Branch || node.term_line <= 0 ||
        empty.term_offset <= node.term_offset)
      return known;
    if (empty.term_line == node.term_line &&
        (empty.term_columns == node.term_columns || empty.term_columns == 0 ||
         !s_.is_written_continue(empty)))
      return known;
    const std::uint32_t other = s_.first_offset(node.edges[1 - k].to);
    const WrittenJump jump{empty.term_line, empty.term_offset, empty.term_columns,
                           empty.leads_ahead};
    if (other > empty.term_offset || other <= node.term_offset ||
        is_jump_width(empty.term_columns)) {
      statements_.push_back(skipped);
      return jump;
    }
    unclear_.push_back({i, k, skipped, jump});
    return known;
  }

  StructureGraph& s_;
  SmallVector<bool, 256> empties_;
  SmallVector<BlockId, 16> drops_operands_;
  std::vector<Unclear> unclear_;         // ways past a jump that may be a statement,
  SmallVector<BlockId, 16> statements_;  // which another way tells
};

}  // namespace

bool StructureGraph::thread_empty_blocks() {
  const bool any = EmptyBlocks(*this).skip();
  if (any) ++changes;
  return any;
}

}  // namespace depyf
