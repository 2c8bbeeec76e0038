#include "opcode/arithmetic.h"

namespace depyf {

std::optional<bool> compared(CompareOp op, std::int64_t x, std::int64_t y) {
  switch (op) {
    case CompareOp::Lt:
      return x < y;
    case CompareOp::Le:
      return x <= y;
    case CompareOp::Eq:
      return x == y;
    case CompareOp::Ne:
      return x != y;
    case CompareOp::Gt:
      return x > y;
    case CompareOp::Ge:
      return x >= y;
    case CompareOp::Is:
    case CompareOp::IsNot:
    case CompareOp::In:
    case CompareOp::NotIn:
      break;
  }
  return std::nullopt;
}

namespace {

constexpr bool is_small(std::int64_t x) { return x == static_cast<std::int32_t>(x); }

}  // namespace

std::optional<std::int64_t> computed(BinaryOp op, std::int64_t x, std::int64_t y) {
  switch (op) {
    case BinaryOp::And:
      return x & y;
    case BinaryOp::Or:
      return x | y;
    case BinaryOp::Xor:
      return x ^ y;
    case BinaryOp::Add:
      if (is_small(x) && is_small(y)) return x + y;
      break;
    case BinaryOp::Subtract:
      if (is_small(x) && is_small(y)) return x - y;
      break;
    case BinaryOp::Multiply:
      if (is_small(x) && is_small(y)) return x * y;
      break;
    case BinaryOp::FloorDivide:
    case BinaryOp::Remainder: {
      if (!is_small(x) || !is_small(y) || y == 0) break;
      const bool rounds_down = x % y != 0 && (x < 0) != (y < 0);
      return op == BinaryOp::FloorDivide ? x / y - rounds_down : x % y + (rounds_down ? y : 0);
    }
    case BinaryOp::LShift:
      if (is_small(x) && y >= 0 && y < 31) return x * (std::int64_t{1} << y);
      break;
    case BinaryOp::RShift:
      if (y >= 0) return x >> (y < 63 ? y : 63);
      break;
    case BinaryOp::MatMult:
    case BinaryOp::Power:
    case BinaryOp::TrueDivide:
      break;
  }
  return std::nullopt;
}

std::optional<std::int64_t> computed(UnaryOp op, std::int64_t x) {
  switch (op) {
    case UnaryOp::Invert:
      return ~x;
    case UnaryOp::Plus:
      return x;
    case UnaryOp::Minus:
      if (is_small(x)) return -x;
      break;
    case UnaryOp::Not:
      break;
  }
  return std::nullopt;
}

}  // namespace depyf
