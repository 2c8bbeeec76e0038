// Compares pairs of .pyc files: reads lines `A.pyc<TAB>B.pyc`, prints one line `verdict<TAB>detail`
// for each.
//   verify_check [--each [--lifted]]
// --each: one line for each code object of A instead, compared without what is nested in it with
// the code object at the same place of B:
//   `code<TAB>path<TAB>verdict<TAB>detail`. --lifted: by the graphs after lift and simplify alone,
//   so that `equivalent` is the best verdict.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "bytecode/instr.h"
#include "flow/cfg.h"
#include "lift/lifted.h"
#include "pyc/pyc.h"
#include "simplify/simplify.h"
#include "support/error.h"
#include "verify/lockstep.h"
#include "verify/verify.h"

namespace {

using namespace depyf;

Module load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot read " + path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return read_pyc({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

const char* word(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::Identical:
      return "identical";
    case VerdictKind::Exact:
      return "exact";
    case VerdictKind::Equivalent:
      return "equivalent";
    case VerdictKind::Unproven:
      return "unproven";
    case VerdictKind::Different:
      return "different";
  }
  return "?";
}

/// Code objects by path: names with an occurrence number among siblings of one name, in the order
/// of the constants.
std::map<std::string, CodeId> paths(const Module& module) {
  std::map<std::string, CodeId> out;
  std::vector<std::pair<CodeId, std::string>> work{
      {module.root, std::string(module[module[module.root].name])}};
  while (!work.empty()) {
    const auto [id, path] = work.back();
    work.pop_back();
    out[path] = id;
    std::map<std::string, int> count;
    for (ConstId c : module[id].consts) {
      if (module[c].kind != ConstKind::Code) continue;
      const std::string name(module[module[module[c].code].name]);
      const int n = count[name]++;
      work.emplace_back(module[c].code, path + "/" + name + (n ? "#" + std::to_string(n + 1) : ""));
    }
  }
  return out;
}

Verdict compare_lifted(Module& a, CodeId x, Module& b, CodeId y) {
  Verdict out;
  try {
    verify_detail::Canon canon(a, b, false);
    verify_detail::Pairs nested;
    Lifted lifted_a = lift(a, x, build_cfg(a, x, decode(a, x))),
           lifted_b = lift(b, y, build_cfg(b, y, decode(b, y)));
    SimplifyOptions options;
    options.dynamo = made_by_dynamo(a, x);
    simplify(lifted_a, a, options);
    simplify(lifted_b, b, options);
    if (const auto difference = verify_detail::lockstep_difference(canon, lifted_a, lifted_b, true,
                                                                   *options.dynamo, nested))
      out.detail = "at offset " + std::to_string(difference->offset_a) + " / " +
                   std::to_string(difference->offset_b) + ": " + difference->text;
    else
      out.kind = VerdictKind::Equivalent;
  } catch (const Error& error) {
    out.detail = error.what();
  }
  return out;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const bool each = argc > 1 && std::strcmp(argv[1], "--each") == 0;
  const bool lifted = argc > 2 && std::strcmp(argv[2], "--lifted") == 0;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::size_t tab = line.find('\t');
    try {
      Module a = load(line.substr(0, tab)), b = load(line.substr(tab + 1));
      if (!each) {
        const Verdict verdict = verify(a, a.root, b, b.root);
        std::printf("%s\t%s\n", word(verdict.kind), one_line(verdict.detail).c_str());
      } else {
        const auto pa = paths(a), pb = paths(b);
        VerifyOptions options;
        options.nested = false;
        for (const auto& [path, id] : pa) {
          const auto found = pb.find(path);
          Verdict verdict;
          verdict.detail = "missing";
          const auto before = std::chrono::steady_clock::now();
          if (found != pb.end())
            verdict = lifted ? compare_lifted(a, id, b, found->second)
                             : verify(a, id, b, found->second, options);
          const double seconds =
              std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
          std::printf("code\t%s\t%s\t%s%s\n", one_line(path).c_str(), word(verdict.kind),
                      one_line(verdict.detail).c_str(),
                      seconds > 0.5 ? (" [slow: " + std::to_string(seconds) + " s]").c_str() : "");
        }
        std::printf("done\n");
      }
    } catch (const Error& error) {
      std::printf("error\t%s\n", one_line(error.what()).c_str());
    }
    std::fflush(stdout);
  }
}
