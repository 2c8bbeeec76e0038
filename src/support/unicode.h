#pragma once
// UTF-8 as it stands in bytecode, where names and constants may hold anything.

#include <cstdint>
#include <string>
#include <string_view>

namespace depyf {

struct CodePoint {
  std::uint32_t value;
  std::uint32_t length;  // bytes
  bool valid;
};

/// Decodes one code point of UTF-8 with surrogates let through. An invalid byte comes back alone,
/// as it is.
CodePoint decode_utf8(std::string_view text, std::size_t at);

/// False for code points above U+007F that str.__repr__ escapes and that can confuse a reader:
/// control, format and separator characters, surrogates, private use, non-characters (general
/// categories Cc, Cf, Cs, Co, Zl, Zp, Zs of the Unicode database).
bool is_printable(std::uint32_t c);

/// U+0000 to U+001F, and U+007F.
inline bool is_control(std::uint32_t c) { return c < 0x20 || c == 0x7F; }

/// The last `digits` digits of `value`, with which an escape ends.
void append_hex(std::string& out, std::uint32_t value, int digits);

/// The escape of a Python string literal: \x1b, \u202e, \U000e0001.
void append_code_point_escape(std::string& out, const CodePoint& point);

/// Verbatim: newlines and tabs stand as they are.
enum class Lines : std::uint8_t { Escaped, Verbatim };

/// A name or a message as it can be written to a terminal: what could move the cursor, colour,
/// reorder or hide text becomes its escape.
std::string terminal_text(std::string_view text, Lines lines = Lines::Escaped);

}  // namespace depyf
