// `0x1F`, `0o755`, `0b101`, `1_000_000`: the value does not show how a number was written, but the
// width of the literal does (columns of 3.11+), unless the number was the result of arithmetic.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "rewrite/rewriter.h"
#include "rewrite/source_columns.h"

namespace depyf {
namespace {

std::size_t digits(std::uint64_t value, unsigned base) {
  std::size_t count = 1;
  for (; value >= base; value /= base) ++count;
  return count;
}
std::size_t decimals(std::uint64_t value) { return digits(value, 10); }

/// Three octal digits are as wide as three hexadecimal ones: the permissions of a file.
bool looks_like_mode(std::uint64_t value) {
  if (value < 0400 || value > 0777 || (value & (value - 1)) == 0) return false;
  for (std::uint64_t rest = value; rest != 0; rest >>= 3)
    if ((rest & 7) != 0 && (rest & 7) < 4) return false;
  return true;
}

/// A mask or limit of that many bits, for which a decimal number would be as wide.
bool looks_like_mask(std::uint64_t value) {
  return (value & 0xFFFF) == 0xFFFF || (value & 0xFFFF) == 0;
}

constexpr std::uint32_t kPrefix = 2;  // `0x`

IntegerStyle style(std::uint64_t value, std::size_t width) {
  const std::size_t decimal = decimals(value);
  if (width < decimal || value == 0) return IntegerStyle::Decimal;
  const bool hexadecimal = width == kPrefix + digits(value, 16);
  if (width == decimal)
    return hexadecimal && looks_like_mask(value) && value % 10 != 0 ? IntegerStyle::Hexadecimal
                                                                    : IntegerStyle::Decimal;
  const bool thousands = decimal > 3 && width == decimal + (decimal - 1) / 3;
  const bool octal = width == kPrefix + digits(value, 8);
  if (thousands && (!hexadecimal || value % 1000 == 0)) return IntegerStyle::Thousands;
  if (octal && (!hexadecimal || looks_like_mode(value))) return IntegerStyle::Octal;
  if (hexadecimal) return IntegerStyle::Hexadecimal;
  if (width == kPrefix + digits(value, 2)) return IntegerStyle::Binary;
  return IntegerStyle::Decimal;
}

std::uint64_t power_of_ten(std::size_t exponent) {
  std::uint64_t out = 1;
  while (exponent-- > 0) out *= 10;
  return out;
}

/// What people multiply without spaces: `4*1024`, `60*60`.
bool is_unit(std::uint64_t factor) { return factor == 1024 || factor == 60 || factor == 24; }

/// Is `value` the product of two numbers with these counts of digits?
bool is_product(std::uint64_t value, std::size_t left, std::size_t right, bool units) {
  const std::size_t shorter = std::min(left, right), longer = std::max(left, right);
  if (shorter > 3) return false;
  for (std::uint64_t a = std::max<std::uint64_t>(power_of_ten(shorter - 1), 2);
       a < power_of_ten(shorter); ++a) {
    if (value % a != 0 || decimals(value / a) != longer || value / a == 1) continue;
    if (!units || is_unit(a) || is_unit(value / a)) return true;
  }
  return false;
}

/// Is `value` a power of 2 … 10 whose base and exponent have these counts of digits?
bool is_power(std::uint64_t value, std::size_t base, std::size_t exponent) {
  for (std::uint64_t a = 2; a <= 10; ++a) {
    std::uint64_t rest = value, n = 0;
    for (; rest % a == 0; rest /= a) ++n;
    if (rest == 1 && n > 1 && decimals(a) == base && decimals(n) == exponent) return true;
  }
  return false;
}

/// `1 << 4`, `0xff << 8` in decimals: the shifted number is a mask.
bool is_shifted(std::uint64_t value, std::size_t left, std::size_t right) {
  for (std::uint64_t n = 1; n < 64 && (value >> n) << n == value; ++n) {
    const std::uint64_t mask = value >> n;
    if ((mask & (mask + 1)) == 0 && decimals(n) == right && decimals(mask) == left) return true;
  }
  return false;
}

/// Could the source have had an operation on two decimal numbers there, which the compiler folded
/// to this value? `2 + 2` is as wide as `0b100`.
bool may_be_folded(std::uint64_t value, std::size_t width) {
  for (const std::size_t spaces : {std::size_t{0}, std::size_t{2}})
    for (std::size_t left = 1; left < width && left < 19; ++left)
      for (const std::size_t sign : {std::size_t{1}, std::size_t{2}}) {
        if (left + sign + spaces >= width) break;
        const std::size_t right = width - left - sign - spaces;
        if (right > 18) continue;
        if (sign == 2) {
          if (is_power(value, left, right) || is_shifted(value, left, right)) return true;
          continue;
        }
        if (is_product(value, left, right, spaces == 0)) return true;
        if (spaces == 0 && width > 3) continue;  // sums have spaces
        const std::uint64_t a = power_of_ten(left - 1), b = power_of_ten(right - 1);
        const std::uint64_t most_a = power_of_ten(left) - 1, most_b = power_of_ten(right) - 1;
        if (value >= a + b && value <= most_a + most_b) return true;
        if (right <= 2 && value + b <= most_a && value + most_b >= a) return true;
      }
  return false;
}

/// A number of a body that is not as wide as its decimal literal.
struct Spelling {
  Expr* expression = nullptr;
  IntegerStyle style = IntegerStyle::Decimal;
  bool certain = false;  // the width cannot be that of arithmetic
};

/// The places of what is no constant. `return 10` in a `try` has that of the end of its `finally`.
class OtherPlaces {
 public:
  explicit OtherPlaces(const Rewriter& r) : r_(r) {}

  bool has(const Expr& e) {
    if (!looked_) {
      looked_ = true;
      for (const std::span<Expr> own : r_.own_exprs())
        for (const Expr& one : own)
          if (one.kind != ExprKind::Constant && one.origin.code == r_.code)
            places_.push_back(key(one));
      std::ranges::sort(places_);
    }
    return std::ranges::binary_search(places_, key(e));
  }

 private:
  static std::uint64_t key(const Expr& e) {
    return static_cast<std::uint64_t>(e.origin.line) << 32 | e.origin.columns;
  }

  const Rewriter& r_;
  std::vector<std::uint64_t> places_;
  bool looked_ = false;
};

}  // namespace

void restore_numbers(Rewriter& r) {
  const SourceColumns& columns = r.columns();
  if (!columns.known()) return;
  std::vector<Spelling> spellings;
  std::array<std::size_t, 5> of_style{};
  bool arithmetic = false;  // some number is as wide as no literal of its value
  OtherPlaces others(r);
  const auto look = [&](Expr& e) {
    if (e.kind != ExprKind::Constant) return;
    const Const& constant = r.module[ConstId(e.a)];
    if (constant.kind != ConstKind::Int || constant.big || constant.integer < 0) return;
    const SourceSpan span = columns.at(e.origin);
    if (span.line == 0 || span.end <= span.first + kPrefix) return;  // unknown, or decimal
    const auto value = static_cast<std::uint64_t>(constant.integer);
    const std::size_t width = span.end - span.first;
    const IntegerStyle found = style(value, width);
    if (found != IntegerStyle::Decimal && others.has(e)) return;
    if (found == IntegerStyle::Decimal) {
      const bool padded = width == 4 || width == 6 || width == 10;  // `0x0F`
      arithmetic = arithmetic || (width > decimals(value) && !padded);
      return;
    }
    const bool sure = width == decimals(value) || !may_be_folded(value, width);
    ++of_style[static_cast<std::size_t>(found)];
    spellings.push_back({&e, found, sure});
  };
  for (const std::span<Expr> own : r.own_exprs()) std::for_each(own.begin(), own.end(), look);
  for (const Spelling& s : spellings) {
    constexpr std::size_t kTable = 4;  // this many numbers of one base are not a coincidence
    const bool in_table = !arithmetic && s.style != IntegerStyle::Octal &&
                          of_style[static_cast<std::size_t>(s.style)] >= kTable;
    if (s.certain || in_table) s.expression->op = static_cast<std::uint8_t>(s.style);
  }
}

}  // namespace depyf
