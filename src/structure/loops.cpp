// Loops as the compiler lays them out, brought back to one header with one test.
#include <algorithm>
#include <unordered_set>

#include "structure/build.h"
#include "structure/copies.h"
#include "structure/graph.h"
#include "structure/operations.h"
#include "structure/steps.h"
#include "support/small_vector.h"

namespace depyf {

/// `async for`: a block that awaits the next item under a region whose handler is END_ASYNC_FOR. It
/// becomes a ForIter.
void fold_async_for(StructureGraph& s) {
  bool any = false;
  for (std::size_t i = 0; i < s.regions.size(); ++i) {
    StructRegion& region = s.regions[i];
    if (region.kind == RegionKind::Erased) continue;
    Node& handler = s.nodes[region.handler.index];
    const ValueId end = s.first_effect(handler);
    if (!s.is_op(end, Op::END_ASYNC_FOR)) continue;
    BlockId header;
    for (std::size_t b = 0; b < s.nodes.size(); ++b)
      if (s.nodes[b].alive && s.nodes[b].region == RegionId(static_cast<std::uint32_t>(i)))
        header = header ? BlockId() : BlockId(static_cast<std::uint32_t>(b));
    if (!header) continue;
    Node& node = s.nodes[header.index];
    if (node.term != TermKind::Jump) continue;
    ValueId item;
    for (ValueId v : node.body)
      if (s.is_op(v, Op::YIELD_FROM)) item = v;
    if (!item) continue;
    // What is left of the handler after END_ASYNC_FOR is what follows the loop.
    std::erase(handler.body, end);
    node.value = s.resolve(s.at(end).operands[0]);
    node.item = item;
    node.term = TermKind::ForIter;
    node.edges[1] = Edge{region.handler, {}};
    node.body.clear();
    node.async_for = true;
    // up to 3.9 a jump back leads to what sets up the handler
    if (i < s.lifted.regions.size() && s.lifted.regions[i].setup != kNoOffset)
      node.term_offset = s.lifted.regions[i].setup;
    node.region = region.parent;
    region.kind = RegionKind::Erased;
    // the rest of the handler runs after the loop, as ordinary code
    any = true;
  }
  if (any) {
    s.recount();
    s.tidy_jumps();
  }
}

/// 3.10 … 3.12 test a `while` loop's condition at its end again (compiler_while). The second test
/// becomes a jump to the first.
void join_loop_tests(StructureGraph& s) {
  if (!s.any_edge_back()) return;
  std::vector<BlockId> order = s.reverse_postorder_blocks();
  std::vector<std::uint32_t> number = s.positions(order);
  // a loop's first block with a test before it and a test after it
  SmallVector<std::uint8_t, 256> tests(s.nodes.size());
  constexpr std::uint8_t kBefore = 1, kBehind = 2;
  bool any_target = false;
  for (BlockId b : order) {
    const Node& node = s.nodes[b.index];
    if (node.term != TermKind::Branch) continue;
    for (const Edge& edge : node.edges) {
      std::uint8_t& of_target = tests[edge.to.index];
      of_target |= number[b.index] < number[edge.to.index] ? kBefore : kBehind;
      any_target |= of_target == (kBefore | kBehind);
    }
  }
  if (!any_target) return;
  std::vector<std::vector<BlockId>> preds = s.predecessors(order);
  // `if a: return`, and then a loop that ends with `if a: return`
  const auto on_other_rows = [&](BlockId first, BlockId last) {
    const std::int32_t row = s[first].term_line, again = s[last].term_line;
    return s.source_layout_tells() && row > 0 && again > 0 && row != again;
  };
  bool any = false;
  for (std::size_t next = 0; next < order.size(); ++next) {
    const BlockId target = order[next];
    const auto behind = [&](BlockId b) {
      return s.nodes[b.index].alive && s.nodes[b.index].term == TermKind::Branch &&
             number[b.index] >= number[target.index];
    };
    if (std::none_of(preds[target.index].begin(), preds[target.index].end(), behind)) continue;
    const std::vector<BlockId> into = preds[target.index];
    std::vector<BlockId> before;
    for (BlockId b : into)
      if (number[b.index] < number[target.index]) before.push_back(b);
    // Each leads to the next one, so the last is compared first.
    for (std::size_t i = into.size(); i-- > 0;) {
      const BlockId last = into[i];
      if (!behind(last)) continue;
      for (BlockId first : before) {
        if (!s.nodes[first.index].alive) continue;
        // Each test may stand at the end of a block that does other things before.
        const std::size_t length = s.test_length(last);
        if (length == 0 || length != s.test_length(first) || on_other_rows(first, last) ||
            !same_tests(s, first, last, length))
          continue;
        const BlockId test = s.split_test(first, length), copy = s.split_test(last, length);
        preds.resize(s.nodes.size());
        number.resize(s.nodes.size(), UINT32_MAX);
        for (auto [tail, head] : {std::pair(copy, last), std::pair(test, first)})
          if (tail != head) {
            preds[tail.index].push_back(head);
            for (int k = 0; k < s.nodes[tail.index].edge_count(); ++k)
              preds[s.nodes[tail.index].edges[k].to.index].push_back(tail);
          }
        for (BlockId from : preds[copy.index])
          for (int k = 0; k < s.nodes[from.index].edge_count(); ++k)
            if (s.nodes[from.index].edges[k].to == copy) {
              s.nodes[from.index].edges[k].to = test;
              preds[test.index].push_back(from);
            }
        s.nodes[copy.index].alive = false;
        s.nodes[copy.index].body.clear();
        order.push_back(test);  // the copy of a test that leads to this one leads there now, too
        any = true;
        break;
      }
    }
  }
  if (any) s.recount();
}

}  // namespace depyf
