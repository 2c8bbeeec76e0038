#include "print/names.h"

#include <algorithm>

namespace depyf {

bool is_keyword(std::string_view name, PyVersion) {
  // Every version from 3.7 on has the same reserved words.
  static constexpr std::string_view words[] = {
      "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
      "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
      "while", "with", "yield",
  };
  return std::binary_search(std::begin(words), std::end(words), name);
}

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_identifier(std::string_view name) {
  if (name.empty() || !is_letter(name.front())) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_letter(name[i]) && !is_digit(name[i])) return false;
    // A surrogate is encoded as ED A0 … ED BF: no letter.
    if (static_cast<unsigned char>(name[i]) == 0xED && i + 1 < name.size() && static_cast<unsigned char>(name[i + 1]) >= 0xA0) return false;
  }
  return true;
}

bool Names::is_dotted_name(std::string_view name) const {
  while (true) {
    std::size_t dot = name.find('.');
    std::string_view part = name.substr(0, dot);
    if (!is_identifier(part) || is_keyword(part, grammar_)) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

std::string Names::spell_text(std::string_view name) const {
  std::string out;
  for (char c : name) {
    if (is_letter(c) && static_cast<unsigned char>(c) < 0x80)
      out += c;
    else if (is_digit(c)) {
      if (out.empty()) out += '_';
      out += c;
    } else if (c != '>' && (out.empty() || out.back() != '_'))
      out += '_';
  }
  if (out.empty()) out = "_";
  if (is_keyword(out, grammar_)) out += '_';
  while (module_.string_ids.contains(out)) out += '_';
  return out;
}

std::string_view Names::spell(StrId id) {
  if (id.index >= module_.strings.size()) return "_missing_name";
  if (id.index < plain_.size() && plain_[id.index]) return module_[id];
  if (auto found = spelt_.find(id.index); found != spelt_.end()) return found->second;
  std::string_view name = module_[id];
  if (is_identifier(name) && !is_keyword(name, grammar_)) {
    if (plain_.size() <= id.index) plain_.resize(module_.strings.size());
    plain_[id.index] = true;
    return name;
  }
  return spelt_.emplace(id.index, spell_text(name)).first->second;
}

}  // namespace depyf
