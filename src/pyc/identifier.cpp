#include "pyc/identifier.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace depyf {

bool is_keyword(std::string_view name, PyVersion) {
  // Every version from 3.7 on has the same reserved words. By length:
  static constexpr std::string_view words[] = {
      "as",     "if",     "in",     "is",     "or",     "and",     "def",      "del",      "for",
      "not",    "try",    "None",   "True",   "elif",   "else",    "from",     "pass",     "with",
      "False",  "async",  "await",  "break",  "class",  "raise",   "while",    "yield",    "assert",
      "except", "global", "import", "lambda", "return", "finally", "continue", "nonlocal",
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

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

enum ByteClass : std::uint8_t { kAscii = 0, kNoLetter = 1, kSurrogateLead = 2, kOther = 4 };

constexpr auto kByteClass = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    const char c = static_cast<char>(byte);
    table[byte] = byte >= 0x80 ? kOther : is_letter(c) || is_digit(c) ? kAscii : kNoLetter;
  }
  table[0xED] = kSurrogateLead | kOther;  // ED A0 … ED BF; before other bytes it begins a letter
  return table;
}();

/// Of all bytes together.
std::uint8_t byte_classes(std::string_view name) {
  std::uint8_t classes = kAscii;
  for (char c : name) classes |= kByteClass[static_cast<unsigned char>(c)];
  return classes;
}

bool is_identifier(std::string_view name, std::uint8_t classes) {
  if (name.empty() || is_digit(name.front()) || (classes & kNoLetter)) return false;
  if (!(classes & kSurrogateLead)) return true;
  for (std::size_t i = 0; i + 1 < name.size(); ++i)
    if (static_cast<unsigned char>(name[i]) == 0xED &&
        static_cast<unsigned char>(name[i + 1]) >= 0xA0)
      return false;
  return true;
}

using CodePoints = std::vector<std::uint32_t>;

/// The characters of UTF-8; none where it is invalid.
std::optional<CodePoints> code_points(std::string_view text) {
  CodePoints out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80    ? 1
                               : lead < 0xC2  ? 0
                               : lead < 0xE0  ? 2
                               : lead < 0xF0  ? 3
                               : lead <= 0xF4 ? 4
                                              : 0;
    if (length == 0 || length > text.size() - i) return std::nullopt;
    std::uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if ((byte & 0xC0) != 0x80) return std::nullopt;
      point = point << 6 | (byte & 0x3F);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < least[length] || point > 0x10FFFF) return std::nullopt;
    out.push_back(point);
    i += length;
  }
  return out;
}

/// Characters beyond ASCII, each of which NFKC leaves alone, that an identifier may hold.
struct Part {
  std::uint32_t first, last;
  std::uint8_t since, starts_since;  // minor versions of CPython
};
constexpr Part kParts[] = {
#define PART(first, last, since, starts_since) {first, last, since, starts_since},
#define COMPOSED(character, first, second)
#define CLASS(first, last, number)
#include "pyc/identifiers.def"
#undef PART
#undef COMPOSED
#undef CLASS
};

struct Composed {
  std::uint32_t character, first, second;
};
constexpr Composed kComposed[] = {
#define PART(first, last, since, starts_since)
#define COMPOSED(character, first, second) {character, first, second},
#define CLASS(first, last, number)
#include "pyc/identifiers.def"
#undef PART
#undef COMPOSED
#undef CLASS
};

struct CombiningClass {
  std::uint32_t first, last;
  std::uint8_t number;
};
constexpr CombiningClass kClasses[] = {
#define PART(first, last, since, starts_since)
#define COMPOSED(character, first, second)
#define CLASS(first, last, number) {first, last, number},
#include "pyc/identifiers.def"
#undef PART
#undef COMPOSED
#undef CLASS
};

template <class Range, std::size_t N>
const Range* find_range(const Range (&table)[N], std::uint32_t point) {
  const Range* after =
      std::upper_bound(std::begin(table), std::end(table), point,
                       [](std::uint32_t at, const Range& range) { return at < range.first; });
  return after != std::begin(table) && point <= after[-1].last ? after - 1 : nullptr;
}

std::uint8_t combining_class(std::uint32_t point) {
  const CombiningClass* found = find_range(kClasses, point);
  return found ? found->number : std::uint8_t{0};
}

// Hangul syllables are composed by arithmetic (The Unicode Standard, section 3.12).
constexpr std::uint32_t kS = 0xAC00, kL = 0x1100, kV = 0x1161, kT = 0x11A7;
constexpr std::uint32_t kLs = 19, kVs = 21, kTs = 28;

/// What two characters compose to, 0 where they do not.
std::uint32_t composed(std::uint32_t first, std::uint32_t second) {
  if (first - kL < kLs && second - kV < kVs) return kS + ((first - kL) * kVs + (second - kV)) * kTs;
  if (first - kS < kLs * kVs * kTs && (first - kS) % kTs == 0 && second - kT - 1 < kTs - 1)
    return first + (second - kT);
  static const std::vector<Composed> by_parts = [] {
    std::vector<Composed> all(std::begin(kComposed), std::end(kComposed));
    std::sort(all.begin(), all.end(), [](const Composed& a, const Composed& b) {
      return std::pair(a.first, a.second) < std::pair(b.first, b.second);
    });
    return all;
  }();
  const auto found = std::lower_bound(by_parts.begin(), by_parts.end(), std::pair(first, second),
                                      [](const Composed& at, const auto& wanted) {
                                        return std::pair(at.first, at.second) < wanted;
                                      });
  return found != by_parts.end() && found->first == first && found->second == second
             ? found->character
             : 0;
}

/// Appends the canonical decomposition of a character that NFKC leaves alone.
void decompose(std::uint32_t point, CodePoints& out) {
  if (point - kS < kLs * kVs * kTs) {
    const std::uint32_t at = point - kS;
    out.push_back(kL + at / (kVs * kTs));
    out.push_back(kV + at / kTs % kVs);
    if (at % kTs) out.push_back(kT + at % kTs);
    return;
  }
  CodePoints marks;  // last first
  for (;;) {
    const Composed* found = std::lower_bound(
        std::begin(kComposed), std::end(kComposed), point,
        [](const Composed& at, std::uint32_t wanted) { return at.character < wanted; });
    if (found == std::end(kComposed) || found->character != point) break;
    marks.push_back(found->second);
    point = found->first;
  }
  out.push_back(point);
  out.insert(out.end(), marks.rbegin(), marks.rend());
}

/// Is a text of characters that NFKC leaves alone one by one left alone as a whole?
bool is_normalized(const CodePoints& points) {
  CodePoints parts;
  for (std::uint32_t point : points) decompose(point, parts);
  // Marks in the order of their classes.
  for (std::size_t i = 0; i < parts.size();) {
    std::size_t end = i;
    while (end < parts.size() && combining_class(parts[end]) != 0) ++end;
    std::stable_sort(
        parts.begin() + static_cast<std::ptrdiff_t>(i),
        parts.begin() + static_cast<std::ptrdiff_t>(end),
        [](std::uint32_t a, std::uint32_t b) { return combining_class(a) < combining_class(b); });
    i = end + 1;
  }
  CodePoints out;
  std::size_t starter = SIZE_MAX;  // the last one, where marks after it may go into it
  std::uint8_t last = 0;           // class of what follows it, if anything does
  for (std::uint32_t point : parts) {
    const std::uint8_t own = combining_class(point);
    const bool adjacent = starter != SIZE_MAX && starter + 1 == out.size();
    if (starter != SIZE_MAX && (adjacent || (last != 0 && last < own))) {
      if (const std::uint32_t one = composed(out[starter], point)) {
        out[starter] = one;
        continue;
      }
    }
    if (own == 0) starter = out.size();
    last = own;
    out.push_back(point);
  }
  return out == points;
}

}  // namespace

bool is_identifier(std::string_view name) { return is_identifier(name, byte_classes(name)); }

bool is_debug_name(std::string_view name) { return name == "__debug__"; }

bool is_writable_name(std::string_view name, PyVersion version) {
  const std::uint8_t classes = byte_classes(name);
  if (!is_identifier(name, classes)) return false;
  if (classes == kAscii) return !is_keyword(name, version) && !is_debug_name(name);
  const std::optional<CodePoints> points = code_points(name);
  if (!points) return false;
  bool marks = false;
  for (std::size_t i = 0; i < points->size(); ++i) {
    const std::uint32_t point = (*points)[i];
    if (point < 0x80) continue;
    const Part* part = find_range(kParts, point);
    if (!part || version.minor < (i == 0 ? part->starts_since : part->since)) return false;
    // What may compose with what stands before it: all marks, some vowel signs, Hangul.
    marks = marks || point >= 0x300;
  }
  return !marks || is_normalized(*points);
}

std::uint8_t Module::learn_traits(StrId id) const {
  const std::string_view name = strings[id.index];
  std::uint8_t traits = kKnownName;
  if (is_writable_name(name, version)) traits |= kWritableName;
  if (name.size() >= 4 && name[0] == '_' && name[1] != '_' && name.find("__", 2) != name.npos)
    traits |= kPerhapsMangled;
  if (name.starts_with("__") && !name.ends_with("__") && name.find('.') == name.npos)
    traits |= kPrivateName;
  if (name_traits.size() <= id.index) name_traits.resize(strings.size());
  return name_traits[id.index] = traits;
}

bool is_writable_dotted_name(std::string_view name, PyVersion version) {
  while (true) {
    const std::size_t dot = name.find('.');
    if (!is_writable_name(name.substr(0, dot), version)) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace depyf
