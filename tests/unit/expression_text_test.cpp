// Texts of a file that stand as expressions: what is one, and what it does.
#include "ast/expression_text.h"

#include <gtest/gtest.h>

namespace depyf {
namespace {

std::string acts(std::string_view text, TextPlace place = TextPlace::Annotation) {
  return acts_of_text(text, PyVersion{3, 14}, place).value_or("-");
}

TEST(ExpressionText, NamesAndCallsInOrder) {
  EXPECT_EQ(acts("a.b[c](d, k=1)"), "a .b [ c ( d k ");
  EXPECT_EQ(acts("'x' if n else 1.5.real"), "n .real ");
  EXPECT_EQ(acts("lambda x, *, y=1: x"), "lambda x y x ");
  EXPECT_EQ(acts("{**a, 'b': [c for c in d if not c]}"), "a c for c d c ");
  EXPECT_EQ(acts("f'{a!r:>{w}}' \"{\""), "a w ");
  EXPECT_EQ(acts("f\"{a['k']:\\n>{w}}\""), "a w ");
}

TEST(ExpressionText, WhatLeavesTheExpression) {
  for (const char* text : {"", "a, b", "a = f()", "a; f()", "a\nf()", "a)", "(a", "a #", "a: b",
                           "a \\", "'a", "f'{'}'", "a b", "(yield", "return a", "a:=b", "lambda:"})
    EXPECT_EQ(acts(text), "-") << text;
}

TEST(ExpressionText, AFieldHoldsMoreThanAnAnnotation) {
  EXPECT_EQ(acts("a,\n b", TextPlace::Field), "a b ");
  EXPECT_EQ(acts("yield", TextPlace::Field), "yield ");
  EXPECT_EQ(acts("rf'\\{a:#x}' f'\\N{DASH}{b}{f'{c}'}'", TextPlace::Field), "a x b c ");
  EXPECT_EQ(acts("f'{a #'\n+ b() #'\n}'", TextPlace::Field), "-");
  for (const char* text : {"a!r", "a:3", "a}", "a=", "lambda: a", "a:=b", "a # b"})
    EXPECT_EQ(acts(text, TextPlace::Field), "-") << text;
}

}  // namespace
}  // namespace depyf
