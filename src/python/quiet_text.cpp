#include "python/quiet_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace depyf::python {
namespace {

/// What stands before a token, as far as CPython's warnings ask: a literal, or a parenthesis that
/// may hold one, must not be called, indexed or compared by `is`.
enum class Before : std::uint8_t { Operator, Name, Value, Literal };

constexpr std::array<std::string_view, 34> kKeywords = {
    "and",    "as",     "assert", "async",  "await",  "break",    "case",   "class",  "continue",
    "def",    "del",    "elif",   "else",   "except", "for",      "from",   "global", "if",
    "import", "in",     "is",     "lambda", "match",  "nonlocal", "not",    "or",     "pass",
    "raise",  "return", "try",    "while",  "with",   "yield",    "finally"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
         !is_ascii(c);
}
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool run() {
    while (at_ < text_.size()) {
      if (!token()) return false;
    }
    return open_.empty();
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool token() {
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_name(c)) return name();
    if (c == '.' && peek(1) == '.' && peek(2) == '.') {
      at_ += 3;
      before_ = Before::Literal;
      return true;
    }
    switch (c) {
      case ' ':
      case '\t':
      case '\f':
        ++at_;
        return true;
      case '\n':
      case '\r':
        ++at_;
        if (open_.empty()) before_ = Before::Operator;
        return true;
      case '\\':  // the line goes on
        ++at_;
        return peek() == '\n' || peek() == '\r' ? next_line() : false;
      case '#':
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
        return true;
      case '"':
      case '\'':
        return string("");
      case '~':  // of a constant that is true or false
        return false;
      case '(':
      case '[':
        if (before_ == Before::Literal) return false;
        open_.push_back(before_ != Before::Operator);
        break;
      case '{':
        open_.push_back(false);
        break;
      case ')':
      case ']':
      case '}':
        if (open_.empty()) return false;
        before_ = open_.back() ? Before::Value : Before::Literal;
        open_.pop_back();
        ++at_;
        return true;
    }
    ++at_;
    before_ = Before::Operator;
    return true;
  }

  /// Passes the end of a line inside a statement.
  bool next_line() {
    at_ += peek() == '\r' && peek(1) == '\n' ? 2 : 1;
    return true;
  }

  /// Digits and what belongs to them; false where a keyword may follow without a space.
  bool number() {
    const bool is_hex = peek() == '0' && lower(peek(1)) == 'x';
    if (peek() == '0' && (is_hex || lower(peek(1)) == 'o' || lower(peek(1)) == 'b')) at_ += 2;
    for (; is_name(peek()) || peek() == '.'; ++at_) {
      const char c = lower(peek());
      if (is_digit(c) || c == '.' || c == '_' || c == 'e') continue;
      if (is_hex ? c < 'a' || c > 'f' : c != 'j') return false;
    }
    before_ = Before::Literal;
    return true;
  }

  /// A literal from its first quote on.
  bool string(std::string_view prefix) {
    const bool is_raw = prefix.find('r') != std::string_view::npos;
    const char quote = peek();
    const bool is_long = peek(1) == quote && peek(2) == quote;
    at_ += is_long ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\') {
        ++at_;
        if (!is_raw && !is_known_escape()) return false;
      } else if (c == quote && (!is_long || (peek(1) == quote && peek(2) == quote))) {
        at_ += is_long ? 3 : 1;
        before_ = Before::Literal;
        return true;
      } else if (!is_long && (c == '\n' || c == '\r')) {
        return false;
      }
    }
    return false;
  }

  bool is_known_escape() const {
    const char c = peek();
    if (c >= '4' && c <= '7') return !is_digit(peek(1)) || !is_digit(peek(2));
    return c != '\0' && std::string_view("\\'\"abfnrtvx\n\r0123").find(c) != std::string_view::npos;
  }

  static bool is_prefix(std::string_view word) {
    return word == "r" || word == "b" || word == "u" || word == "br" || word == "rb";
  }

  /// Whether this word can be a name: no keyword, no number, no constant.
  static bool is_variable(std::string_view word) {
    return !word.empty() && !is_digit(word[0]) && !is_constant(word) && !is_keyword(word);
  }
  static bool is_keyword(std::string_view word) {
    return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
  }
  static bool is_constant(std::string_view word) {
    return word == "None" || word == "True" || word == "False" || word == "__debug__";
  }

  std::string_view word() {
    const std::size_t from = at_;
    while (is_name(peek())) ++at_;
    return text_.substr(from, at_ - from);
  }

  /// Passes what may stand between two tokens of one expression.
  void skip_gap() {
    for (; at_ < text_.size(); ++at_) {
      const char c = peek();
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size() - 1);
      } else if (std::string_view(" \t\f\r\n\\").find(c) == std::string_view::npos) {
        return;
      }
    }
  }

  bool name() {
    const bool is_attribute = before_ == Before::Operator && at_ > 0 && text_[at_ - 1] == '.';
    const std::string_view found = word();
    // CPython normalizes such a name, perhaps to __debug__.
    if (!std::all_of(found.begin(), found.end(), is_ascii)) return false;
    if (peek() == '"' || peek() == '\'') {
      if (is_prefix(found)) return string(found);
      if (!is_keyword(found)) return false;  // an f-string, or no Python
    }
    if (is_constant(found)) {
      before_ = Before::Literal;
      return true;
    }
    if (is_attribute || !is_keyword(found)) {
      before_ = Before::Name;
      return true;
    }
    if (found == "finally") return false;
    if (found == "yield") return quiet_yield();
    if (found == "is") return identity();
    before_ = Before::Operator;
    return found != "assert" || assertion();
  }

  /// CPython 3.7 warns of one in a comprehension.
  bool quiet_yield() {
    before_ = Before::Operator;
    return open_.empty();
  }

  /// What is asserted begins with a name or `not`; a tuple, also one like `2 * (1, 2)`, is "no".
  bool assertion() {
    skip_gap();
    const std::size_t begin = at_;
    const std::string_view first = word();
    const bool is_string = peek() == '"' || peek() == '\'';
    at_ = begin;
    return !is_string && (first == "not" || is_variable(first));
  }

  /// `is`, `is not`: a name or a call on the left, a name or None on the right. True and False may
  /// be part of an expression that CPython computes, such as `x is True + 1`.
  bool identity() {
    if (before_ != Before::Name && before_ != Before::Value) return false;
    skip_gap();
    std::size_t begin = at_;
    std::string_view right = word();
    if (right == "not") {
      skip_gap();
      begin = at_;
      right = word();
    }
    const bool is_string = peek() == '"' || peek() == '\'';
    at_ = begin;
    before_ = Before::Operator;
    return !is_string && (right == "None" || is_variable(right));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Before before_ = Before::Operator;
  std::vector<bool> open_;  // brackets: whether each calls or indexes what stands before it
};

}  // namespace

bool is_quiet(std::string_view text) { return Scanner(text).run(); }

}  // namespace depyf::python
