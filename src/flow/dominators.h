#pragma once
// Orders and dominators of a graph given as adjacency lists. Lengauer and Tarjan: "A Fast Algorithm
// for Finding Dominators in a Flowgraph" (TOPLAS 1979), the simple variant: O(m log n) on any
// input, where the iterative ones are quadratic on long `match` chains.
#include <cstdint>
#include <span>
#include <vector>

namespace depyf {

/// A directed graph in compressed adjacency form; node 0 … n-1.
struct Graph {
  std::vector<std::uint32_t> offsets;  // n + 1
  std::vector<std::uint32_t> edges;
  std::uint32_t size() const { return static_cast<std::uint32_t>(offsets.size()) - 1; }
  std::span<const std::uint32_t> successors(std::uint32_t node) const {
    return {edges.data() + offsets[node], edges.data() + offsets[node + 1]};
  }
};

Graph reversed(const Graph& graph);

/// Reverse postorder of the nodes reachable from `entry`; no recursion. Successors are visited so
/// that the FIRST successor comes earlier in the order than the second where both are possible.
std::vector<std::uint32_t> reverse_postorder(const Graph& graph, std::uint32_t entry);

struct Dominators {
  std::vector<std::uint32_t> idom;    // UINT32_MAX for the entry and for unreachable nodes
  std::vector<std::uint32_t> order;   // reverse postorder
  std::vector<std::uint32_t> number;  // node -> position in order, UINT32_MAX when unreachable
  std::vector<std::uint32_t> tree_in, tree_out;  // interval numbering of the dominator tree
  bool dominates(std::uint32_t a, std::uint32_t b) const {
    return tree_in[a] <= tree_in[b] && tree_out[b] <= tree_out[a];
  }
};

Dominators dominators(const Graph& graph, std::uint32_t entry);

/// Every retreating edge (by the order) goes to a node that dominates its source.
bool is_reducible(const Graph& graph, const Dominators& dom);

}  // namespace depyf
