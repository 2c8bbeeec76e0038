#include "flow/dominators.h"

#include <algorithm>
#include <numeric>

#include "support/small_vector.h"

namespace depyf {

namespace {
constexpr std::uint32_t kNone = UINT32_MAX;
}

Graph reversed(const Graph& graph) {
  const std::uint32_t n = graph.size();
  Graph result;
  result.offsets.assign(n + 1, 0);
  result.edges.resize(graph.edges.size());
  for (std::uint32_t to : graph.edges) ++result.offsets[to];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  // Each node's edges are filled in from their end, which leaves the offset at their beginning.
  for (std::uint32_t from = n; from-- > 0;)
    for (std::uint32_t to : graph.successors(from)) result.edges[--result.offsets[to]] = from;
  return result;
}

std::vector<std::uint32_t> reverse_postorder(const Graph& graph, std::uint32_t entry) {
  struct Frame {
    std::uint32_t node, left;  // successors still to visit; taken from the last to the first
  };
  std::vector<std::uint32_t> order;
  order.reserve(graph.size());
  SmallVector<std::uint8_t, 256> seen(graph.size());
  SmallVector<Frame, 64> stack;
  seen[entry] = 1;
  stack.push_back({entry, static_cast<std::uint32_t>(graph.successors(entry).size())});
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.left == 0) {
      order.push_back(top.node);
      stack.pop_back();
      continue;
    }
    const std::uint32_t next = graph.successors(top.node)[--top.left];
    if (seen[next]) continue;
    seen[next] = 1;
    stack.push_back({next, static_cast<std::uint32_t>(graph.successors(next).size())});
  }
  std::reverse(order.begin(), order.end());
  return order;
}

namespace {

/// Interval numbering without walking the tree: subtree sizes from the leaves up (a node comes
/// after its dominator in reverse postorder), then each node takes the next free interval of its
/// dominator. Unreachable nodes get empty, distinct intervals.
void number_subtrees(Dominators& dom) {
  struct Interval {
    std::uint32_t size = 1, next_in = 0;
  };
  const auto n = static_cast<std::uint32_t>(dom.idom.size());
  const auto count = static_cast<std::uint32_t>(dom.order.size());
  std::vector<Interval> intervals(n);
  for (std::uint32_t i = count; i-- > 1;)
    intervals[dom.idom[dom.order[i]]].size += intervals[dom.order[i]].size;
  std::uint32_t unreachable = count + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t node = dom.order[i];
    Interval& own = intervals[node];
    if (i == 0) {
      dom.tree_in[node] = 1;
    } else {
      Interval& up = intervals[dom.idom[node]];
      dom.tree_in[node] = up.next_in;
      up.next_in += own.size;
    }
    own.next_in = dom.tree_in[node] + 1;
    dom.tree_out[node] = dom.tree_in[node] + own.size - 1;
  }
  for (std::uint32_t node = 0; count < n && node < n; ++node)
    if (dom.number[node] == kNone) dom.tree_in[node] = dom.tree_out[node] = unreachable++;
}

}  // namespace

Dominators dominators(const Graph& graph, std::uint32_t entry) {
  const std::uint32_t n = graph.size();
  Dominators dom;
  dom.idom.assign(n, kNone);
  dom.number.assign(n, kNone);
  dom.tree_in.assign(n, 0);
  dom.tree_out.assign(n, 0);
  // Semidominators need the preorder of the depth-first tree; everything below is in preorder
  // numbers.
  struct Vertex {
    std::uint32_t node, parent;
    std::uint32_t semi, label, ancestor = kNone, idom = kNone;
    std::uint32_t bucket = kNone, bucket_next = kNone;
  };
  std::vector<Vertex> vertices;
  std::vector<std::uint32_t> pre(n, kNone);
  {
    struct Frame {
      std::uint32_t node, left;
    };
    SmallVector<Frame, 64> stack;
    auto enter = [&](std::uint32_t node, std::uint32_t from) {
      const auto number = static_cast<std::uint32_t>(vertices.size());
      pre[node] = number;
      vertices.push_back({.node = node, .parent = from, .semi = number, .label = number});
      stack.push_back({node, static_cast<std::uint32_t>(graph.successors(node).size())});
    };
    vertices.reserve(n);
    dom.order.reserve(n);
    enter(entry, kNone);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.left == 0) {
        dom.order.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const std::uint32_t from = top.node;
      const std::uint32_t next = graph.successors(from)[--top.left];
      if (pre[next] == kNone) enter(next, pre[from]);
    }
    std::reverse(dom.order.begin(), dom.order.end());
  }
  const auto count = static_cast<std::uint32_t>(dom.order.size());
  for (std::uint32_t i = 0; i < count; ++i) dom.number[dom.order[i]] = i;

  const Graph back = reversed(graph);
  std::vector<std::uint32_t> path;
  auto evaluate = [&](std::uint32_t v) {
    if (vertices[v].ancestor == kNone) return v;
    path.clear();
    for (std::uint32_t u = v; vertices[vertices[u].ancestor].ancestor != kNone;
         u = vertices[u].ancestor)
      path.push_back(u);
    while (!path.empty()) {  // compress from the top down
      Vertex& u = vertices[path.back()];
      path.pop_back();
      const Vertex& above = vertices[u.ancestor];
      if (vertices[above.label].semi < vertices[u.label].semi) u.label = above.label;
      u.ancestor = above.ancestor;
    }
    return vertices[v].label;
  };
  for (std::uint32_t i = count; i-- > 1;) {
    Vertex& w = vertices[i];
    for (std::uint32_t from : back.successors(w.node)) {
      if (pre[from] == kNone) continue;
      w.semi = std::min(w.semi, vertices[evaluate(pre[from])].semi);
    }
    w.bucket_next = vertices[w.semi].bucket;
    vertices[w.semi].bucket = i;
    w.ancestor = w.parent;
    Vertex& parent = vertices[w.parent];
    for (std::uint32_t v = parent.bucket; v != kNone; v = vertices[v].bucket_next) {
      const std::uint32_t u = evaluate(v);
      vertices[v].idom = vertices[u].semi < vertices[v].semi ? u : w.parent;
    }
    parent.bucket = kNone;
  }
  for (std::uint32_t i = 1; i < count; ++i) {
    Vertex& w = vertices[i];
    if (w.idom != w.semi) w.idom = vertices[w.idom].idom;
    dom.idom[w.node] = vertices[w.idom].node;
  }
  number_subtrees(dom);
  return dom;
}

bool is_reducible(const Graph& graph, const Dominators& dom) {
  for (std::uint32_t from : dom.order)
    for (std::uint32_t to : graph.successors(from))
      if (dom.number[to] <= dom.number[from] && !dom.dominates(to, from)) return false;
  return true;
}

}  // namespace depyf
