#include "structure/unfold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "opcode/arithmetic.h"

namespace depyf {
namespace {

Const integer(std::int64_t value) {
  Const c;
  c.kind = ConstKind::Int;
  c.integer = value;
  return c;
}

Const real(double value) {
  Const c;
  c.kind = ConstKind::Float;
  c.re = value;
  return c;
}

Const text(ConstKind kind, std::string_view value) {
  Const c;
  c.kind = kind;
  c.text = value;
  return c;
}

Const kind(ConstKind of) {
  Const c;
  c.kind = of;
  return c;
}

TEST(Unfold, IntegersGiveTheResultAgain) {
  const std::int64_t many[] = {-70, -7, -1, 0, 1, 2, 5, 30, 70, 1 << 20, INT32_MAX, INT64_MAX / 3};
  int found = 0;
  for (int op = 0; op <= static_cast<int>(BinaryOp::Xor); ++op)
    for (const std::int64_t result : many)
      for (const std::int64_t right : many)
        if (const auto left =
                left_operand_of(static_cast<BinaryOp>(op), integer(result), integer(right))) {
          ASSERT_EQ(left->kind, ConstKind::Int);
          EXPECT_EQ(computed(static_cast<BinaryOp>(op), left->integer, right), result)
              << op << ": " << left->integer << ", " << right;
          ++found;
        }
  EXPECT_GT(found, 400);
}

TEST(Unfold, FloatsGiveTheResultAgainToTheLastBit) {
  const double many[] = {0.1, -0.1, 1.0 / 3, 3.7, 1e300, 5e-324, 60.0, 0.0};
  int sums = 0;
  for (const double left : many)
    for (const double right : many) {
      const auto sum = left_operand_of(BinaryOp::Add, real(left + right), real(right));
      if (sum) EXPECT_EQ(sum->re + right, left + right);
      sums += sum.has_value();
      const auto product = left_operand_of(BinaryOp::Multiply, real(left * right), real(right));
      if (product) EXPECT_EQ(product->re * right, left * right);
      if (right != 0) {
        const auto ratio = left_operand_of(BinaryOp::TrueDivide, real(left / right), real(right));
        if (ratio) EXPECT_EQ(ratio->re / right, left / right);
      }
      if (left > 0) {
        const auto power = left_operand_of(BinaryOp::Power, real(std::pow(left, 2)), integer(2));
        if (power) EXPECT_EQ(std::pow(power->re, 2), std::pow(left, 2));
      }
    }
  EXPECT_GT(sums, 40);
  const auto difference = left_operand_of(BinaryOp::Subtract, real(-59.5), integer(60));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->re, 0.5);
  // no float has this quotient by zero, nor is this rounding undone by a neighbour
  EXPECT_FALSE(left_operand_of(BinaryOp::TrueDivide, real(1), real(0)));
  EXPECT_FALSE(left_operand_of(BinaryOp::And, real(1), real(1)));
}

TEST(Unfold, SequencesLoseTheirEnd) {
  const auto string = left_operand_of(BinaryOp::Add, text(ConstKind::Str, "spam and eggs"),
                                      text(ConstKind::Str, " eggs"));
  ASSERT_TRUE(string);
  EXPECT_EQ(string->text, "spam and");
  const auto bytes =
      left_operand_of(BinaryOp::Add, text(ConstKind::Bytes, "ab"), text(ConstKind::Bytes, "ab"));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->text, "");
  EXPECT_FALSE(
      left_operand_of(BinaryOp::Add, text(ConstKind::Str, "ab"), text(ConstKind::Str, "a")));
  EXPECT_FALSE(
      left_operand_of(BinaryOp::Add, text(ConstKind::Str, "ab"), text(ConstKind::Bytes, "b")));
  EXPECT_FALSE(
      left_operand_of(BinaryOp::Multiply, text(ConstKind::Str, "aa"), text(ConstKind::Str, "a")));
  const ConstId items[] = {ConstId(0), ConstId(1), ConstId(2)};
  Const whole = kind(ConstKind::Tuple), end = whole;
  whole.items = items;
  end.items = std::span(items).last(1);
  const auto tuple = left_operand_of(BinaryOp::Add, whole, end);
  ASSERT_TRUE(tuple);
  EXPECT_EQ(tuple->items.size(), 2u);
  EXPECT_FALSE(left_operand_of(BinaryOp::Add, end, whole));
  EXPECT_FALSE(left_operand_of(BinaryOp::Add, kind(ConstKind::None), kind(ConstKind::None)));
}

TEST(Unfold, OperandsOfUnaryOperators) {
  EXPECT_EQ(operand_of(UnaryOp::Not, kind(ConstKind::True))->kind, ConstKind::False);
  EXPECT_EQ(operand_of(UnaryOp::Not, kind(ConstKind::False))->kind, ConstKind::True);
  EXPECT_FALSE(operand_of(UnaryOp::Not, integer(1)));
  EXPECT_FALSE(operand_of(UnaryOp::Minus, kind(ConstKind::True)));
  EXPECT_EQ(operand_of(UnaryOp::Minus, integer(5))->integer, -5);
  EXPECT_EQ(operand_of(UnaryOp::Invert, integer(5))->integer, -6);
  EXPECT_EQ(operand_of(UnaryOp::Plus, real(2.5))->re, 2.5);
  EXPECT_TRUE(std::signbit(operand_of(UnaryOp::Minus, real(0.0))->re));
  EXPECT_FALSE(operand_of(UnaryOp::Invert, real(2.5)));
  Const complex = kind(ConstKind::Complex);
  complex.re = 1, complex.im = -2;
  const auto turned = operand_of(UnaryOp::Minus, complex);
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->re, -1);
  EXPECT_EQ(turned->im, 2);
}

}  // namespace
}  // namespace depyf
