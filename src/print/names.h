#pragma once
// Which names can be written in source, and how the others are spelt.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pyc/code_object.h"

namespace depyf {

/// A reserved word of that version (soft keywords are none).
bool is_keyword(std::string_view name, PyVersion version);
/// An identifier by its ASCII characters; others count as letters, except surrogates and invalid UTF-8.
bool is_identifier(std::string_view name);

/// Spells names: an identifier as it is; `.0`, `<lambda>` and whatever else no source can hold as a valid one that the module does not
/// use: `_0`, `_lambda`.
class Names {
 public:
  Names(const Module& module, PyVersion grammar) : module_(module), grammar_(grammar) {}
  std::string_view spell(StrId name) { return name.index < plain_.size() && plain_[name.index] ? module_[name] : spell_first(name); }
  /// The same for `a.b.c`, part by part.
  bool is_dotted_name(std::string_view name) const;
  std::string spell_text(std::string_view name) const;

 private:
  std::string_view spell_first(StrId name);

  const Module& module_;
  PyVersion grammar_;
  std::vector<std::uint8_t> plain_;  // by StrId: known to be spelt as it is
  std::unordered_map<std::uint32_t, std::string> spelt_;
};

}  // namespace depyf
