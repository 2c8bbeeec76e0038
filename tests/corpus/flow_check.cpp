// Builds the control-flow graph of every code object in the given .pyc files or folders and checks
// what must hold for each.
//   flow_check [--verbose] PATH…      exit status 1 when anything is wrong
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bytecode/effect.h"
#include "flow/cfg.h"
#include "flow/dominators.h"
#include "flow/gaps.h"
#include "pyc/pyc.h"
#include "support/error.h"

namespace {

using namespace depyf;

struct Totals {
  std::uint64_t files = 0, unreadable = 0, codes = 0, errors = 0, blocks = 0, instrs = 0,
                decoded = 0, regions = 0, depth = 0, irreducible = 0, multiple_before = 0,
                multiple_after = 0, cleanups_kept = 0;
  double worst_growth = 1;
};

Graph graph_of(const Cfg& cfg) {
  Graph graph;
  graph.offsets.push_back(0);
  for (const Block& block : cfg.blocks) {
    if (block.next) graph.edges.push_back(block.next.index);
    if (block.target) graph.edges.push_back(block.target.index);
    if (block.region) graph.edges.push_back(cfg[block.region].handler.index);
    graph.offsets.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  return graph;
}

/// Simulates stack depths; the text of the first conflict, or nothing.
std::string check_depths(const Cfg& cfg) {
  std::vector<std::int64_t> depth(cfg.size(), -1);
  std::vector<std::uint32_t> work;
  std::string wrong;
  auto flow = [&](BlockId to, std::int64_t value) {
    if (!to || !wrong.empty()) return;
    if (depth[to.index] == -1) {
      depth[to.index] = value;
      work.push_back(to.index);
    } else if (depth[to.index] != value) {
      wrong = "b" + std::to_string(to.index) + " is reached with depths " +
              std::to_string(depth[to.index]) + " and " + std::to_string(value);
    }
  };
  flow(cfg.entry, 0);
  while (!work.empty() && wrong.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    const Block& block = cfg.blocks[b];
    std::int64_t at = depth[b];
    const Region* region = block.region ? &cfg[block.region] : nullptr;
    std::int64_t taken = at;
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const Instr& instr = cfg.instrs[i];
      const StackEffect effect = stack_effect(instr);
      if (region && at < region->depth)
        return "b" + std::to_string(b) + " is shallower than its handler's depth";
      if (static_cast<std::int64_t>(effect.pops) > at)
        return "b" + std::to_string(b) + ": " + std::string(op_name(instr.op)) +
               " finds too few values";
      taken = at - static_cast<std::int64_t>(effect.pops) +
              static_cast<std::int64_t>(effect.target_pushes);
      at = at - static_cast<std::int64_t>(effect.pops) + static_cast<std::int64_t>(effect.pushes);
    }
    flow(block.next, at);
    flow(block.target, taken);
    if (region)
      flow(region->handler,
           region->depth + (region->entry == HandlerEntry::Six ? 6 : 1 + region->lasti));
  }
  return wrong;
}

void check(const std::string& path, bool verbose, Totals& totals) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  Module module;
  ++totals.files;
  try {
    module = read_pyc({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  } catch (const Error& error) {
    std::printf("%s: %s\n", path.c_str(), error.what());
    ++totals.unreadable;
    return;
  }
  for (std::uint32_t c = 0; c < module.codes.size(); ++c) {
    const CodeId code(c);
    ++totals.codes;
    auto complain = [&](const std::string& what, const Cfg* cfg) {
      std::printf("%s:%u %s: %s\n", path.c_str(), module[code].firstlineno,
                  std::string(module[module[code].name]).c_str(), what.c_str());
      if (cfg && verbose) std::printf("%s\n", to_text(*cfg, module, code).c_str());
    };
    try {
      const InstrList list = decode(module, code);
      const Cfg before = build_cfg_by_table(module, code, list);
      const Cfg cfg = build_cfg(module, code, list);
      totals.blocks += cfg.size();
      totals.instrs += cfg.instrs.size();
      totals.decoded += list.instrs.size();
      totals.worst_growth =
          std::max(totals.worst_growth, static_cast<double>(cfg.instrs.size()) /
                                            static_cast<double>(list.instrs.size()));
      totals.regions += cfg.regions.size();
      totals.multiple_before += count_multiple_entries(before);
      if (const std::uint32_t n = count_multiple_entries(cfg)) {
        totals.multiple_after += n;
        complain(std::to_string(n) + " regions with several entries", &cfg);
      }
      Cfg dropped = before;
      if (module.version >= PyVersion{3, 11} &&
          !drop_cleanups(dropped, module.version >= PyVersion{3, 13})) {
        ++totals.cleanups_kept;
        complain("cleanup regions kept", &cfg);
      }
      if (const std::string wrong = check_depths(cfg); !wrong.empty()) {
        ++totals.depth;
        complain(wrong, &cfg);
      }
      const Graph graph = graph_of(cfg);
      if (!is_reducible(graph, dominators(graph, cfg.entry.index))) {
        ++totals.irreducible;
        complain("irreducible", &cfg);
      }
    } catch (const Error& error) {
      ++totals.errors;
      complain(error.what(), nullptr);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  bool verbose = false;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--verbose")) {
      verbose = true;
    } else if (fs::is_directory(argv[i])) {
      for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
        if (entry.path().extension() == ".pyc") paths.push_back(entry.path().string());
    } else {
      paths.push_back(argv[i]);
    }
  }
  std::sort(paths.begin(), paths.end());
  Totals t;
  for (const std::string& path : paths) check(path, verbose, t);
  std::printf(
      "files %llu (unreadable %llu), code objects %llu, errors %llu, depth conflicts %llu, "
      "irreducible %llu, blocks %llu, "
      "instructions %llu of %llu decoded (worst growth %.2f), regions %llu, of several entries "
      "%llu before and %llu after absorbing gaps, code objects that keep their cleanups %llu\n",
      static_cast<unsigned long long>(t.files), static_cast<unsigned long long>(t.unreadable),
      static_cast<unsigned long long>(t.codes), static_cast<unsigned long long>(t.errors),
      static_cast<unsigned long long>(t.depth), static_cast<unsigned long long>(t.irreducible),
      static_cast<unsigned long long>(t.blocks), static_cast<unsigned long long>(t.instrs),
      static_cast<unsigned long long>(t.decoded), t.worst_growth,
      static_cast<unsigned long long>(t.regions),
      static_cast<unsigned long long>(t.multiple_before),
      static_cast<unsigned long long>(t.multiple_after),
      static_cast<unsigned long long>(t.cleanups_kept));
  return t.errors || t.depth || t.irreducible || t.unreadable ? 1 : 0;
}
