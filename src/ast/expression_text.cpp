#include "ast/expression_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "pyc/identifier.h"

namespace depyf {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_quote(char c) { return c == '\'' || c == '"'; }

class TextReader {
 public:
  TextReader(std::string_view text, PyVersion version, TextPlace place)
      : text_(text), version_(version), place_(place) {}

  std::optional<std::string> read() {
    while (at_ < text_.size())
      if (!token()) return std::nullopt;
    if (!open_.empty() || (wants_operand_ && !may_end_)) return std::nullopt;
    return std::move(acts_);
  }

 private:
  /// What is open: a bracket, by what stands before it, or the parameters of a lambda.
  enum class Open : char { Group, Call, List, Subscript, Braces, Lambda };

  std::string_view text_;
  PyVersion version_;
  TextPlace place_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  bool wants_operand_ = true;
  bool may_end_ = false;    // an operand may be missing here: behind `(`, `,`, `:`, `yield`
  bool is_name_ = false;    // the operand that ends here is a name alone, as `k` of `k=1`
  bool is_string_ = false;  // … a string, to which the next one is joined
  std::string acts_;

  bool inside(Open what) const { return !open_.empty() && open_.back() == what; }
  bool in_brackets() const { return !open_.empty() && open_.back() != Open::Lambda; }
  bool at_top() const { return open_.empty(); }

  void operand(bool is_name = false) {
    wants_operand_ = may_end_ = is_string_ = false;
    is_name_ = is_name;
  }
  bool wants_another(bool may_end = false) {
    wants_operand_ = true;
    may_end_ = may_end;
    is_name_ = false;
    return true;
  }
  bool follows(std::string_view token) const { return text_.substr(at_, token.size()) == token; }

  bool token() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || (c == '\n' && place_ == TextPlace::Field)) {
      ++at_;
      return true;
    }
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
      return number();
    if (is_letter(c)) return word();
    if (is_quote(c)) return string({});
    return punctuation(c);
  }

  /// Behind what stands at `at_` and is of `taken`, or `_`.
  void skip(std::string_view taken) {
    while (at_ < text_.size() && (text_[at_] == '_' || taken.find(text_[at_]) != taken.npos)) ++at_;
  }

  bool number() {
    static constexpr std::string_view kDigits = "0123456789";
    const char base = text_[at_] == '0' && at_ + 1 < text_.size() ? text_[at_ + 1] : '0';
    if (std::string_view("xXoObB").find(base) != std::string_view::npos) {
      at_ += 2;
      skip("0123456789abcdefABCDEF");
    } else {
      skip(kDigits);
      if (follows(".")) ++at_, skip(kDigits);
      const bool sign = follows("e-") || follows("e+") || follows("E-") || follows("E+");
      if (sign || follows("e") || follows("E")) at_ += sign ? 2 : 1, skip(kDigits);
      if (follows("j") || follows("J")) ++at_;
    }
    return (at_ >= text_.size() || !is_word(text_[at_])) && literal();
  }

  bool literal() {
    if (!wants_operand_) return false;
    operand();
    return true;
  }

  bool word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && is_quote(text_[at_])) return string(word);
    if (word == "None" || word == "True" || word == "False") return literal();
    if (!is_keyword(word, version_)) {
      if (!wants_operand_) return false;
      if (word != "__debug__") acts_.append(word) += ' ';  // a constant
      operand(true);
      return true;
    }
    return wants_operand_ ? prefix(word) : infix(word);
  }

  bool prefix(std::string_view word) {
    if (word == "not" || word == "await") {
      if (word == "await") acts_ += "await ";
      return wants_another();
    }
    if (word == "lambda") {
      if (at_top() && place_ == TextPlace::Field) return false;  // its colon would end the field
      acts_ += "lambda ";
      open_.push_back(Open::Lambda);
      return wants_another(true);
    }
    if (word == "yield") {
      const bool first = inside(Open::Group) || (at_top() && place_ == TextPlace::Field);
      if (!first || !may_begin_yield()) return false;
      acts_ += "yield ";
      return wants_another(true);
    }
    return word == "from" && acts_.ends_with("yield ") && wants_another();
  }

  /// Nothing but blanks before the `yield` that was read, or behind the bracket.
  bool may_begin_yield() const {
    std::size_t i = at_ - std::string_view("yield").size();
    while (i > 0 && (text_[i - 1] == ' ' || text_[i - 1] == '\n')) --i;
    return i == 0 || text_[i - 1] == '(';
  }

  bool infix(std::string_view word) {
    if (word == "and" || word == "or" || word == "if" || word == "else" || word == "in" ||
        word == "is")
      return wants_another();
    if (word == "not") {  // `not in`
      while (at_ < text_.size() && text_[at_] == ' ') ++at_;
      if (!follows("in") || (at_ + 2 < text_.size() && is_word(text_[at_ + 2]))) return false;
      at_ += 2;
      return wants_another();
    }
    if (word == "for" && in_brackets()) {
      acts_ += "for ";
      return wants_another();
    }
    if (word == "async" && in_brackets()) {
      while (at_ < text_.size() && text_[at_] == ' ') ++at_;
      return follows("for");
    }
    return false;
  }

  /// A string, whose quote is next, behind its prefix.
  bool string(std::string_view prefix) {
    bool formatted = false;
    for (const char c : prefix) {
      static constexpr std::string_view kPrefixes = "rRbBuUfFtT";
      if (kPrefixes.find(c) == std::string_view::npos) return false;
      formatted = formatted || c == 'f' || c == 'F' || c == 't' || c == 'T';
    }
    const char quote = text_[at_];
    if (formatted && place_ == TextPlace::Field) {
      if (!nested_strings(prefix)) return false;
    } else {
      const std::size_t length = quotes_at(at_), begin = at_ + length;
      const bool over_lines = length == 3 && place_ == TextPlace::Field;
      std::size_t end = begin;
      for (;; end += text_[end] == '\\' ? 2 : 1) {
        if (end >= text_.size() || text_[end] == '\r') return false;
        if (text_[end] == '\n' && !over_lines) return false;
        if (text_.substr(end, length) == std::string(length, quote)) break;
      }
      at_ = end + length;
      if (formatted && !fields(text_.substr(begin, end - begin))) return false;
    }
    if (!wants_operand_ && !is_string_) return false;
    operand();
    return is_string_ = true;
  }

  static bool is_raw(std::string_view prefix) {
    return prefix.find_first_of("rR") != std::string_view::npos;
  }

  /// How many characters of a string's literal part the backslash at `at_` takes: those of a name,
  /// or itself alone before a brace, which begins or ends a field all the same.
  std::size_t escape(bool raw) const {
    const std::string_view rest = text_.substr(at_);
    if (!raw && rest.substr(0, 3) == "\\N{") return std::min(rest.find('}'), rest.size() - 1) + 1;
    return rest.substr(1, 1).find_first_of("{}") == 0 ? 1 : 2;
  }

  /// How many quotes begin the string there.
  std::size_t quotes_at(std::size_t at) const {
    return text_.substr(at, 3) == std::string(3, text_[at]) ? 3 : 1;
  }

  /// The words of the fields of an f-string and of the strings in them, which may have its own
  /// quotes (PEP 701): a stack of strings, each with how many braces are open in it.
  bool nested_strings(std::string_view prefix) {
    struct String {
      char quote;
      std::size_t length;
      bool formatted, raw;
      std::size_t depth = 0;
    };
    std::vector<String> open{{text_[at_], quotes_at(at_), true, is_raw(prefix)}};
    at_ += open.back().length;
    std::string_view word;  // that ends here
    while (!open.empty()) {
      if (at_ >= text_.size()) return false;
      String& in = open.back();
      const char c = text_[at_];
      const std::string_view before = std::exchange(word, {});
      if (in.depth == 0) {
        if (c == '\\') {
          at_ += escape(in.raw);
        } else if (text_.substr(at_, in.length) == std::string(in.length, in.quote)) {
          at_ += in.length;
          open.pop_back();
        } else if (in.formatted && (c == '{' || c == '}')) {
          const bool doubled = at_ + 1 < text_.size() && text_[at_ + 1] == c;
          if (!doubled && c == '}') return false;
          if (!doubled) in.depth = 1;
          at_ += doubled ? 2 : 1;
        } else {
          ++at_;
        }
      } else if (is_quote(c)) {
        const bool formatted = before.find_first_of("fFtT") != std::string_view::npos;
        const std::size_t length = quotes_at(at_);
        open.push_back({c, length, formatted, is_raw(before)});
        at_ += length;
      } else if (is_letter(c)) {
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        word = text_.substr(begin, at_ - begin);
        const bool prefix = at_ < text_.size() && is_quote(text_[at_]);
        if (!prefix && text_[begin - 1] != '!') acts_.append(word) += ' ';
      } else {
        // `#` of a format specification; a comment would end with a line.
        const bool comment = c == '#' && text_.find('\n') != std::string_view::npos;
        if (c == '\\' || comment) return false;
        if (c == '{') ++in.depth;
        if (c == '}') --in.depth;
        if (c == '(') acts_ += "( ";
        ++at_;
      }
    }
    return true;
  }

  /// The words of the fields of an f-string.
  bool fields(std::string_view body) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < body.size(); ++i) {
      const char c = body[i];
      if (c == '{') {
        if (depth == 0 && body.substr(i, 2) == "{{")
          ++i;
        else
          ++depth;
      } else if (c == '}') {
        if (depth > 0)
          --depth;
        else if (body.substr(i, 2) == "}}")
          ++i;
        else
          return false;
      } else if (c == '\\') {
        ++i;
      } else if (depth > 0 && is_quote(c)) {
        const std::size_t end = body.find(c, i + 1);
        if (end == std::string_view::npos) return false;
        if (body.substr(i, end - i).find_first_of("{}\\") != std::string_view::npos) return false;
        i = end;
      } else if (depth > 0 && is_letter(c)) {
        const std::size_t begin = i;
        while (i + 1 < body.size() && is_word(body[i + 1])) ++i;
        const bool conversion = begin > 0 && body[begin - 1] == '!';
        if (!conversion) acts_.append(body.substr(begin, i + 1 - begin)) += ' ';
      } else if (depth > 0 && c == '(') {
        acts_ += "( ";
      }
    }
    return depth == 0;
  }

  bool open(Open what) {
    open_.push_back(what);
    if (what == Open::Call) acts_ += "( ";
    if (what == Open::Subscript) acts_ += "[ ";
    return wants_another(true);
  }

  bool close(Open one, Open other) {
    if (!inside(one) && !inside(other)) return false;
    if (wants_operand_ && !may_end_) return false;
    open_.pop_back();
    operand();
    return true;
  }

  bool punctuation(char c) {
    ++at_;
    switch (c) {
      case '(':
        return open(wants_operand_ ? Open::Group : Open::Call);
      case '[':
        return open(wants_operand_ ? Open::List : Open::Subscript);
      case '{':
        return wants_operand_ && open(Open::Braces);
      case ')':
        return close(Open::Group, Open::Call);
      case ']':
        return close(Open::List, Open::Subscript);
      case '}':
        return close(Open::Braces, Open::Braces);
      case ',':
        if (at_top() ? place_ != TextPlace::Field : wants_operand_ && !inside(Open::Lambda))
          return false;
        return !(wants_operand_ && at_top()) && wants_another(true);
      case ':':
        return colon();
      case '.':
        return dot();
      case '=':
        return equals();
      case '!':
        if (!follows("=") || wants_operand_) return false;
        ++at_;
        return wants_another();
    }
    return operation(c);
  }

  bool colon() {
    if (follows("=")) {  // a name, bound inside brackets
      ++at_;
      return in_brackets() && is_name_ && wants_another();
    }
    if (inside(Open::Lambda)) {
      if (wants_operand_ && !may_end_) return false;
      open_.pop_back();
      return wants_another();
    }
    if (inside(Open::Subscript)) return wants_another(true);
    return inside(Open::Braces) && !wants_operand_ && wants_another();
  }

  bool dot() {
    if (wants_operand_) {
      if (!follows("..")) return false;
      at_ += 2;
      return literal();
    }
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const std::size_t begin = at_;
    if (at_ >= text_.size() || !is_letter(text_[at_])) return false;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ < text_.size() && is_quote(text_[at_])) return false;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (is_keyword(name, version_)) return false;
    acts_.append(".").append(name) += ' ';
    operand();
    return true;
  }

  bool equals() {
    if (wants_operand_) return false;
    if (follows("=")) {
      ++at_;
      return wants_another();
    }
    const bool keyword = is_name_ && (inside(Open::Call) || inside(Open::Lambda));
    return keyword && wants_another();
  }

  bool operation(char c) {
    static constexpr std::string_view kBinary = "+-*/%@&|^<>", kUnary = "+-~";
    if (wants_operand_) {
      if (kUnary.find(c) != std::string_view::npos) return wants_another();
      if (c == '/' && inside(Open::Lambda)) {
        operand();
        return true;
      }
      if (c != '*') return false;
      const bool dictionary = follows("*");
      if (dictionary) ++at_;
      // `*Ts` of `*args: *Ts`; in a lambda `*` may stand alone.
      return (!dictionary || !at_top()) && wants_another(inside(Open::Lambda));
    }
    if (kBinary.find(c) == std::string_view::npos) return false;
    if ((c == '*' || c == '/' || c == '<' || c == '>') && text_.substr(at_, 1) == std::string(1, c))
      ++at_;
    if ((c == '<' || c == '>') && follows("=")) ++at_;
    return wants_another();
  }
};

}  // namespace

std::optional<std::string> acts_of_text(std::string_view text, PyVersion version, TextPlace place) {
  return TextReader(text, version, place).read();
}

}  // namespace depyf
