#pragma once
// The output of one stage for other programs: its text and, where it is a graph, that graph.
#include <cstdint>
#include <span>
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

struct StageRow {
  Stage stage;
  std::string_view name;
  bool is_graph;
};

/// Every stage that a dump shows, in order: the one list of them.
std::span<const StageRow> stages();

/// `bytecode`, `flow` … `print`.
std::string_view stage_name(Stage stage);

/// As dump_stage. Throws Error where the stage or one before it does.
StageGraph dump_graph(Module& module, CodeId code, Stage stage,
                      const DecompileOptions& options = {});

/// The graph that structure() works on, after one of its steps (structure_steps()). Throws Error
/// where a stage does, or that step or one before it.
StageGraph dump_step(Module& module, CodeId code, std::string_view step,
                     const DecompileOptions& options = {});

/// Graphviz' language; handler edges are dashed.
std::string to_dot(const StageGraph& graph, std::string_view title);

}  // namespace depyf
