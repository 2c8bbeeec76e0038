#include "support/unicode.h"

#include <algorithm>
#include <iterator>

namespace depyf {

CodePoint decode_utf8(std::string_view text, std::size_t at) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::uint8_t lead = byte(at);
  std::uint32_t need = lead < 0x80                   ? 0
                       : lead >= 0xC2 && lead < 0xE0 ? 1
                       : (lead & 0xF0) == 0xE0       ? 2
                       : lead >= 0xF0 && lead < 0xF5 ? 3
                                                     : 4;
  if (need == 0) return {lead, 1, true};
  if (need == 4 || need > text.size() - at - 1) return {lead, 1, false};
  std::uint32_t value = lead & (0x3F >> need);
  for (std::uint32_t i = 1; i <= need; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {lead, 1, false};
    value = value << 6 | (byte(at + i) & 0x3F);
  }
  constexpr std::uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
  if (value < smallest[need] || value > 0x10FFFF) return {lead, 1, false};
  return {value, need + 1, true};
}

bool is_printable(std::uint32_t c) {
  struct Range {
    std::uint32_t first, last;
  };
  static constexpr Range hidden[] = {
      {0x80, 0xA0},        {0xAD, 0xAD},       {0x600, 0x605},     {0x61C, 0x61C},
      {0x6DD, 0x6DD},      {0x70F, 0x70F},     {0x890, 0x891},     {0x8E2, 0x8E2},
      {0x1680, 0x1680},    {0x180E, 0x180E},   {0x2000, 0x200F},   {0x2028, 0x202F},
      {0x205F, 0x206F},    {0x3000, 0x3000},   {0xD800, 0xF8FF},   {0xFDD0, 0xFDEF},
      {0xFEFF, 0xFEFF},    {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x110BD, 0x110BD},
      {0x110CD, 0x110CD},  {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
      {0xE0000, 0x10FFFF},
  };
  const Range* found = std::lower_bound(std::begin(hidden), std::end(hidden), c,
                                        [](const Range& r, std::uint32_t v) { return r.last < v; });
  return found == std::end(hidden) || c < found->first;
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    out += "0123456789abcdef"[value >> shift & 15];
}

void append_code_point_escape(std::string& out, const CodePoint& point) {
  const int digits = !point.valid || point.value < 0x80 ? 2 : point.value < 0x10000 ? 4 : 8;
  out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  append_hex(out, point.value, digits);
}

std::string terminal_text(std::string_view text, Lines lines) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    const bool stays = lines == Lines::Verbatim && (point.value == '\n' || point.value == '\t');
    if (point.valid &&
        (stays || (!is_control(point.value) && (point.value < 0x80 || is_printable(point.value)))))
      out += text.substr(at, point.length);
    else if (point.valid && point.value == '\n')
      out += "\\n";
    else
      append_code_point_escape(out, point);
    at += point.length;
  }
  return out;
}

}  // namespace depyf
