#include "rewrite/dynamo_words.h"

#include <algorithm>

namespace depyf {
namespace {

constexpr std::size_t kLongest = 50;  // of a name

/// Functions and classes of Python's own, as far as their names could be those of values.
constexpr const char* kBuiltins[] = {
    "abs",        "all",       "any",      "ascii",     "bin",     "bool",         "breakpoint",
    "bytes",      "bytearray", "callable", "chr",       "compile", "complex",      "delattr",
    "dict",       "dir",       "divmod",   "enumerate", "eval",    "exec",         "exit",
    "filter",     "float",     "format",   "frozenset", "getattr", "globals",      "hasattr",
    "hash",       "help",      "hex",      "id",        "input",   "int",          "isinstance",
    "issubclass", "iter",      "len",      "list",      "locals",  "map",          "max",
    "memoryview", "min",       "next",     "object",    "oct",     "open",         "ord",
    "pow",        "print",     "property", "quit",      "range",   "repr",         "reversed",
    "round",      "set",       "setattr",  "slice",     "sorted",  "staticmethod", "str",
    "sum",        "super",     "tuple",    "type",      "vars",    "zip"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

bool ends_in_number(const std::string& word) { return !word.empty() && is_digit(word.back()); }

/// `text` without a number after an underscore at its end, and the number.
std::string_view without_number(std::string_view text, std::string_view& number) {
  const std::size_t last = text.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == text.size()) return text;
  number = text.substr(last + 1);
  return text.substr(0, last + 1);
}

}  // namespace

std::string plain_word(std::string_view text, std::size_t longest) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() <= longest; ++i) {
    const char c = text[i];
    if (is_upper(c)) {
      const bool begins =
          i > 0 && (is_lower(text[i - 1]) || is_digit(text[i - 1]) ||
                    (is_upper(text[i - 1]) && i + 1 < text.size() && is_lower(text[i + 1])));
      if (begins && !out.empty() && out.back() != '_') out += '_';
      out += static_cast<char>(c - 'A' + 'a');
    } else if (is_lower(c) || is_digit(c)) {
      if (out.empty() && is_digit(c)) out += "item_";
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  if (out.size() > longest) {  // whole words, where there are any
    const std::size_t end = out.rfind('_');
    out.resize(end != out.npos && end > longest / 2 ? end : longest);
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

bool is_holder(std::string_view attribute) {
  return attribute == "_modules" || attribute == "_parameters" || attribute == "_buffers" ||
         attribute == "__dict__";
}

std::string module_word(std::string_view global) {
  constexpr std::string_view kImport = "__import_", kDot = "_dot_";
  if (global.starts_with(kImport)) global.remove_prefix(kImport.size());
  Words parts;
  for (std::size_t at = 0;;) {
    const std::size_t dot = global.find(kDot, at);
    parts.push_back(plain_word(global.substr(at, dot == global.npos ? dot : dot - at)));
    if (dot == global.npos) break;
    at = dot + kDot.size();
  }
  // Names that many modules have.
  constexpr std::string_view kUsual[] = {"utils",  "functional", "modules", "module",
                                         "common", "helpers",    "base",    "ops"};
  std::string out = parts.back();
  if (parts.size() > 1 && std::find(std::begin(kUsual), std::end(kUsual), out) != std::end(kUsual))
    out = parts[parts.size() - 2] + "_" + out;
  return out;
}

std::string global_word(std::string_view global) {
  if (global == "__import__") return {};  // Python's own
  if (global.starts_with("__import_") && global.size() > 9) return module_word(global);
  constexpr std::string_view kGraph = "__compiled_fn_";
  if (global.starts_with(kGraph)) {  // `__compiled_fn_3_08bd1bbe_7986_…`
    std::size_t end = kGraph.size();
    while (end < global.size() && is_digit(global[end])) ++end;
    if (end == kGraph.size() || end == global.size() || global[end] != '_') return {};
    return std::string(global.substr(0, end));
  }
  if (global.starts_with("__builtins_dict__")) return "builtins_dict";
  // The digits at the end of `__resume_at_8_4_…_9910_62a727670027` are no address.
  if (global.starts_with("__resume_at_")) return {};
  // An object's address, and perhaps the number of a compile: `___module_torch_1400…_c1`.
  std::string_view number, stem = without_number(global, number);
  if (stem.ends_with("_c") && !number.empty()) {
    stem.remove_suffix(2);
    number = {};
    stem = without_number(stem, number);
  }
  constexpr std::size_t kAddress = 9;
  if (number.size() < kAddress) return {};
  if (stem.starts_with("___module_")) stem.remove_prefix(10);
  return plain_word(stem);
}

std::string name_of(const Words& words, std::size_t length) {
  std::size_t from = words.size() - std::min(length, words.size());
  std::string prefix, out;
  // Without a number in it, the name would be the same in each layer.
  const bool numbered =
      std::any_of(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(), ends_in_number);
  if (length > 1 && !numbered)
    for (std::size_t i = from; i-- > 0;)
      if (ends_in_number(words[i])) {
        prefix = words[i];
        break;
      }
  for (std::size_t i = from; i < words.size(); ++i) {
    if (!out.empty()) out += '_';
    out += words[i];
  }
  const std::size_t most = kLongest - (prefix.size() < kLongest / 2 ? prefix.size() : 0);
  if (out.size() > most) {  // the end says most
    out = out.substr(out.size() - most);
    const std::size_t word = out.find('_');
    if (word != out.npos && word + 1 < out.size()) out = out.substr(word + 1);
    if (is_digit(out[0])) out = "item_" + out;
  }
  if (!prefix.empty() && prefix.size() < kLongest / 2) out = prefix + "_" + out;
  return out.empty() ? "value" : out;
}

std::unordered_set<std::string> keywords() {
  return {"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
          "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
          "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
          "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    "_"};
}

void add_builtins(std::unordered_set<std::string>& names) {
  names.insert(std::begin(kBuiltins), std::end(kBuiltins));
}

}  // namespace depyf
