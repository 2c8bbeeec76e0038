#include "print/names.h"

#include <algorithm>

namespace depyf {
namespace {

constexpr std::size_t kLongest = 60;  // of a spelling

/// The letters, digits and underscores of `name`, as a name that no class mangles and that is no
/// builtin's: it begins or ends with one underscore.
std::string word_of(std::string_view name) {
  std::string out;
  for (char c : name) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (digit && out.empty()) out += '_';
    if (digit || letter)
      out += c;
    else if (c != '>' && (out.empty() || out.back() != '_'))
      out += '_';
    if (out.size() == kLongest) break;
  }
  if (out.empty() || out == "_") return "name_";  // `_` means something else in patterns
  if (out.front() != '_' && out.back() != '_') out += '_';
  return out;
}

}  // namespace

std::string Names::free_name(std::string_view name) {
  if (texts_.empty()) {
    texts_.insert("");
    for (std::size_t i = 0; i < module_.consts.size(); ++i)
      if (module_.consts[i].kind == ConstKind::Str) texts_.insert(module_.consts[i].text);
  }
  const std::string word = word_of(name);
  const auto is_free = [&](const std::string& text) {
    return !module_.strings.contains(text) && !texts_.contains(text) && !given_.contains(text);
  };
  std::string out = word;
  if (!is_free(out)) {
    std::uint32_t& number = next_.try_emplace(word, 1).first->second;
    do out = word + (word.back() == '_' ? "" : "_") + std::to_string(++number);
    while (!is_free(out));
  }
  given_.insert(out);
  return out;
}

std::string_view Names::spell_text(std::string_view name) {
  const auto [found, fresh] = spelt_.try_emplace(std::string(name));
  if (fresh) found->second = free_name(name);
  return found->second;
}

std::string_view Names::spell_first(StrId id) {
  if (id.index >= module_.strings.size()) return "_missing_name";
  const std::string_view name = module_[id];
  const bool writable = grammar_ == module_.version ? module_.traits(id) & kWritableName
                                                    : is_writable_name(name, grammar_);
  if (!writable) return spell_text(name);
  if (plain_.size() <= id.index) plain_.resize(module_.strings.size());
  plain_[id.index] = true;
  return name;
}

std::vector<std::pair<std::string, std::string>> Names::renamed() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, spelling] : spelt_) out.emplace_back(spelling, name);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace depyf
