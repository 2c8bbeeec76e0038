#pragma once
// Blocks that do nothing but lead on.
#include "structure/graph.h"

namespace depyf {

/// The first block, from `b` on, that is no jump past which `empty` says to go.
template <class Empty>
BlockId past_jumps(const StructureGraph& s, BlockId b, Empty empty) {
  for (int steps = 0; steps < kMostHops; ++steps) {
    const Node& node = s.nodes[b.index];
    if (node.term != TermKind::Jump || !empty(node)) break;
    b = node.edges[0].to;
  }
  return b;
}

}  // namespace depyf
