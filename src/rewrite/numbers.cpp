// `0x1F`, `0o755`, `0b101`, `1_000_000`: the value does not tell how a number was written, but how wide it was does (columns of 3.11+).
#include <array>
#include <charconv>
#include <string_view>

#include "rewrite/rewriter.h"
#include "rewrite/source_columns.h"

namespace depyf {
namespace {

std::size_t digits(std::uint64_t value, int base) {
  std::array<char, 64> text;
  return static_cast<std::size_t>(std::to_chars(text.data(), text.data() + text.size(), value, base).ptr - text.data());
}

/// Of three octal digits, as wide as hexadecimal ones: permissions of a file.
bool looks_like_mode(std::uint64_t value) {
  if (value < 0400 || value > 0777 || (value & (value - 1)) == 0) return false;
  for (std::uint64_t rest = value; rest != 0; rest >>= 3)
    if ((rest & 7) != 0 && (rest & 7) < 4) return false;
  return true;
}

/// A mask or limit of so many bits, where a decimal number would be as wide.
bool looks_like_mask(std::uint64_t value) { return (value & 0xFFFF) == 0xFFFF || (value & 0xFFFF) == 0; }

constexpr std::uint32_t kPrefix = 2;  // `0x`

IntegerStyle style(std::uint64_t value, std::size_t width) {
  const std::size_t decimal = digits(value, 10);
  if (width < decimal || value == 0) return IntegerStyle::Decimal;
  const bool thousands = decimal > 3 && width == decimal + (decimal - 1) / 3;
  const bool hexadecimal = width == kPrefix + digits(value, 16), octal = width == kPrefix + digits(value, 8);
  if (width == decimal) return hexadecimal && looks_like_mask(value) && value % 10 != 0 ? IntegerStyle::Hexadecimal : IntegerStyle::Decimal;
  if (thousands && (!hexadecimal || value % 1000 == 0)) return IntegerStyle::Thousands;
  if (octal && (!hexadecimal || looks_like_mode(value))) return IntegerStyle::Octal;
  if (hexadecimal) return IntegerStyle::Hexadecimal;
  if (width == kPrefix + digits(value, 2)) return IntegerStyle::Binary;
  return IntegerStyle::Decimal;
}

}  // namespace

void restore_numbers(Rewriter& r) {
  const SourceColumns& columns = r.columns();
  if (!columns.known()) return;
  for (Expr& e : std::span(r.ast.exprs).subspan(r.ast.bodies[r.code.index].first_expr)) {
    if (e.kind != ExprKind::Constant) continue;
    const SourceSpan span = columns.at(e.origin);
    if (span.line == 0 || span.end <= span.first + kPrefix) continue;  // unknown, or decimal
    const Const& value = r.module[ConstId(e.a)];
    if (value.kind != ConstKind::Int || value.big || value.integer < 0) continue;
    e.op = static_cast<std::uint8_t>(style(static_cast<std::uint64_t>(value.integer), span.end - span.first));
  }
}

}  // namespace depyf
