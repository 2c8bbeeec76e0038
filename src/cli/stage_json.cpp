#include "cli/stage_json.h"

#include "cli/inputs.h"

namespace depyf::cli {

std::string stage_json(const StageGraph& graph, const std::string& file, const std::string& code,
                       std::uint32_t line, const std::string& failure) {
  std::string out = "{\"file\": ";
  append_json(out, file);
  out += ", \"code\": ";
  append_json(out, code);
  out += ", \"line\": " + std::to_string(line);
  if (!failure.empty()) {
    out += ", \"error\": ";
    append_json(out, failure);
    return out + "}\n";
  }
  out += ", \"stage\": ";
  append_json(out, graph.stage);
  out += ", \"text\": ";
  append_json(out, graph.text);
  if (!graph.blocks.empty()) {
    out += ", \"blocks\": [";
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
      out += b ? ", " : "";
      append_json(out, graph.blocks[b]);
    }
    out += "], \"edges\": [";
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
      const StageGraph::Edge& edge = graph.edges[e];
      out += std::string(e ? ", " : "") + "{\"from\": " + std::to_string(edge.from) +
             ", \"to\": " + std::to_string(edge.to) + ", \"kind\": \"" +
             std::string(edge_word(edge.kind)) + "\"}";
    }
    out += ']';
  }
  return out + "}\n";
}

}  // namespace depyf::cli
