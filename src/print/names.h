#pragma once
// How names are spelt that no source can hold.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pyc/code_object.h"
#include "pyc/identifier.h"

namespace depyf {

/// Spells names: one that a source can hold as it is; `.0`, `<lambda>`, `class`, `ﬁ` and whatever
/// else none can hold as a valid one of its own that the module does not use, neither as a name nor
/// as a text: `_0`, `_lambda`, `class_`.
class Names {
 public:
  Names(const Module& module, PyVersion grammar) : module_(module), grammar_(grammar) {}
  std::string_view spell(StrId name) {
    return name.index < plain_.size() && plain_[name.index] ? module_[name] : spell_first(name);
  }
  /// The same for `a.b.c`, part by part.
  bool is_dotted_name(std::string_view name) const {
    return is_writable_dotted_name(name, grammar_);
  }
  std::string_view spell_text(std::string_view name);
  /// What is spelt otherwise than it is: as it is spelt, and as it is.
  std::vector<std::pair<std::string, std::string>> renamed() const;

 private:
  std::string_view spell_first(StrId name);
  std::string free_name(std::string_view name);

  const Module& module_;
  PyVersion grammar_;
  std::vector<std::uint8_t> plain_;                      // by StrId: known to be spelt as it is
  std::unordered_map<std::string, std::string> spelt_;   // by name
  std::unordered_set<std::string_view> texts_;           // constants of the module
  std::unordered_set<std::string> given_;                // what `spelt_` has given
  std::unordered_map<std::string, std::uint32_t> next_;  // number after a name that is taken
};

}  // namespace depyf
