#include "pipeline/stage_graph.h"

#include <algorithm>

#include "pipeline/front.h"
#include "structure/steps.h"

namespace depyf {

namespace {

/// The text of each block, from a stage's text form: a block is a line that begins with b, and the
/// indented lines below it.
std::vector<std::string> blocks_of(std::string_view text) {
  std::vector<std::string> blocks;
  for (bool inside = false; !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    if (line[0] != ' ') inside = line[0] == 'b';
    if (inside && line[0] != ' ') blocks.emplace_back();
    if (inside) blocks.back() += line;
    text.remove_prefix(end);
  }
  return blocks;
}

using EdgeKind = StageGraph::EdgeKind;

/// Two ways out of a block: `first` is the one that its text names first.
void add_edges(StageGraph& graph, std::uint32_t from, BlockId first, BlockId second,
               EdgeKind first_kind, EdgeKind second_kind) {
  if (first) graph.edges.push_back({from, first.index, second ? first_kind : EdgeKind::Next});
  if (second) graph.edges.push_back({from, second.index, second_kind});
}

void add_edges(StageGraph& graph, const Cfg& cfg) {
  for (std::uint32_t b = 0; b < cfg.size(); ++b) {
    const Block& block = cfg.blocks[b];
    add_edges(graph, b, block.next, block.target, EdgeKind::Next, EdgeKind::True);
    if (block.region)
      graph.edges.push_back({b, cfg[block.region].handler.index, EdgeKind::Exception});
  }
}

void add_edges(StageGraph& graph, const Lifted& lifted) {
  for (std::uint32_t b = 0; b < lifted.blocks.size(); ++b) {
    const LiftedBlock& block = lifted.blocks[b];
    add_edges(graph, b, block.edges[0].to, block.edges[1].to, EdgeKind::True, EdgeKind::False);
    if (const BlockId handler =
            block.region ? lifted.regions[block.region.index].handler : BlockId())
      graph.edges.push_back({b, handler.index, EdgeKind::Exception});
  }
}

}  // namespace

std::string_view edge_word(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::Next:
      return "next";
    case EdgeKind::True:
      return "true";
    case EdgeKind::False:
      return "false";
    case EdgeKind::Exception:
      return "exception";
  }
  return "";
}

std::span<const StageRow> stages() {
  static constexpr StageRow rows[] = {
      {Stage::Bytecode, "bytecode", false},
      {Stage::Flow, "flow", true},
      {Stage::Lift, "lift", true},
      {Stage::Simplify, "simplify", true},
      {Stage::Structure, "structure", false},
      {Stage::Rewrite, "rewrite", false},
      {Stage::Scopes, "scopes", false},
      {Stage::Print, "print", false},
  };
  return rows;
}

std::string_view stage_name(Stage stage) { return stages()[static_cast<std::size_t>(stage)].name; }

StageGraph dump_graph(Module& module, CodeId code, Stage stage, const DecompileOptions& options) {
  StageGraph graph;
  graph.stage = stage_name(stage);
  graph.text = dump_stage(module, code, stage, options);
  if (!stages()[static_cast<std::size_t>(stage)].is_graph) return graph;
  graph.blocks = blocks_of(graph.text);
  const Front front = run_front(module, code, stage, options);
  if (stage == Stage::Flow)
    add_edges(graph, front.cfg);
  else
    add_edges(graph, front.lifted);
  return graph;
}

StageGraph dump_step(Module& module, CodeId code, std::string_view step,
                     const DecompileOptions& options) {
  Front front = run_front(module, code, Stage::Structure, options);
  Ast ast;
  ast.module = &module;
  ast.bodies.resize(module.codes.size());
  structure_up_to(step, front.lifted, ast, structure_options(front.dynamo, options));
  StageGraph graph;
  graph.stage = "structure, after " + std::string(step);
  graph.text = to_text(front.lifted, module);
  graph.blocks = blocks_of(graph.text);
  add_edges(graph, front.lifted);
  return graph;
}

std::string to_dot(const StageGraph& graph, std::string_view title) {
  auto quoted = [](std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
      if (c == '\n') {
        out += "\\l";
        continue;
      }
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + '"';
  };
  std::string out = "digraph " + quoted(title) + " {\n  label=" + quoted(title) +
                    "; labelloc=t; node [shape=box, fontname=monospace];\n";
  for (std::size_t b = 0; b < graph.blocks.size(); ++b)
    out += "  b" + std::to_string(b) + " [label=" + quoted(graph.blocks[b]) + "];\n";
  for (const StageGraph::Edge& edge : graph.edges) {
    out += "  b" + std::to_string(edge.from) + " -> b" + std::to_string(edge.to);
    switch (edge.kind) {
      case EdgeKind::Next:
        break;
      case EdgeKind::True:
        out += " [label=true]";
        break;
      case EdgeKind::False:
        out += " [label=false]";
        break;
      case EdgeKind::Exception:
        out += " [style=dashed, color=gray]";
        break;
    }
    out += ";\n";
  }
  return out + "}\n";
}

}  // namespace depyf
