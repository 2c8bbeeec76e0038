#pragma once
// Comprehensions that are part of the code around them (3.12+), before they are folded.
#include "structure/graph.h"

namespace depyf {

/// Where control goes on behind a comprehension with variables that follows the block, and behind
/// those after it; the block itself where none follows. Nothing else leads there.
BlockId behind_comprehensions(StructureGraph& s, BlockId block);

/// Does the store give a variable back that a comprehension hid?
bool gives_back(StructureGraph& s, ValueId store);

}  // namespace depyf
