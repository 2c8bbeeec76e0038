#pragma once
#include <string_view>

#include "structure/graph.h"

namespace depyf {

/// What holds before and after every step that changes the graph; debug builds look. Throws Error.
void check_graph(StructureGraph& s, std::string_view step);

/// These throw Error where an operation that has an effect is in no statement, or in one that a
/// jump hides, or where a value was lost on the way: an expression has a hole, or reads a
/// temporary that nothing assigns.
void check_effects(StructureGraph& s);
void check_temporaries(StructureGraph& s);

}  // namespace depyf
