#pragma once
// What all pairs of code objects of one comparison share.
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "verify/canon.h"
#include "verify/verify.h"

namespace depyf::verify_detail {

/// Builtins that the text calls and the bytecode does not.
class Builtins {
 public:
  explicit Builtins(Module& original) : original_(original) {}

  /// binds_dynamically() of what `b` was decompiled from.
  const std::string& binds_by();
  /// find_first_names() of that module.
  const std::set<std::string, std::less<>>& first_names();
  /// May that module replace `__import__`?
  bool replaces_import();
  /// What the verdict says of them.
  std::string taken_for_granted() const;

  std::set<std::string> called;

 private:
  Module& original_;
  std::optional<std::string> binds_by_;
  std::optional<std::set<std::string, std::less<>>> first_names_;
  std::optional<bool> replaces_import_;
};

struct Comparison {
  Comparison(Module& a_side, Module& b_side, const VerifyOptions& given)
      : a(a_side), b(b_side), options(given), canon(a_side, b_side, given.live), builtins(a_side) {}

  Module& module(Which side) { return side == kA ? a : b; }

  Module &a, &b;
  const VerifyOptions& options;
  Canon canon;
  Builtins builtins;
};

/// Adds `what`, if anything, to what a verdict says.
void add(std::string& detail, std::string_view what);
/// The verdict for two sides that part there.
Verdict different(const Difference& difference);

}  // namespace depyf::verify_detail
