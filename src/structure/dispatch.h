#pragma once
// A dispatch loop for a part of the graph.
#include <span>
#include <vector>

#include "structure/graph.h"

namespace depyf {

struct DispatchedPart {
  std::vector<StmtId> statements;
  // by exit
  std::vector<ExprId> left_by;              // after the statements: did control leave there?
  std::vector<std::vector<StmtId>> forget;  // drops the names of the loop; perhaps nothing
};

/// Of what control reaches from the entry before one of `exits`, which are empty blocks that no
/// running handler leads to. Throws Error where a block has no form.
DispatchedPart dispatch_part(StructureGraph& s, std::span<const BlockId> exits);

}  // namespace depyf
