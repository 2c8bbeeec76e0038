// Tests inside an expression whose jump the compiler led past a test behind that expression.
#include <algorithm>
#include <initializer_list>
#include <vector>

#include "flow/dominators.h"
#include "structure/graph.h"
#include "structure/steps.h"

namespace depyf {
namespace {

class ThreadedTests {
 public:
  explicit ThreadedTests(StructureGraph& s) : s_(s) {}

  bool join() {
    const std::vector<BlockId> order = s_.reverse_postorder_blocks();
    std::vector<BlockId> merges;
    for (BlockId b : order)
      if (tests_what_meets(s_[b])) merges.push_back(b);
    if (merges.empty()) return false;
    preds_ = s_.predecessors(order);
    find_dominators();
    seen_.assign(s_.nodes.size(), UINT32_MAX);
    bool any = false;
    for (BlockId merge : merges) any = join(merge) || any;
    if (any) drop_parameters();
    return any;
  }

 private:
  /// An expression has so many blocks at most. More are not looked at.
  static constexpr std::size_t kLargest = 1024;

  /// Do values of several ways meet in the block, which does nothing but test them?
  bool tests_what_meets(const Node& node) {
    return node.alive && node.tests_value() && node.params.size() == 1 && node.body.empty() &&
           s_.resolve(node.value) == node.params[0];
  }

  void find_dominators() {
    Graph graph;
    graph.offsets.push_back(0);
    for (const Node& node : s_.nodes) {
      for (int k = 0; node.alive && k < node.edge_count(); ++k)
        graph.edges.push_back(node.edges[k].to.index);
      for (RegionId r = node.region; node.alive && r; r = s_.regions[r.index].parent)
        if (s_.regions[r.index].catches()) graph.edges.push_back(s_.regions[r.index].handler.index);
      graph.offsets.push_back(static_cast<std::uint32_t>(graph.edges.size()));
    }
    dom_ = dominators(graph, s_.entry.index);
  }

  /// The blocks between the merge and what all ways to it pass, that is, those of the expression
  /// whose value the merge tests; none where they are too many, or the merge begins a loop.
  std::vector<BlockId> expression_before(BlockId merge) {
    std::vector<BlockId> blocks;
    const std::uint32_t from = dom_.idom[merge.index];
    if (from == UINT32_MAX) return {};
    seen_[from] = merge.index;
    const auto enter = [&](BlockId b) {
      for (BlockId p : preds_[b.index])
        if (seen_[p.index] != merge.index) {
          seen_[p.index] = merge.index;
          blocks.push_back(p);
        }
    };
    enter(merge);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] == merge || blocks.size() > kLargest) return {};
      enter(blocks[i]);
    }
    return blocks;
  }

  bool join(BlockId merge) {
    bool any = false;
    for (BlockId b : expression_before(merge)) {
      Node& node = s_[b];
      if (!node.tests_value() || node.region != s_[merge].region) continue;
      for (int k = 0; k < 2; ++k) {
        if (!leads_past(node, s_[merge], k)) continue;
        passed_.push_back(node.edges[k].to);
        node.edges[k] = Edge{
            merge, s_.lifted.arena.copy(std::initializer_list<ValueId>{s_.resolve(node.value)}),
            node.edges[k].written};
        preds_[merge.index].push_back(b);
        any = true;
        break;
      }
    }
    return any;
  }

  /// Does the test lead to where the merge leads with the same outcome, and hand over the same?
  bool leads_past(const Node& node, const Node& merge, int k) {
    const Edge& edge = node.edges[k];
    if (edge.to == node.edges[1 - k].to) return false;
    const ValueId tested = s_.resolve(node.value);
    const auto is_same = [&](ValueId v, ValueId w) {
      v = s_.resolve(v);
      w = s_.resolve(w);
      return w == merge.params[0] ? v == tested : v == w;
    };
    for (Edge behind = merge.edges[k];;) {
      if (edge.to == behind.to) return std::ranges::equal(edge.args, behind.args, is_same);
      // a statement's value, dropped where its operands meet
      const Node& meets = s_[behind.to];
      if (!meets.is_plain_jump() || !meets.body.empty() || meets.params.size() != 1 ||
          s_.uses[meets.params[0].index] != 0 || !meets.edges[0].args.empty() || !edge.args.empty())
        return false;
      behind = meets.edges[0];
    }
  }

  /// What only the merge leads to now needs no parameters.
  void drop_parameters() {
    s_.count_preds();
    std::vector<std::uint8_t> handles(s_.nodes.size(), 0);
    for (const StructRegion& region : s_.regions)
      if (region.catches()) handles[region.handler.index] = 1;
    for (Node& node : s_.nodes)
      for (int k = 0; node.alive && k < node.edge_count(); ++k) {
        Edge& edge = node.edges[k];
        Node& to = s_[edge.to];
        if (std::ranges::find(passed_, edge.to) == passed_.end() || to.pred_count != 1 ||
            handles[edge.to.index])
          continue;
        for (std::size_t i = 0; i < to.params.size(); ++i)
          s_.replace_by(to.params[i], s_.resolve(edge.args[i]));
        to.params.clear();
        edge.args = {};
      }
  }

  StructureGraph& s_;
  std::vector<std::vector<BlockId>> preds_;
  Dominators dom_;
  std::vector<std::uint32_t> seen_;  // by block: the merge for which it was last visited
  std::vector<BlockId> passed_;      // where the redirected jumps led
};

}  // namespace

/// `(x if q else z and y) or w`: when z is false the value is tested again behind the conditional
/// expression, with a known outcome, so that the compiler leads the jump past that test
/// (flowgraph.c, jump threading). It becomes a jump to the test again. Only expressions have values
/// of several ways to test, and only such a jump leads from one way past the place where they meet.
void join_threaded_tests(StructureGraph& s) {
  if (s.options.made_by_dynamo) return;
  if (ThreadedTests(s).join()) s.recount();
}

}  // namespace depyf
