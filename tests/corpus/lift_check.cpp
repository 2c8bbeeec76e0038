// Lifts and simplifies every code object in the given .pyc files or folders and checks the graphs.
//   lift_check [--dump] [--only NAME] [--no-simplify] PATH…      exit status 1 when anything is
//   wrong
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "flow/cfg.h"
#include "lift/lifted.h"
#include "pyc/pyc.h"
#include "simplify/simplify.h"
#include "support/error.h"

namespace {

using namespace depyf;
using Clock = std::chrono::steady_clock;

struct Options {
  bool dump = false, simplify = true;
  std::string only;
};

struct Totals {
  std::uint64_t files = 0, codes = 0, errors = 0, earlier = 0, values = 0, instrs = 0, params = 0,
                in_place = 0, unknown_slots = 0;
  double flow = 0, lift = 0, check = 0, simplify = 0;
};

void run(const std::string& path, const Options& options, Totals& totals) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  Module module;
  ++totals.files;
  try {
    module = read_pyc({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  } catch (const Error& error) {
    std::printf("%s: %s\n", path.c_str(), error.what());
    ++totals.errors;
    return;
  }
  for (std::uint32_t c = 0; c < module.codes.size(); ++c) {
    const CodeId code(c);
    const std::string name(module[module[code].name]);
    if (!options.only.empty() && name != options.only) continue;
    ++totals.codes;
    auto complain = [&](const char* stage, const std::string& what) {
      std::printf("%s:%u %s: %s: %s\n", path.c_str(), module[code].firstlineno, name.c_str(), stage,
                  what.c_str());
    };
    const auto t0 = Clock::now();
    Cfg cfg;
    try {
      cfg = build_cfg(module, code, decode(module, code));
    } catch (const Error& error) {
      ++totals.earlier;
      continue;
    }
    const auto t1 = Clock::now();
    const char* stage = "lift";
    try {
      Lifted lifted = lift(module, code, cfg);
      const auto t2 = Clock::now();
      stage = "check after lift";
      check(lifted);
      const auto t3 = Clock::now();
      totals.instrs += cfg.instrs.size();
      totals.values += lifted.values.size();
      for (const LiftedBlock& block : lifted.blocks) {
        totals.params += block.params.size();
        for (ValueId id : block.body) totals.in_place += (lifted[id].aux & kInPlace) != 0;
        for (ValueId id : block.stack_in) totals.unknown_slots += !id.valid();
      }
      if (options.dump)
        std::printf("===== %s %s\n%s", path.c_str(), name.c_str(), to_text(lifted, module).c_str());
      if (options.simplify) {
        const auto t4 = Clock::now();
        stage = "simplify";
        simplify(lifted, module);
        const auto t5 = Clock::now();
        stage = "check after simplify";
        check(lifted);
        totals.simplify += std::chrono::duration<double>(t5 - t4).count();
        if (options.dump) std::printf("----- simplified\n%s", to_text(lifted, module).c_str());
      }
      totals.flow += std::chrono::duration<double>(t1 - t0).count();
      totals.lift += std::chrono::duration<double>(t2 - t1).count();
      totals.check += std::chrono::duration<double>(t3 - t2).count();
    } catch (const Error& error) {
      ++totals.errors;
      complain(stage, error.what());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  Options options;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--dump")) {
      options.dump = true;
    } else if (!std::strcmp(argv[i], "--no-simplify")) {
      options.simplify = false;
    } else if (!std::strcmp(argv[i], "--only") && i + 1 < argc) {
      options.only = argv[++i];
    } else if (fs::is_directory(argv[i])) {
      for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
        if (entry.path().extension() == ".pyc") paths.push_back(entry.path().string());
    } else {
      paths.push_back(argv[i]);
    }
  }
  std::sort(paths.begin(), paths.end());
  Totals t;
  for (const std::string& path : paths) run(path, options, t);
  std::printf(
      "%llu files, %llu code objects, %llu errors, %llu refused by an earlier stage, %llu "
      "instructions, %llu values, %llu parameters, %llu grown in place, "
      "%llu unknown slots; seconds: decode and flow %.3f, lift %.3f, check %.3f, simplify %.3f\n",
      (unsigned long long)t.files, (unsigned long long)t.codes, (unsigned long long)t.errors,
      (unsigned long long)t.earlier, (unsigned long long)t.instrs, (unsigned long long)t.values,
      (unsigned long long)t.params, (unsigned long long)t.in_place,
      (unsigned long long)t.unknown_slots, t.flow, t.lift, t.check, t.simplify);
  return t.errors != 0;
}
