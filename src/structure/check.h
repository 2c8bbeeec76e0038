#pragma once
#include <string_view>

#include "structure/graph.h"

namespace depyf {

/// What holds before and after every step that changes the graph; debug builds look. Throws Error.
void check_graph(Structurer& s, std::string_view step);

}  // namespace depyf
