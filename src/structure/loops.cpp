// Loops as the compiler lays them out, brought back to one header with one test.
#include <algorithm>
#include <unordered_set>

#include "structure/build.h"
#include "structure/copies.h"
#include "structure/graph.h"
#include "structure/operations.h"
#include "support/small_vector.h"

namespace depyf {

/// `async for`: a block that awaits the next item under a region whose handler is END_ASYNC_FOR. It
/// becomes a ForIter.
void Structurer::fold_async_for() {
  bool any = false;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    StructRegion& region = regions[i];
    if (region.kind == RegionKind::Erased) continue;
    Node& handler = nodes[region.handler.index];
    ValueId end;
    for (ValueId v : handler.body)
      if (!is_const(v)) {
        end = v;
        break;
      }
    if (!is_op(end, Op::END_ASYNC_FOR)) continue;
    BlockId header;
    for (std::size_t b = 0; b < nodes.size(); ++b)
      if (nodes[b].alive && nodes[b].region == RegionId(static_cast<std::uint32_t>(i)))
        header = header ? BlockId() : BlockId(static_cast<std::uint32_t>(b));
    if (!header) continue;
    Node& node = nodes[header.index];
    if (node.term != TermKind::Jump) continue;
    ValueId item;
    for (ValueId v : node.body)
      if (is_op(v, Op::YIELD_FROM)) item = v;
    if (!item) continue;
    // What is left of the handler after END_ASYNC_FOR is what follows the loop.
    std::erase(handler.body, end);
    node.value = resolve(at(end).operands[0]);
    node.item = item;
    node.term = TermKind::ForIter;
    node.edges[1] = Edge{region.handler, {}};
    node.body.clear();
    node.async_for = true;
    node.region = region.parent;
    region.kind = RegionKind::Erased;
    // the rest of the handler runs after the loop, as ordinary code
    any = true;
  }
  if (any) {
    recount();
    tidy_jumps();
  }
}

/// Are the last `length` operations of the two blocks, and what they decide, the same?
bool Structurer::same_tests(BlockId a, BlockId b, std::size_t length) {
  const Node &x = nodes[a.index], &y = nodes[b.index];
  if (x.region != y.region || length > kMostCompared) return false;
  for (int k = 0; k < 2; ++k)
    if (!x.edges[k].args.empty() || !y.edges[k].args.empty() ||
        (x.edges[k].to != y.edges[k].to && !same_exit(x.edges[k].to, y.edges[k].to)))
      return false;
  CopiedRun tests(*this, x, y, length);
  const auto same = [&](ValueId v, ValueId w) {
    return at(v).kind == ValueKind::Select && at(w).kind == ValueKind::Select
               ? same_select(v, w)
               : same_operation(at(v), at(w));
  };
  return tests.same_operations(same) && tests.same_value(x.value, y.value);
}

/// How many operations at the end of a block make up its condition; 0 when the block ends in none.
std::size_t Structurer::test_length(BlockId b) {
  const Node& node = nodes[b.index];
  if (node.term != TermKind::Branch) return 0;
  std::unordered_set<std::uint32_t> needed{resolve(node.value).index};
  std::size_t length = 0;
  for (std::size_t i = node.body.size(); i > 0; --i) {
    const ValueId v = node.body[i - 1];
    const Value& value = at(v);
    // a walrus: the store of a value that the test uses too
    const bool walrus = value.kind == ValueKind::Operation && is_name_store(value.op) &&
                        needed.count(resolve(value.operands[0]).index) != 0;
    if (needed.erase(v.index) == 0 && !walrus) break;
    for (ValueId operand : value.operands)
      if (const ValueId o = resolve(operand)) needed.insert(o.index);
    ++length;
  }
  return length;
}

/// 3.10 … 3.12 test a `while` loop's condition at its end again (compiler_while). The second test
/// becomes a jump to the first.
void Structurer::join_loop_tests() {
  if (!any_edge_back()) return;
  std::vector<BlockId> order = reverse_postorder_blocks();
  std::vector<std::uint32_t> number(nodes.size(), UINT32_MAX);
  for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i].index] = i;
  // a loop's first block with a test before it and a test after it
  SmallVector<std::uint8_t, 256> tests(nodes.size());
  constexpr std::uint8_t kBefore = 1, kBehind = 2;
  bool any_target = false;
  for (BlockId b : order) {
    const Node& node = nodes[b.index];
    if (node.term != TermKind::Branch) continue;
    for (const Edge& edge : node.edges) {
      std::uint8_t& of_target = tests[edge.to.index];
      of_target |= number[b.index] < number[edge.to.index] ? kBefore : kBehind;
      any_target |= of_target == (kBefore | kBehind);
    }
  }
  if (!any_target) return;
  std::vector<std::vector<BlockId>> preds(nodes.size());
  for (BlockId b : order)
    for (int k = 0; k < nodes[b.index].edge_count(); ++k)
      preds[nodes[b.index].edges[k].to.index].push_back(b);
  bool any = false;
  for (BlockId target : order) {
    const auto behind = [&](BlockId b) {
      return nodes[b.index].alive && nodes[b.index].term == TermKind::Branch &&
             number[b.index] >= number[target.index];
    };
    if (std::none_of(preds[target.index].begin(), preds[target.index].end(), behind)) continue;
    const std::vector<BlockId> into = preds[target.index];
    std::vector<BlockId> before;
    for (BlockId b : into)
      if (number[b.index] < number[target.index]) before.push_back(b);
    for (BlockId last : into) {
      if (!behind(last)) continue;
      for (BlockId first : before) {
        if (!nodes[first.index].alive) continue;
        // Each test may stand at the end of a block that does other things before.
        const std::size_t length = test_length(last);
        if (length == 0 || length != test_length(first) || !same_tests(first, last, length))
          continue;
        const BlockId test = split_test(first, length), copy = split_test(last, length);
        preds.resize(nodes.size());
        number.resize(nodes.size(), UINT32_MAX);
        for (auto [tail, head] : {std::pair(copy, last), std::pair(test, first)})
          if (tail != head) {
            preds[tail.index].push_back(head);
            for (int k = 0; k < nodes[tail.index].edge_count(); ++k)
              preds[nodes[tail.index].edges[k].to.index].push_back(tail);
          }
        for (BlockId from : preds[copy.index])
          for (int k = 0; k < nodes[from.index].edge_count(); ++k)
            if (nodes[from.index].edges[k].to == copy) {
              nodes[from.index].edges[k].to = test;
              preds[test.index].push_back(from);
            }
        nodes[copy.index].alive = false;
        nodes[copy.index].body.clear();
        any = true;
        break;
      }
    }
  }
  if (any) recount();
}

/// The last `length` operations of block `b` and its branch as a block of their own; `b` itself
/// when there is nothing before them.
BlockId Structurer::split_test(BlockId b, std::size_t length) {
  if (nodes[b.index].body.size() == length && nodes[b.index].params.empty()) return b;
  ++changes;
  return split_off(b, nodes[b.index].body.size() - length);
}

BlockId Structurer::split_off(BlockId b, std::size_t from) {
  Node tail = nodes[b.index];
  tail.body.erase(tail.body.begin(), tail.body.begin() + static_cast<std::ptrdiff_t>(from));
  tail.params.clear();
  const BlockId id(static_cast<std::uint32_t>(nodes.size()));
  for (ValueId v : tail.body) lifted.values[v.index].block = id;
  nodes.push_back(std::move(tail));
  nodes[b.index].body.resize(from);
  nodes[b.index].jump_to(id);
  return id;
}

}  // namespace depyf
