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
  for (std::uint32_t to : graph.edges) ++result.offsets[to + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  std::vector<std::uint32_t> at(result.offsets.begin(), result.offsets.end() - 1);
  for (std::uint32_t from = 0; from < n; ++from)
    for (std::uint32_t to : graph.successors(from)) result.edges[at[to]++] = from;
  return result;
}

std::vector<std::uint32_t> reverse_postorder(const Graph& graph, std::uint32_t entry) {
  struct Frame {
    std::uint32_t node, left;  // successors still to visit; taken from the last to the first
  };
  std::vector<std::uint32_t> order;
  order.reserve(graph.size());
  std::vector<bool> seen(graph.size(), false);
  SmallVector<Frame, 64> stack;
  seen[entry] = true;
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
    seen[next] = true;
    stack.push_back({next, static_cast<std::uint32_t>(graph.successors(next).size())});
  }
  std::reverse(order.begin(), order.end());
  return order;
}

Dominators dominators(const Graph& graph, std::uint32_t entry) {
  const std::uint32_t n = graph.size();
  Dominators dom;
  dom.idom.assign(n, kNone);
  dom.number.assign(n, kNone);
  dom.tree_in.assign(n, 0);
  dom.tree_out.assign(n, 0);
  // Semidominators need the preorder of the depth-first tree; everything below is in preorder numbers.
  std::vector<std::uint32_t> pre(n, kNone), vertex, parent;
  {
    struct Frame {
      std::uint32_t node, left;
    };
    SmallVector<Frame, 64> stack;
    auto enter = [&](std::uint32_t node, std::uint32_t from) {
      pre[node] = static_cast<std::uint32_t>(vertex.size());
      vertex.push_back(node);
      parent.push_back(from);
      stack.push_back({node, static_cast<std::uint32_t>(graph.successors(node).size())});
    };
    vertex.reserve(n);
    parent.reserve(n);
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
  std::vector<std::uint32_t> semi(count), label(count), ancestor(count, kNone), idom(count, kNone);
  std::iota(semi.begin(), semi.end(), 0u);
  std::iota(label.begin(), label.end(), 0u);
  std::vector<std::uint32_t> bucket(count, kNone), bucket_next(count, kNone), path;
  auto evaluate = [&](std::uint32_t v) {
    if (ancestor[v] == kNone) return v;
    path.clear();
    for (std::uint32_t u = v; ancestor[ancestor[u]] != kNone; u = ancestor[u]) path.push_back(u);
    while (!path.empty()) {  // compress from the top down
      const std::uint32_t u = path.back();
      path.pop_back();
      const std::uint32_t above = ancestor[u];
      if (semi[label[above]] < semi[label[u]]) label[u] = label[above];
      ancestor[u] = ancestor[above];
    }
    return label[v];
  };
  for (std::uint32_t w = count; w-- > 1;) {
    for (std::uint32_t from : back.successors(vertex[w])) {
      if (pre[from] == kNone) continue;
      semi[w] = std::min(semi[w], semi[evaluate(pre[from])]);
    }
    bucket_next[w] = bucket[semi[w]];
    bucket[semi[w]] = w;
    const std::uint32_t p = parent[w];
    ancestor[w] = p;
    for (std::uint32_t v = bucket[p]; v != kNone; v = bucket_next[v]) {
      const std::uint32_t u = evaluate(v);
      idom[v] = semi[u] < semi[v] ? u : p;
    }
    bucket[p] = kNone;
  }
  for (std::uint32_t w = 1; w < count; ++w) {
    if (idom[w] != semi[w]) idom[w] = idom[idom[w]];
    dom.idom[vertex[w]] = vertex[idom[w]];
  }

  // Interval numbering without walking the tree: subtree sizes from the leaves up (a node comes after its dominator in reverse
  // postorder), then each node takes the next free interval of its dominator. Unreachable nodes get empty, distinct intervals.
  std::vector<std::uint32_t> size(n, 1), next_in(n, 0);
  for (std::uint32_t i = count; i-- > 1;) size[dom.idom[dom.order[i]]] += size[dom.order[i]];
  std::uint32_t unreachable = count + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t node = dom.order[i];
    if (i == 0) {
      dom.tree_in[node] = 1;
    } else {
      const std::uint32_t up = dom.idom[node];
      dom.tree_in[node] = next_in[up];
      next_in[up] += size[node];
    }
    next_in[node] = dom.tree_in[node] + 1;
    dom.tree_out[node] = dom.tree_in[node] + size[node] - 1;
  }
  for (std::uint32_t node = 0; node < n; ++node)
    if (dom.number[node] == kNone) dom.tree_in[node] = dom.tree_out[node] = unreachable++;
  return dom;
}

bool is_reducible(const Graph& graph, const Dominators& dom) {
  for (std::uint32_t from : dom.order)
    for (std::uint32_t to : graph.successors(from))
      if (dom.number[to] <= dom.number[from] && !dom.dominates(to, from)) return false;
  return true;
}

}  // namespace depyf
