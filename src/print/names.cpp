#include "print/names.h"

#include <array>
#include <iterator>

namespace depyf {

bool is_keyword(std::string_view name, PyVersion) {
  // Every version from 3.7 on has the same reserved words. By length:
  static constexpr std::string_view words[] = {
      "as", "if", "in", "is", "or", "and", "def", "del", "for", "not", "try", "None", "True", "elif", "else", "from", "pass", "with",
      "False", "async", "await", "break", "class", "raise", "while", "yield", "assert", "except", "global", "import", "lambda", "return",
      "finally", "continue", "nonlocal",
  };
  static constexpr auto first = [] {  // of each length
    std::array<std::size_t, std::string_view("continue").size() + 2> shorter{};
    for (std::size_t length = 0; length < shorter.size(); ++length)
      for (std::string_view word : words) shorter[length] += word.size() < length;
    return shorter;
  }();
  if (name.size() + 1 >= std::size(first)) return false;
  for (std::size_t i = first[name.size()]; i < first[name.size() + 1]; ++i)
    if (words[i][0] == name[0] && words[i] == name) return true;
  return false;
}

namespace {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

enum ByteClass : std::uint8_t { kPlain = 0, kNoLetter = 1, kSurrogateLead = 2 };

constexpr auto kByteClass = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) table[byte] = is_letter(static_cast<char>(byte)) || is_digit(static_cast<char>(byte)) ? kPlain : kNoLetter;
  table[0xED] = kSurrogateLead;  // ED A0 … ED BF; before other bytes it begins a letter
  return table;
}();

}  // namespace

bool is_identifier(std::string_view name) {
  if (name.empty() || is_digit(name.front())) return false;
  std::uint8_t classes = kPlain;
  for (char c : name) classes |= kByteClass[static_cast<unsigned char>(c)];
  if (classes == kPlain) return true;
  if (classes & kNoLetter) return false;
  for (std::size_t i = 0; i + 1 < name.size(); ++i)
    if (static_cast<unsigned char>(name[i]) == 0xED && static_cast<unsigned char>(name[i + 1]) >= 0xA0) return false;
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
  while (module_.strings.contains(out)) out += '_';
  return out;
}

std::string_view Names::spell_first(StrId id) {
  if (id.index >= module_.strings.size()) return "_missing_name";
  if (auto found = spelt_.find(id.index); found != spelt_.end()) return found->second;
  const std::string_view name = module_[id];
  if (is_identifier(name) && !is_keyword(name, grammar_)) {
    if (plain_.size() <= id.index) plain_.resize(module_.strings.size());
    plain_[id.index] = true;
    return name;
  }
  return spelt_.emplace(id.index, spell_text(name)).first->second;
}

}  // namespace depyf
