#pragma once
// Does the code keep what CPython believes about its stack?
#include <string>

#include "bytecode/instr.h"
#include "flow/cfg.h"

namespace depyf::verify_detail {

constexpr const char* kTestsOther = "one side tests a value that is no bool";

struct Soundness {
  std::string problem;        // why nothing can be said about the code; empty where it may
  bool tests_format = false;  // StackProblems::tests_format
};

/// Code that no compiler makes may break what CPython believes about its stack, and then do
/// anything. `tests`: lift() counts on what tests take.
Soundness soundness(Module& module, CodeId id, const InstrList& list, const Cfg& cfg,
                    bool tests = false);

}  // namespace depyf::verify_detail
