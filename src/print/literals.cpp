#include "print/literals.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <vector>

namespace depyf {

std::string_view quote_text(Quote quote) {
  switch (quote) {
    case Quote::Single:
      return "'";
    case Quote::Double:
      return "\"";
    case Quote::TripleSingle:
      return "'''";
    case Quote::TripleDouble:
      return "\"\"\"";
  }
  return "'";
}

std::uint8_t quote_mask(Quote quote) {
  switch (quote) {
    case Quote::Single:
      return kSingle;
    case Quote::Double:
      return kDouble;
    case Quote::TripleSingle:
      return kSingle | kTripleSingle;
    case Quote::TripleDouble:
      return kDouble | kTripleDouble;
  }
  return 0;
}

bool quote_admits(Quote quote, std::uint8_t mask) {
  if (mask & (kBackslash | kImpossible)) return false;
  switch (quote) {
    case Quote::Single:
      return !(mask & (kSingle | kNewline));
    case Quote::Double:
      return !(mask & (kDouble | kNewline));
    case Quote::TripleSingle:
      return !(mask & kTripleSingle);
    case Quote::TripleDouble:
      return !(mask & kTripleDouble);
  }
  return false;
}

namespace {

/// By byte: does it never need an escape, whatever the delimiter?
constexpr auto kStandsForItself = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0x20; byte < 0x7F; ++byte)
    table[byte] =
        std::string_view("\\'\"{}").find(static_cast<char>(byte)) == std::string_view::npos;
  return table;
}();

bool is_triple(Quote quote) { return quote == Quote::TripleSingle || quote == Quote::TripleDouble; }
char quote_char(Quote quote) {
  return quote == Quote::Single || quote == Quote::TripleSingle ? '\'' : '"';
}

Quote best_quote(std::string_view text) {
  return text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos
             ? Quote::Double
             : Quote::Single;
}

/// The first delimiter in which `text` can stand without any escape.
bool plain_quote(std::string_view text, bool bytes, Quote& quote) {
  std::uint8_t mask = text_mask(text);
  if (bytes)
    for (char c : text)
      if (static_cast<std::uint8_t>(c) >= 0x80) return false;
  for (Quote q : {Quote::Single, Quote::Double, Quote::TripleSingle, Quote::TripleDouble}) {
    if (!quote_admits(q, mask)) continue;
    if (is_triple(q) && !text.empty() && text.back() == quote_char(q)) continue;
    quote = q;
    return true;
  }
  return false;
}

}  // namespace

std::string comment_text(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const CodePoint point = decode_utf8(line, at);
    if (point.valid && is_control(point.value))
      out += ' ';
    else if (point.valid && (point.value < 0x80 || is_printable(point.value)))
      out += line.substr(at, point.length);
    else
      append_code_point_escape(out, point);
    at += point.length;
  }
  return out;
}

void append_big_integer(std::string& out, std::string_view text) {
  if (!text.empty() && text.front() == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  constexpr std::size_t kLongestDecimal = 3500;
  if (text.size() > kLongestDecimal) {
    out += "0x";
    out += text;
    return;
  }
  std::vector<std::uint32_t> limbs;  // base 1e9, least significant first
  for (char c : text) {
    std::uint64_t carry = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    for (std::uint32_t& limb : limbs) {
      carry += static_cast<std::uint64_t>(limb) * 16;
      limb = static_cast<std::uint32_t>(carry % 1000000000);
      carry /= 1000000000;
    }
    if (carry) limbs.push_back(static_cast<std::uint32_t>(carry));
  }
  if (limbs.empty()) limbs.push_back(0);
  char buffer[16];
  for (std::size_t i = limbs.size(); i-- > 0;) {
    auto end = std::to_chars(buffer, buffer + sizeof buffer, limbs[i]).ptr;
    if (i + 1 != limbs.size()) out.append(9 - static_cast<std::size_t>(end - buffer), '0');
    out.append(buffer, end);
  }
}

namespace {

/// repr of a finite non-negative double; `point`: with ".0" where it would look like an integer.
void append_finite(std::string& out, double value, bool point) {
  char buffer[64];
  char* end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  char* e = std::find(buffer, end, 'e');
  int exponent = 0;
  std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
  std::string_view digits_first(buffer, 1);
  std::string_view digits_rest =
      e - buffer > 2 ? std::string_view(buffer + 2, static_cast<std::size_t>(e - buffer - 2))
                     : std::string_view();
  int count = 1 + static_cast<int>(digits_rest.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits_first;
    if (!digits_rest.empty()) {
      out += '.';
      out += digits_rest;
    }
    out += 'e';
    out += exponent < 0 ? '-' : '+';
    int magnitude = std::abs(exponent);
    if (magnitude < 10) out += '0';
    char text[8];
    out.append(text, std::to_chars(text, text + sizeof text, magnitude).ptr);
    return;
  }
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0');
    out += digits_first;
    out += digits_rest;
    return;
  }
  out += digits_first;
  if (count <= exponent + 1) {
    out += digits_rest;
    out.append(static_cast<std::size_t>(exponent + 1 - count), '0');
    if (point) out += ".0";
    return;
  }
  out += digits_rest.substr(0, static_cast<std::size_t>(exponent));
  out += '.';
  out += digits_rest.substr(static_cast<std::size_t>(exponent));
}

void append_magnitude(std::string& out, double value, bool point) {
  if (std::isinf(value))
    out += "1e309";
  else
    append_finite(out, value, point);
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// What CPython folds `left + right j` or `left - right j` to: up to 3.13 the real operand becomes
/// a complex number with imaginary part 0.0 first; since 3.14 mixed arithmetic keeps the imaginary
/// part as it is (C11 annex G).
struct Parts {
  double re, im;
};
Parts fold_sum(double left, double right, bool minus, bool mixed) {
  if (minus) return {left - 0.0, mixed ? -right : 0.0 - right};
  return {left + 0.0, mixed ? right : 0.0 + right};
}

void append_real_operand(std::string& out, double value) {
  if (std::isnan(value)) {
    append_float(out, value);
    return;
  }
  if (std::signbit(value)) out += '-';
  append_magnitude(out, std::fabs(value), value == 0 && std::signbit(value));
}

}  // namespace

void append_integer(std::string& out, std::uint64_t value, int base, int group) {
  out += base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
  std::array<char, 64> text;
  const char* end = std::to_chars(text.data(), text.data() + text.size(), value, base).ptr;
  for (const char* at = text.data(); at != end; ++at) {
    if (group != 0 && at != text.data() && (end - at) % group == 0) out += '_';
    out += *at;
  }
}

void append_float(std::string& out, double value) {
  if (std::isnan(value)) {
    // The difference of two infinities is a NaN with the sign bit set on x86; minus it has none.
    bool negative = std::signbit(1e308 * 10 - 1e308 * 10);
    out += std::signbit(value) == negative ? "(1e309 - 1e309)" : "(-(1e309 - 1e309))";
    return;
  }
  if (std::signbit(value)) out += '-';
  append_magnitude(out, std::fabs(value), true);
}

void append_complex(std::string& out, double re, double im, PyVersion version) {
  if (std::isnan(re) || std::isnan(im)) {
    out += '(';
    append_real_operand(out, re);
    out += std::signbit(im) && !std::isnan(im) ? " - " : " + ";
    if (std::isnan(im)) {
      out += "(1e309j - 1e309j)";
    } else {
      append_magnitude(out, std::fabs(im), false);
      out += 'j';
    }
    out += ')';
    return;
  }
  double magnitude = std::fabs(im);
  if (same_bits(re, 0.0) && !std::signbit(im)) {
    append_magnitude(out, magnitude, false);
    out += 'j';
    return;
  }
  if (same_bits(re, -0.0) && std::signbit(im)) {
    out += "(-";
    append_magnitude(out, magnitude, false);
    out += "j)";
    return;
  }
  bool mixed = version >= PyVersion{3, 14};
  for (int form = 0; form < 4; ++form) {
    bool negated = form >= 2, minus = form % 2 == 1;
    double left = negated ? -re : re;
    Parts parts = fold_sum(left, magnitude, minus, mixed);
    if (negated) parts = {-parts.re, -parts.im};
    if (!same_bits(parts.re, re) || !same_bits(parts.im, im)) continue;
    out += negated ? "(-(" : "(";
    append_real_operand(out, left);
    out += minus ? " - " : " + ";
    append_magnitude(out, magnitude, false);
    out += negated ? "j))" : "j)";
    return;
  }
  // Every sign of both parts has a form above; a change of the folding rules shows here as another
  // value, never as an error.
  out += '(';
  append_real_operand(out, re);
  out += std::signbit(im) ? " - " : " + ";
  append_magnitude(out, magnitude, false);
  out += "j)";
}

void append_escaped(std::string& out, std::string_view text, Quote quote, Braces braces,
                    Lines lines) {
  char delimiter = quote_char(quote);
  bool triple = is_triple(quote);
  // Inside triple quotes a quote is escaped where it would end the literal.
  auto ends_literal = [&](std::size_t at) {
    return !triple || at + 1 == text.size() ||
           (at + 2 < text.size() && text[at + 1] == delimiter && text[at + 2] == delimiter) ||
           (at + 2 == text.size() && text[at + 1] == delimiter);
  };
  std::size_t run = 0;  // start of the text not yet copied
  std::size_t i = 0;
  auto flush = [&](std::size_t end) { out.append(text, run, end - run); };
  const auto stands = [&](std::size_t at) {
    return kStandsForItself[static_cast<std::uint8_t>(text[at])];
  };
  for (;;) {
    while (text.size() - i >= 4 && (stands(i) & stands(i + 1) & stands(i + 2) & stands(i + 3)))
      i += 4;
    while (i < text.size() && stands(i)) ++i;
    if (i >= text.size()) break;
    char c = text[i];
    auto byte = static_cast<std::uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      if (c == '\\' || (c == delimiter && ends_literal(i))) {
        flush(i);
        out += '\\';
        run = i;
      } else if ((c == '{' || c == '}') && braces != Braces::Plain) {
        flush(i);
        if (braces == Braces::Doubled) {
          out += c;
          run = i;
        } else {
          out += c == '{' ? "\\x7b" : "\\x7d";
          run = i + 1;
        }
      }
      ++i;
      continue;
    }
    if (byte < 0x80) {
      if (lines == Lines::Verbatim && (c == '\n' || c == '\t')) {
        ++i;
        continue;
      }
      flush(i);
      switch (c) {
        case '\n':
          out += "\\n";
          break;
        case '\r':
          out += "\\r";
          break;
        case '\t':
          out += "\\t";
          break;
        default:  // a character, not an enumerator
          out += "\\x";
          append_hex(out, byte, 2);
      }
      run = ++i;
      continue;
    }
    CodePoint point = decode_utf8(text, i);
    if (!point.valid || !is_printable(point.value)) {
      flush(i);
      if (point.value < 0x100) {
        out += "\\x";
        append_hex(out, point.value, 2);
      } else if (point.value < 0x10000) {
        out += "\\u";
        append_hex(out, point.value, 4);
      } else {
        out += "\\U";
        append_hex(out, point.value, 8);
      }
      run = i + point.length;
    }
    i += point.length;
  }
  flush(text.size());
}

void append_string(std::string& out, std::string_view text) {
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return kStandsForItself[static_cast<std::uint8_t>(c)]; })) {
    out += '\'';
    out += text;
    out += '\'';
    return;
  }
  Quote quote = best_quote(text);
  out += quote_text(quote);
  append_escaped(out, text, quote, Braces::Plain);
  out += quote_text(quote);
}

void append_bytes(std::string& out, std::string_view text) {
  Quote quote = best_quote(text);
  out += 'b';
  out += quote_text(quote);
  char delimiter = quote_char(quote);
  for (char c : text) {
    auto byte = static_cast<std::uint8_t>(c);
    if (c == delimiter || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += "\\x";
      append_hex(out, byte, 2);
    }
  }
  out += quote_text(quote);
}

std::uint8_t text_mask(std::string_view text) {
  std::uint8_t mask = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    auto byte = static_cast<std::uint8_t>(c);
    if (c == '\'' || c == '"') {
      bool triple = i + 2 < text.size() && text[i + 1] == c && text[i + 2] == c;
      mask |= c == '\'' ? (triple ? kSingle | kTripleSingle : kSingle)
                        : (triple ? kDouble | kTripleDouble : kDouble);
    } else if (c == '\n') {
      mask |= kNewline;
    } else if (c == '\\' || c == '\r' || c == '\0') {
      mask |= kBackslash;
    } else if (byte >= 0x80) {
      CodePoint point = decode_utf8(text, i);
      if (!point.valid || (point.value >= 0xD800 && point.value < 0xE000)) mask |= kBackslash;
      i += point.length - 1;
    }
  }
  return mask;
}

std::uint8_t plain_string_mask(std::string_view text, bool bytes) {
  Quote quote;
  if (!plain_quote(text, bytes, quote)) return kImpossible;
  return static_cast<std::uint8_t>(text_mask(text) | quote_mask(quote));
}

void append_plain_string(std::string& out, std::string_view text, bool bytes) {
  Quote quote;
  if (!plain_quote(text, bytes, quote)) {
    bytes ? append_bytes(out, text) : append_string(out, text);
    return;
  }
  if (bytes) out += 'b';
  out += quote_text(quote);
  out += text;
  out += quote_text(quote);
}

namespace {

/// Where the line after the one at `at` begins.
std::size_t next_line(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

/// inspect.cleandoc as CPython 3.13's compiler does it (Python/compile.c, _PyCompile_CleanDoc),
/// without the expansion of tabs: a docstring that came out of it holds none where it matters, and
/// one with tabs is printed with escapes.
std::string clean_docstring(std::string_view doc) {
  const auto after_spaces = [&](std::size_t at) {
    return std::min(doc.find_first_not_of(' ', at), doc.size());
  };
  const std::size_t second = next_line(doc, 0);
  std::size_t margin = SIZE_MAX;
  for (std::size_t at = second; at < doc.size(); at = next_line(doc, at)) {
    const std::size_t text = after_spaces(at);
    if (text < doc.size() && doc[text] != '\n') margin = std::min(margin, text - at);
  }
  if (margin == SIZE_MAX) margin = 0;
  const std::size_t first = after_spaces(0);
  if (first == 0 && margin == 0) return std::string(doc);
  std::string out(doc.substr(first, second - first));
  for (std::size_t at = second; at < doc.size();) {
    const std::size_t next = next_line(doc, at), text = std::min(after_spaces(at), at + margin);
    out += doc.substr(text, next - text);
    at = next;
  }
  return out;
}

}  // namespace

bool is_clean_docstring(std::string_view text) {
  return text.find('\t') == std::string_view::npos && clean_docstring(text) == text;
}

std::string shortened(std::string_view docstring, std::size_t width) {
  constexpr std::string_view kBlank = " \t\r\n\f\v", kMore = " ...";
  const std::size_t begin = docstring.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return std::string(kMore.substr(1));
  const std::size_t end = std::min(docstring.find_first_of("\r\n", begin), docstring.size());
  std::string_view line = docstring.substr(begin, end - begin);
  if (docstring.find_first_of("\r\n") == std::string_view::npos && docstring.size() <= width)
    return std::string(docstring);
  if (line.size() + kMore.size() > width) {
    line = line.substr(0, width - kMore.size() + 1);
    // at a blank, and never inside of a character
    const std::size_t blank = line.find_last_of(' ');
    if (blank == std::string_view::npos) return std::string(kMore.substr(1));
    line = line.substr(0, blank);
  }
  while (!line.empty() && kBlank.find(line.back()) != std::string_view::npos) line.remove_suffix(1);
  return std::string(line) += kMore;
}

void append_docstring(std::string& out, std::string_view text, std::uint32_t indent,
                      PyVersion version) {
  bool stripped = version >= PyVersion{3, 13};
  if (stripped && text.find('\t') != std::string_view::npos) {
    append_string(out, text);
    return;
  }
  Quote quote =
      text.find("\"\"\"") != std::string_view::npos && text.find("'''") == std::string_view::npos
          ? Quote::TripleSingle
          : Quote::TripleDouble;
  std::string indented;
  if (stripped && text.find('\n') != std::string_view::npos) {
    const std::string margin(indent, ' ');
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t next = next_line(text, at);
      if (at > 0 && text[at] != '\n') indented += margin;
      indented += text.substr(at, next - at);
      at = next;
    }
    if (text.back() == '\n') indented += margin;
    if (clean_docstring(indented) == text) text = indented;
  }
  if (stripped && text.data() != indented.data() && clean_docstring(text) != text) {
    append_string(out, text);
    return;
  }
  // A raw literal spares the reader the doubled backslashes.
  bool raw = text.find('\\') != std::string_view::npos && text.back() != '\\' &&
             text.back() != quote_char(quote) &&
             text.find(quote_text(quote)) == std::string_view::npos;
  for (std::size_t i = 0; raw && i < text.size();) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte >= 0x20 && byte < 0x7F) {
      ++i;
      continue;
    }
    CodePoint point = decode_utf8(text, i);
    raw = point.valid && (point.value >= 0x20 ? point.value != 0x7F && is_printable(point.value)
                                              : point.value == '\n' || point.value == '\t');
    i += point.length;
  }
  if (raw) out += 'r';
  out += quote_text(quote);
  if (raw)
    out += text;
  else
    append_escaped(out, text, quote, Braces::Plain, Lines::Verbatim);
  out += quote_text(quote);
}

}  // namespace depyf
