#pragma once
// Line numbers of a code object, in the three encodings of CPython 3.7 … 3.15.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "pyc/code_object.h"

namespace depyf {

/// Walks a line table forwards. Sources: Objects/lnotab_notes.txt (co_lnotab up to 3.9,
/// co_linetable of 3.10), Objects/locations.md (co_linetable from 3.11).
class LineCursor {
 public:
  explicit LineCursor(const CodeObject& code);

  /// The line of the code unit (two bytes) at `unit`; 0 for none. Calls must not go backwards.
  std::int32_t at(std::uint32_t unit) {
    while (unit >= end_) {
      if (!advance_short_location() && !advance()) return last_;
    }
    return current_;
  }
  /// The columns in the source of what at() was last asked for (3.11+): the first in the upper
  /// half, the one after the last in the lower half, each plus one and at most 65535; 0 for
  /// unknown.
  std::uint32_t columns() const { return columns_; }
  /// Since 3.10 (PEP 626) what has no line of its own is told apart from what has.
  bool exact() const { return encoding_ != Encoding::Lnotab; }
  bool has_columns() const { return encoding_ == Encoding::Locations; }

 private:
  enum class Encoding : std::uint8_t { Lnotab, Ranges, Locations };
  // To the next range of code units; false at the end of the table.
  bool advance() { return encoding_ == Encoding::Locations ? advance_location() : advance_lines(); }
  bool advance_lines();
  bool advance_location();
  /// Nearly all locations (3.11+) are of two or three bytes; false: this one is not, or the table
  /// is about to end.
  bool advance_short_location() {
    const std::uint8_t* const at = at_;
    if (at >= long_) return false;
    const std::uint32_t first = at[0], kind = first >> 3 & 15;
    if (kind < 10) {
      const std::uint32_t from = kind << 3 | at[1] >> 4;
      set_columns(from, from + (at[1] & 15));
      at_ = at + 2;
    } else if (kind <= 12) {
      add(static_cast<std::int32_t>(kind - 10));
      set_columns(at[1], at[2]);
      at_ = at + 3;
    } else {
      return false;
    }
    end_ += (first & 7) + 1U;
    current_ = line_;
    return true;
  }
  /// Both below 65535.
  void set_columns(std::uint32_t first, std::uint32_t end) {
    columns_ = (first + 1) << 16 | (end + 1);
  }
  std::uint32_t byte() { return at_ != stop_ ? *at_++ : 0; }
  std::uint32_t varint() { return at_ != stop_ && *at_ < 64 ? *at_++ : long_varint(); }
  std::uint32_t long_varint();
  std::int32_t signed_varint();
  void add(std::int32_t delta) {
    line_ = static_cast<std::int32_t>(static_cast<std::uint32_t>(line_) +
                                      static_cast<std::uint32_t>(delta));
  }

  const std::uint8_t *at_, *stop_;  // what is left of the table
  const std::uint8_t* long_;        // from here on the table has no room for any short location
  Encoding encoding_;
  std::uint32_t end_ = 0;      // first unit after the current range
  std::uint64_t address_ = 0;  // in bytes
  std::int32_t line_ = 0, current_ = 0;
  std::int32_t last_ = 0;  // for units after the table
  std::uint32_t columns_ = 0;
};

/// Is this the place (LineCursor::columns()) of one of the words?
inline bool has_width_of(std::uint32_t columns, std::initializer_list<std::string_view> words) {
  const std::uint32_t width = (columns & 0xFFFF) - (columns >> 16);
  return columns != 0 && std::any_of(words.begin(), words.end(),
                                     [&](std::string_view word) { return width == word.size(); });
}
inline bool is_jump_width(std::uint32_t columns) {
  return has_width_of(columns, {"break", "continue"});
}

}  // namespace depyf
