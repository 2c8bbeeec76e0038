// The prover on hand-built graphs: what no compiler emits, and sizes.
#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <string>

#include "assembler.h"
#include "lifted_builder.h"
#include "opcode/arithmetic.h"
#include "simplify/simplify.h"
#include "verify/canon.h"
#include "verify/exact.h"
#include "verify/lockstep.h"
#include "verify/raw_code.h"

namespace depyf {
namespace {

using test::Builder;
using namespace verify_detail;

/// "" when the two are equivalent, else what differs.
std::string lockstep(Builder& a, Builder& b, bool simplified = true, bool dynamo = false) {
  Lifted lifted_a = a.lifted(), lifted_b = b.lifted();
  if (simplified) {
    SimplifyOptions options;
    options.dynamo = dynamo;
    simplify(lifted_a, a.module, options);
    simplify(lifted_b, b.module, options);
  }
  Canon canon(a.module, b.module, false);
  Pairs nested;
  const auto difference = lockstep_difference(canon, lifted_a, lifted_b, true, dynamo, nested);
  return difference ? difference->text : "";
}

std::string exact(Builder& a, Builder& b) {
  a.lifted();
  b.lifted();
  Canon canon(a.module, b.module, false);
  Pairs nested;
  const auto difference =
      exact_difference(canon, a.code, a.cfg, b.code, b.cfg, true, false, nested);
  return difference ? difference->text : "";
}

Const number(double value) {
  Const c;
  c.kind = ConstKind::Float;
  c.re = value;
  return c;
}

Const sequence(Module& module, ConstKind kind, std::initializer_list<ConstId> items) {
  Const c;
  c.kind = kind;
  c.items = module.arena.copy(items);
  return c;
}

Const integer(std::int64_t value) {
  Const c;
  c.kind = ConstKind::Int;
  c.integer = value;
  return c;
}

TEST(Constants, AreEqualByTypeAndValue) {
  Module a, b;
  Canon canon(a, b, false);
  const auto same = [&](const Const& x, const Const& y) {
    return canon.same_constant(canon.constant(kA, CodeId(), a.add(x)),
                               canon.constant(kB, CodeId(), b.add(y)));
  };
  EXPECT_TRUE(same(number(1.5), number(1.5)));
  EXPECT_FALSE(same(number(0.0), number(-0.0)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(same(number(nan), number(nan)));
  EXPECT_FALSE(same(number(nan), number(-nan)));
  EXPECT_FALSE(same(number(1.0), integer(1)));
  Const yes;
  yes.kind = ConstKind::True;
  EXPECT_FALSE(same(yes, integer(1)));
  Const text, bytes;
  text.kind = ConstKind::Str;
  bytes.kind = ConstKind::Bytes;
  text.text = bytes.text = "x";
  EXPECT_FALSE(same(text, bytes));
  Const object, other;
  object.kind = other.kind = ConstKind::Object;
  other.object = 1;
  EXPECT_TRUE(same(object, object));
  EXPECT_FALSE(same(object, other));
}

TEST(Constants, OneNanStandsForOneOfTheOtherSide) {
  Module a, b;
  Canon canon(a, b, false);
  const Const nan = number(std::numeric_limits<double>::quiet_NaN());
  const ConstId one = a.add(nan), two = b.add(nan), three = b.add(nan);
  const auto same = [&](ConstId x, ConstId y) {
    return canon.same_constant(canon.constant(kA, CodeId(), x), canon.constant(kB, CodeId(), y));
  };
  EXPECT_TRUE(same(one, two));
  EXPECT_TRUE(same(one, two));
  EXPECT_FALSE(same(one, three));
  EXPECT_TRUE(same(a.add(sequence(a, ConstKind::Tuple, {one})),
                   b.add(sequence(b, ConstKind::Tuple, {two}))));
  EXPECT_FALSE(same(a.add(sequence(a, ConstKind::Tuple, {one})),
                    b.add(sequence(b, ConstKind::Tuple, {three}))));
}

TEST(Constants, TheOrderOfAFrozensetCountsUnlessItIsOnlySearched) {
  Module a, b;
  Canon canon(a, b, false);
  const ConstId a1 = a.add(integer(1)), a2 = a.add(integer(2)), b1 = b.add(integer(1)),
                b2 = b.add(integer(2));
  const auto one = [&](ConstKind kind) {
    return canon.constant(kA, CodeId(), a.add(sequence(a, kind, {a1, a2})));
  };
  const auto two = [&](ConstKind kind) {
    return canon.constant(kB, CodeId(), b.add(sequence(b, kind, {b2, b1})));
  };
  EXPECT_NE(one(ConstKind::FrozenSet), two(ConstKind::FrozenSet));
  EXPECT_TRUE(canon.same_collection(one(ConstKind::FrozenSet), two(ConstKind::FrozenSet)));
  EXPECT_FALSE(canon.same_collection(one(ConstKind::Tuple), two(ConstKind::Tuple)));
  EXPECT_NE(one(ConstKind::Tuple), two(ConstKind::Tuple));
}

TEST(Constants, NestingCostsNoStack) {
  Module a, b;
  Canon canon(a, b, false);
  const auto nested = [](Module& module, double innermost) {
    ConstId id = module.add(number(innermost));
    for (int i = 0; i < 50000; ++i) id = module.add(sequence(module, ConstKind::Tuple, {id}));
    return id;
  };
  const std::uint32_t x = canon.constant(kA, CodeId(), nested(a, 0.0));
  EXPECT_EQ(x, canon.constant(kB, CodeId(), nested(b, 0.0)));
  EXPECT_NE(x, canon.constant(kB, CodeId(), nested(b, -0.0)));
}

TEST(Constants, AContainerThatHoldsItselfEnds) {
  Module a, b;
  Canon canon(a, b, false);
  const ConstId id = a.add(Const{});
  a.consts[id.index] = sequence(a, ConstKind::List, {id});
  canon.constant(kA, CodeId(), id);
}

/// while True: pass / while True: g()
TEST(Arithmetic, SmallIntegersGiveWhatPythonGives) {
  EXPECT_EQ(computed(BinaryOp::Add, 2, 3), 5);
  EXPECT_EQ(computed(BinaryOp::Subtract, 2, 3), -1);
  EXPECT_EQ(computed(BinaryOp::Multiply, -4, 3), -12);
  EXPECT_EQ(computed(BinaryOp::FloorDivide, 7, 2), 3);
  EXPECT_EQ(computed(BinaryOp::FloorDivide, -7, 2), -4);
  EXPECT_EQ(computed(BinaryOp::FloorDivide, 7, -2), -4);
  EXPECT_EQ(computed(BinaryOp::FloorDivide, -6, 2), -3);
  EXPECT_EQ(computed(BinaryOp::Remainder, 7, 3), 1);
  EXPECT_EQ(computed(BinaryOp::Remainder, -7, 3), 2);
  EXPECT_EQ(computed(BinaryOp::Remainder, 7, -3), -2);
  EXPECT_EQ(computed(BinaryOp::Remainder, -6, 3), 0);
  EXPECT_EQ(computed(BinaryOp::And, -2, 7), 6);
  EXPECT_EQ(computed(BinaryOp::LShift, -3, 2), -12);
  EXPECT_EQ(computed(BinaryOp::RShift, -3, 1), -2);
  EXPECT_EQ(computed(BinaryOp::RShift, -3, 100), -1);
  EXPECT_EQ(computed(UnaryOp::Invert, 5), -6);
  EXPECT_EQ(computed(UnaryOp::Minus, 5), -5);
}

TEST(Arithmetic, WhatRaisesOrIsLargeIsLeftAlone) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_FALSE(computed(BinaryOp::FloorDivide, 1, 0));
  EXPECT_FALSE(computed(BinaryOp::Remainder, 1, 0));
  EXPECT_FALSE(computed(BinaryOp::LShift, 1, -1));
  EXPECT_FALSE(computed(BinaryOp::RShift, 1, -1));
  EXPECT_FALSE(computed(BinaryOp::LShift, 1, 70));
  EXPECT_FALSE(computed(BinaryOp::Multiply, large, large));
  EXPECT_FALSE(computed(BinaryOp::Add, INT64_MAX, 1));
  EXPECT_FALSE(computed(BinaryOp::TrueDivide, 4, 2));
  EXPECT_FALSE(computed(UnaryOp::Minus, INT64_MIN));
}

TEST(Lockstep, ALoopWithoutEffectsIsNoOtherLoop) {
  Builder spin, same, calls, returns;
  spin.block({{Op::JUMP}}, 1);
  spin.block({{Op::JUMP}}, 0);
  same.block({{Op::JUMP}}, 0);
  calls.block({{Op::LOAD_GLOBAL, calls.str("g")}, {Op::CALL, 0, kPlain}, {Op::POP_TOP}, {Op::JUMP}},
              0);
  returns.block({{Op::LOAD_CONST, returns.none()}, {Op::RETURN_VALUE}});
  EXPECT_EQ(lockstep(spin, same), "");
  EXPECT_EQ(exact(spin, same), "");
  EXPECT_NE(lockstep(spin, calls), "");
  EXPECT_NE(lockstep(calls, spin), "");
  EXPECT_NE(lockstep(spin, returns), "");
  EXPECT_NE(exact(returns, spin), "");
}

/// A loop against the same loop with its first round unrolled.
TEST(Lockstep, ATestOnIsNotIsOneOnIsWithSwappedArms) {
  // Dynamo writes `is not None` out, CPython 3.11 compiles it to a jump that asks `is None`.
  const auto build = [](Builder& b, bool is_not, bool swapped) {
    const std::uint32_t x = b.argument("x"), one = b.integer(1), two = b.integer(2);
    b.block({{Op::LOAD_FAST, x}, {Op::LOAD_CONST, b.none()}, {Op::IS, is_not}, {Op::BRANCH_TRUE}},
            swapped ? 2 : 1, swapped ? 1 : 2);
    b.block({{Op::LOAD_CONST, one}, {Op::RETURN_VALUE}});
    b.block({{Op::LOAD_CONST, two}, {Op::RETURN_VALUE}});
  };
  for (const bool swapped : {false, true}) {
    Builder a, b;
    build(a, true, false);
    build(b, false, swapped);
    EXPECT_EQ(lockstep(a, b).empty(), swapped);
  }
}

TEST(Lockstep, BlocksMayBeCopied) {
  const auto build = [](Builder& b, bool unrolled) {
    const std::uint32_t x = b.argument("x");
    const int loop = unrolled ? 1 : 0;
    for (int i = 0; i <= loop; ++i)
      b.block({{Op::LOAD_GLOBAL, b.str("g")},
               {Op::LOAD_FAST, x},
               {Op::CALL, 1, kPlain},
               {Op::STORE_FAST, x},
               {Op::LOAD_FAST, x},
               {Op::BRANCH_TRUE}},
              loop + 1, loop);
    b.block({{Op::LOAD_FAST, x}, {Op::RETURN_VALUE}});
  };
  Builder a, b;
  build(a, false);
  build(b, true);
  EXPECT_EQ(lockstep(a, b), "");
  EXPECT_EQ(lockstep(b, a), "");
  EXPECT_EQ(exact(a, b), "");
}

TEST(Lockstep, StoresAndLoadsOfOneLocalKeepTheirVersions) {
  // return old x; x = g() in between
  const auto build = [](Builder& b, bool before) {
    const std::uint32_t x = b.argument("x");
    if (before)
      b.block({{Op::LOAD_FAST, x},
               {Op::LOAD_GLOBAL, b.str("g")},
               {Op::CALL, 0, kPlain},
               {Op::STORE_FAST, x},
               {Op::RETURN_VALUE}});
    else
      b.block({{Op::LOAD_GLOBAL, b.str("g")},
               {Op::CALL, 0, kPlain},
               {Op::STORE_FAST, x},
               {Op::LOAD_FAST, x},
               {Op::RETURN_VALUE}});
  };
  Builder old, fresh, again;
  build(old, true);
  build(fresh, false);
  build(again, true);
  EXPECT_EQ(lockstep(old, again), "");
  EXPECT_NE(lockstep(old, fresh), "");
}

TEST(Lockstep, ASliceIsBuiltOrAConstant) {
  const auto build = [](Builder& b, ConstKind step, bool constant) {
    const std::uint32_t x = b.argument("x"), none = b.none();
    Const last;
    last.kind = step;
    const ConstId third = b.module.add(last);
    if (constant) {
      const std::uint32_t slice =
          b.constant(sequence(b.module, ConstKind::Slice, {ConstId(none), ConstId(none), third}));
      b.block({{Op::LOAD_FAST, x}, {Op::LOAD_CONST, slice}, {Op::LOAD_SUBSCR}, {Op::RETURN_VALUE}});
    } else {
      b.block({{Op::LOAD_FAST, x},
               {Op::LOAD_CONST, none},
               {Op::LOAD_CONST, none},
               {Op::BUILD_SLICE, 2},
               {Op::LOAD_SUBSCR},
               {Op::RETURN_VALUE}});
    }
  };
  Builder built, constant, other;
  build(built, ConstKind::None, false);
  build(constant, ConstKind::None, true);
  build(other, ConstKind::True, true);
  EXPECT_EQ(lockstep(built, constant), "");
  EXPECT_NE(lockstep(built, other), "");
}

TEST(Lockstep, ALoadThatMayFailIsAnEffect) {
  const auto build = [](Builder& b, bool first) {
    const std::uint32_t x = b.slot("x");
    if (first)
      b.block({{Op::LOAD_FAST, x},
               {Op::LOAD_GLOBAL, b.str("g")},
               {Op::CALL, 0, kPlain},
               {Op::BUILD_TUPLE, 2},
               {Op::RETURN_VALUE}});
    else
      b.block({{Op::LOAD_GLOBAL, b.str("g")},
               {Op::CALL, 0, kPlain},
               {Op::LOAD_FAST, x},
               {Op::SWAP, 2},
               {Op::BUILD_TUPLE, 2},
               {Op::RETURN_VALUE}});
  };
  Builder a, b, c;
  build(a, true);
  build(b, false);
  build(c, true);
  EXPECT_EQ(lockstep(a, c), "");
  EXPECT_NE(lockstep(a, b), "");
}

TEST(Lockstep, PushExcInfoIsAnEffect) {
  // A handler that calls g() after, or before, it makes the exception the current one.
  const auto build = [](Builder& b, bool first) {
    const RegionId region = b.region(2, 0);
    b.block({{Op::LOAD_GLOBAL, b.str("f")}, {Op::CALL, 0, kPlain}, {Op::POP_TOP}}, 1, -1, region);
    b.block({{Op::LOAD_CONST, b.none()}, {Op::RETURN_VALUE}});
    if (first)
      b.block({{Op::PUSH_EXC_INFO},
               {Op::LOAD_GLOBAL, b.str("g")},
               {Op::CALL, 0, kPlain},
               {Op::POP_TOP},
               {Op::RERAISE, 1}});
    else
      b.block({{Op::LOAD_GLOBAL, b.str("g")},
               {Op::CALL, 0, kPlain},
               {Op::POP_TOP},
               {Op::PUSH_EXC_INFO},
               {Op::RERAISE, 1}});
  };
  Builder a, b, c;
  build(a, true);
  build(b, false);
  build(c, true);
  EXPECT_EQ(lockstep(a, c), "");
  EXPECT_NE(lockstep(a, b), "");
}

/// One list given away twice, or two lists, on a way that merges before they are used.
TEST(Lockstep, ObjectsKeepTheirIdentityOverMerges) {
  const auto build = [](Builder& b, bool shared) {
    const std::uint32_t x = b.argument("x");
    if (shared)
      b.block({{Op::BUILD_LIST}, {Op::COPY, 1}, {Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, 1, 2);
    else
      b.block({{Op::BUILD_LIST}, {Op::BUILD_LIST}, {Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, 1, 2);
    b.block({{Op::LOAD_GLOBAL, b.str("g")}, {Op::CALL, 0, kPlain}, {Op::POP_TOP}}, 2);
    b.block({{Op::BUILD_TUPLE, 2}, {Op::RETURN_VALUE}});
  };
  Builder a, b, c, d;
  build(a, true);
  build(b, false);
  build(c, true);
  build(d, false);
  EXPECT_EQ(lockstep(a, c), "");
  EXPECT_EQ(lockstep(b, d), "");
  EXPECT_NE(lockstep(a, b), "");
  EXPECT_NE(lockstep(b, a), "");
}

/// Which of two lists a loop's body hands out must not depend on the round.
TEST(Lockstep, ObjectsThatChangePlacesInALoopDiffer) {
  const auto build = [](Builder& b, bool swap) {
    const std::uint32_t x = b.argument("x");
    b.block({{Op::BUILD_LIST}, {Op::BUILD_LIST}}, 1);
    b.block({{Op::LOAD_GLOBAL, b.str("g")},
             {Op::COPY, 2},
             {Op::CALL, 1, kPlain},
             {Op::POP_TOP},
             {Op::SWAP, swap ? 2u : 1u},
             {Op::LOAD_FAST, x},
             {Op::BRANCH_TRUE}},
            2, 1);
    b.block({{Op::BUILD_TUPLE, 2}, {Op::RETURN_VALUE}});
  };
  Builder a, b, c;
  build(a, false);
  build(b, true);
  build(c, true);
  EXPECT_EQ(lockstep(b, c), "");
  EXPECT_NE(lockstep(a, b), "");
}

/// n calls, each behind a test: the time grows with n.
TEST(Lockstep, IsLinear) {
  const auto build = [](Builder& b, std::uint32_t n, std::uint32_t last) {
    const std::uint32_t x = b.argument("x");
    for (std::uint32_t i = 0; i < n; ++i) {
      const int at = static_cast<int>(2 * i);
      b.block({{Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, at + 1, at + 2);
      b.block({{Op::LOAD_GLOBAL, b.str(i + 1 == n && last ? "h" : "g")},
               {Op::CALL, 0, kPlain},
               {Op::POP_TOP}},
              at + 2);
    }
    b.block({{Op::LOAD_CONST, b.none()}, {Op::RETURN_VALUE}});
  };
  const auto seconds = [&](std::uint32_t n) {
    Builder a, b;
    build(a, n, 0);
    build(b, n, 0);
    const std::clock_t start =
        std::clock();  // processor time: what else the machine does must not count
    EXPECT_EQ(lockstep(a, b), "");
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const double small = seconds(4000), large = seconds(40000);
  EXPECT_LT(large, 40 * small + 1) << small << " s for a tenth";
  Builder a, b;
  build(a, 30000, 0);
  build(b, 30000, 1);
  EXPECT_NE(lockstep(a, b), "");
  EXPECT_NE(exact(a, b), "");
}

TEST(Exact, BranchesWithSwappedArmsAreTheSame) {
  const auto build = [](Builder& b, Op op, int next, int target) {
    const std::uint32_t x = b.argument("x");
    b.block({{Op::LOAD_FAST, x}, {op}}, next, target);
    b.block({{Op::LOAD_CONST, b.integer(1)}, {Op::RETURN_VALUE}});
    b.block({{Op::LOAD_CONST, b.integer(2)}, {Op::RETURN_VALUE}});
  };
  Builder a, b, c, d;
  build(a, Op::BRANCH_FALSE, 1, 2);
  build(b, Op::BRANCH_TRUE, 2, 1);
  build(c, Op::BRANCH_TRUE, 1, 2);
  build(d, Op::BRANCH_NOT_NONE, 1, 2);
  EXPECT_EQ(exact(a, b), "");
  EXPECT_NE(exact(a, c), "");
  EXPECT_NE(exact(a, d), "");
  EXPECT_EQ(lockstep(a, b), "");
  EXPECT_NE(lockstep(a, c), "");
}

TEST(Exact, HandlersCountAtEveryInstruction) {
  const auto build = [](Builder& b, bool covered) {
    const RegionId region = b.region(2, 0);
    b.block({{Op::LOAD_GLOBAL, b.str("f")}, {Op::CALL, 0, kPlain}, {Op::POP_TOP}}, 1, -1, region);
    b.block({{Op::LOAD_CONST, b.none()}, {Op::RETURN_VALUE}}, -1, -1,
            covered ? region : RegionId::none());
    b.block({{Op::PUSH_EXC_INFO}, {Op::RERAISE, 1}});
  };
  Builder a, b;
  build(a, true);
  build(b, false);
  EXPECT_NE(exact(a, b), "");
  EXPECT_EQ(lockstep(a, b), "");  // nothing in it raises
}

/// What broken_promise() says of the code.
std::string promise(test::Assembler& code) {
  const CodeId id = code.finish();
  return broken_promise(code.module[id]);
}

using test::Assembler;

TEST(RawUnits, NoPrefixStandsWhereTheInterpreterLooks) {
  struct Place {
    std::string_view name;
    int first, last;
  };
  for (const Place& place :
       {Place{"YIELD_VALUE", 7, 15}, Place{"YIELD_FROM", 7, 10}, Place{"GET_AWAITABLE", 7, 10},
        Place{"RESUME", 11, 15}, Place{"CALL", 11, 11}, Place{"END_FOR", 12, 15}}) {
    for (int minor = place.first; minor <= place.last; ++minor) {
      Assembler code(static_cast<std::uint8_t>(minor));
      code.raw(code.table->extended_arg, 0).op(place.name);
      EXPECT_NE(promise(code).find("EXTENDED_ARG"), std::string::npos) << place.name << minor;
      Assembler plain(static_cast<std::uint8_t>(minor));
      plain.op(place.name);
      EXPECT_EQ(promise(plain).find("EXTENDED_ARG"), std::string::npos) << place.name << minor;
    }
  }
}

TEST(RawUnits, WhatTheInterpreterSkipsStandsWhereItSkips) {
  const auto loop = [](std::uint8_t minor, bool before, bool behind, bool jump) {
    Assembler code(minor);
    code.op("RESUME").op("LOAD_FAST", 0).op("GET_ITER");
    code.op("FOR_ITER", jump ? 1 : 0);
    if (jump) code.op("JUMP_FORWARD", before ? 2 : 1);
    if (before) code.op("NOP");
    code.op("END_FOR");
    if (behind) code.op("NOP");
    code.op(minor >= 14 ? "POP_ITER" : "POP_TOP").op("LOAD_FAST", 0).op("RETURN_VALUE");
    return promise(code);
  };
  for (std::uint8_t minor = 12; minor <= 15; ++minor) {
    EXPECT_EQ(loop(minor, false, false, false).find("FOR"), std::string::npos) << int{minor};
    EXPECT_NE(loop(minor, true, false, false).find("does not lead to END_FOR"), std::string::npos);
    for (const std::string& problem :
         {loop(minor, false, true, false), loop(minor, false, false, true)})
      EXPECT_EQ(problem.find("POP_TOP follows the END_FOR") != std::string::npos, minor == 13)
          << int{minor} << problem;
  }
}

TEST(RawUnits, WhatFollowsAYieldIsNotTakenForYieldFrom) {
  Assembler code(9);
  code.op("YIELD_VALUE").op("YIELD_FROM");
  EXPECT_NE(promise(code).find("for YIELD_FROM"), std::string::npos);
  Assembler apart(9);
  apart.op("YIELD_VALUE").op("LOAD_CONST", 8).op("YIELD_FROM");
  EXPECT_EQ(promise(apart).find("for YIELD_FROM"), std::string::npos);
  Assembler entered(9);
  entered.op("JUMP_FORWARD", 2).op("BEFORE_ASYNC_WITH").op("GET_AWAITABLE");
  EXPECT_NE(promise(entered).find("GET_AWAITABLE follows"), std::string::npos);
}

}  // namespace
}  // namespace depyf
