#include "verify/comparison.h"

#include "bytecode/bound_names.h"

namespace depyf::verify_detail {

const std::string& Builtins::binds_by() {
  if (!binds_by_) binds_by_ = binds_dynamically(original_);
  return *binds_by_;
}

const std::set<std::string, std::less<>>& Builtins::first_names() {
  if (!first_names_) {
    first_names_.emplace();
    for (const std::uint32_t name : find_first_names(original_))
      if (name != kNamesWereFound) first_names_->emplace(original_[StrId(name)]);
  }
  return *first_names_;
}

bool Builtins::replaces_import() {
  if (!replaces_import_) replaces_import_ = may_replace(original_, "__import__");
  return *replaces_import_;
}

/// No list of what binds names is complete: `pickle.loads` may do all that is said in a text.
std::string Builtins::taken_for_granted() const {
  if (called.empty()) return {};
  std::string names;
  for (const std::string& name : called) names += (names.empty() ? "" : ", ") + name;
  return "taken for granted: nothing replaces the builtins that the text calls and the bytecode "
         "does not: " +
         names;
}

void add(std::string& detail, std::string_view what) {
  if (!what.empty()) (detail += detail.empty() ? "" : "; ") += what;
}

Verdict different(const Difference& difference) {
  Verdict out;
  out.kind = difference.distinguishes ? VerdictKind::Different : VerdictKind::Unproven;
  if (difference.has_offsets)
    out.detail = "at offset " + std::to_string(difference.offset_a) + " / " +
                 std::to_string(difference.offset_b) + ": ";
  out.detail += difference.text;
  return out;
}

}  // namespace depyf::verify_detail
