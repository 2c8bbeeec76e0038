#pragma once
// Two code objects after lift() and simplify(): the same effects on the same values?
#include <optional>
#include <string>

#include "flow/cfg.h"
#include "verify/comparison.h"

namespace depyf::verify_detail {

struct GraphPair {
  CodeId x, y;
  const Cfg &cfg_a, &cfg_b;
  bool dynamo = false;      // torch wrote the first of them
  bool lifetimes = false;   // VerifyOptions::lifetimes, which is about the roots
  const Difference& first;  // where their graphs part
};

/// Nothing when the two are equivalent. `rename`: locals may have other names. `nested`: the code
/// objects met as the same operand. `ignored`: what counted for nothing.
std::optional<Verdict> equivalent(Comparison& with, const GraphPair& pair, bool rename,
                                  Pairs& nested, std::string& ignored);

}  // namespace depyf::verify_detail
