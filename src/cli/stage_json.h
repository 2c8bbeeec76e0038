#pragma once
#include <cstdint>
#include <string>

#include "pipeline/stage_graph.h"

namespace depyf::cli {

/// One line: {"file", "code", "line", "stage", "text"} and for graphs "blocks" and "edges"; "error"
/// in their place where the stage failed.
std::string stage_json(const StageGraph& graph, const std::string& file, const std::string& code,
                       std::uint32_t line, const std::string& failure);

}  // namespace depyf::cli
