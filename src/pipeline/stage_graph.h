#pragma once
// The output of one stage for other programs: its text and, where it is a graph, that graph.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/pipeline.h"

namespace depyf {

struct StageGraph {
  enum class EdgeKind : std::uint8_t { Next, True, False, Exception };
  struct Edge {
    std::uint32_t from, to;
    EdgeKind kind;
  };
  std::string stage, text;
  std::vector<std::string> blocks;  // text of each; none where the stage makes no graph
  std::vector<Edge> edges;
};

/// `next`, `true`, `false` or `exception`.
std::string_view edge_word(StageGraph::EdgeKind kind);

/// `bytecode`, `flow` … `print`.
std::string_view stage_name(Stage stage);

/// As dump_stage. Throws Error where the stage or one before it does.
StageGraph dump_graph(Module& module, CodeId code, Stage stage,
                      const DecompileOptions& options = {});

/// Graphviz' language; handler edges are dashed.
std::string to_dot(const StageGraph& graph, std::string_view title);

}  // namespace depyf
