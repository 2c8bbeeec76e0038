#include "structure/unfold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "opcode/arithmetic.h"

namespace depyf {
namespace {

bool is_small_integer(const Const& value) { return value.kind == ConstKind::Int && !value.big; }

Const integer(std::int64_t value) {
  Const out;
  out.kind = ConstKind::Int;
  out.integer = value;
  return out;
}

Const real(double value) {
  Const out;
  out.kind = ConstKind::Float;
  out.re = value;
  return out;
}

std::int64_t inverse(BinaryOp op, std::int64_t result, std::int64_t right) {
  const bool reversible = std::abs(result) < INT32_MAX && std::abs(right) < INT32_MAX;
  if (op == BinaryOp::Add && reversible) return result - right;
  if (op == BinaryOp::Subtract && reversible) return result + right;
  if (op == BinaryOp::Multiply && reversible && right != 0) return result / right;
  if (op == BinaryOp::FloorDivide && reversible) return result * right;
  if (op == BinaryOp::Xor) return result ^ right;
  if (op == BinaryOp::LShift && right >= 0 && right < 63) return result >> right;
  if (op == BinaryOp::RShift && reversible && right >= 0 && right < 31)
    return result * (std::int64_t{1} << right);
  return result;  // `x & y & y`, `x % y % y`
}

double applied(BinaryOp op, double x, double y) {
  if (op == BinaryOp::Add) return x + y;
  if (op == BinaryOp::Subtract) return x - y;
  if (op == BinaryOp::Multiply) return x * y;
  if (op == BinaryOp::TrueDivide && y != 0) return x / y;
  if (op == BinaryOp::Power && x > 0) return std::pow(x, y);
  return std::numeric_limits<double>::quiet_NaN();
}

double inverse(BinaryOp op, double result, double right) {
  if (op == BinaryOp::Add) return result - right;
  if (op == BinaryOp::Subtract) return result + right;
  if (op == BinaryOp::Multiply) return result / right;
  if (op == BinaryOp::Power) return std::pow(result, 1 / right);
  return result * right;
}

/// Rounding may give a neighbour of the number, which the result tells.
std::optional<Const> left_float_of(BinaryOp op, double result, double right) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double middle = inverse(op, result, right);
  double below = middle, above = middle;
  for (int distance = 0; distance < 4; ++distance) {
    for (double x : {below, above})
      if (std::bit_cast<std::uint64_t>(applied(op, x, right)) ==
          std::bit_cast<std::uint64_t>(result))
        return real(x);
    below = std::nextafter(below, -infinity);
    above = std::nextafter(above, infinity);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Const> operand_of(UnaryOp op, const Const& result) {
  const bool truth = result.kind == ConstKind::True || result.kind == ConstKind::False;
  if (op == UnaryOp::Not && truth) {
    Const out;
    out.kind = result.kind == ConstKind::True ? ConstKind::False : ConstKind::True;
    return out;
  }
  if (is_small_integer(result) && op != UnaryOp::Not) {
    const std::optional<std::int64_t> value = computed(op, result.integer);
    return value ? std::optional(integer(*value)) : std::nullopt;
  }
  const bool number = result.kind == ConstKind::Float || result.kind == ConstKind::Complex;
  if (!number || (op != UnaryOp::Plus && op != UnaryOp::Minus)) return std::nullopt;
  Const out = result;
  if (op == UnaryOp::Minus) {
    out.re = -out.re;
    if (out.kind == ConstKind::Complex) out.im = -out.im;
  }
  return out;
}

std::optional<Const> left_operand_of(BinaryOp op, const Const& result, const Const& right) {
  if (is_small_integer(result) && is_small_integer(right)) {
    const std::int64_t x = inverse(op, result.integer, right.integer);
    const std::optional<std::int64_t> value = computed(op, x, right.integer);
    return value == result.integer ? std::optional(integer(x)) : std::nullopt;
  }
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (result.kind == ConstKind::Float && right.kind == ConstKind::Float)
    return left_float_of(op, result.re, right.re);
  if (result.kind == ConstKind::Float && is_small_integer(right) && right.integer <= kExact &&
      right.integer >= -kExact)
    return left_float_of(op, result.re, static_cast<double>(right.integer));
  Const out = result;
  if (op != BinaryOp::Add || result.kind != right.kind) return std::nullopt;
  if (result.kind == ConstKind::Str || result.kind == ConstKind::Bytes) {
    if (!result.text.ends_with(right.text)) return std::nullopt;
    out.text.remove_suffix(right.text.size());
    return out;
  }
  if (result.kind == ConstKind::Tuple && result.items.size() >= right.items.size()) {
    out.items = result.items.first(result.items.size() - right.items.size());
    return out;
  }
  return std::nullopt;
}

}  // namespace depyf
