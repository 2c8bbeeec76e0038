#include <gtest/gtest.h>

#include "lifted_builder.h"
#include "support/error.h"

namespace depyf::test {
namespace {

TEST(Lift, StackShufflesVanish) {
  Builder b;
  std::uint32_t x = b.argument("x"), y = b.argument("y");
  b.block({{Op::LOAD_FAST, x},
           {Op::LOAD_FAST, y},
           {Op::SWAP, 2},
           {Op::COPY, 2},
           {Op::ROT, 3},
           {Op::POP_TOP},
           {Op::BINARY, 10},
           {Op::RETURN_VALUE}});
  // x y | y x | y x y | y y x | y y
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n"
            "  v1 = LOAD_FAST x\n"
            "  v2 = LOAD_FAST y\n"
            "  v3 = BINARY 10 (v2, v2)\n"
            "  return v3\n");
}

TEST(Lift, CallLayoutsLoseTheirNulls) {
  Builder b;
  std::uint32_t f = b.argument("f");
  b.block({{Op::PUSH_NULL},           {Op::LOAD_FAST, f},
           {Op::LOAD_FAST, f},        {Op::CALL, 1, kNullBelow},
           {Op::PUSH_NULL},           {Op::LOAD_FAST, f},
           {Op::CALL, 1, kPlain},     {Op::POP_TOP},
           {Op::LOAD_FAST, f},        {Op::PUSH_NULL},
           {Op::CALL, 0, kNullAbove}, {Op::POP_TOP},
           {Op::LOAD_FAST, f},        {Op::LOAD_METHOD, b.str("m"), 1},
           {Op::CALL, 0, kNullBelow}, {Op::POP_TOP},
           {Op::LOAD_FAST, f},        {Op::LOAD_METHOD, b.str("m"), 2},
           {Op::LOAD_FAST, f},        {Op::CALL, 1, kNullAbove},
           {Op::LOAD_FAST, f},        {Op::CALL, 0, kNullBelow},
           {Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n"
            "  v1 = LOAD_FAST f\n"
            "  v2 = LOAD_FAST f\n"
            "  v3 = CALL 1 (v1, v2)\n"
            "  v4 = LOAD_FAST f\n"
            "  v5 = CALL 1 (NULL, v4)\n"
            "  v6 = LOAD_FAST f\n"
            "  v7 = CALL (v6)\n"
            "  v8 = LOAD_FAST f\n"
            "  v9 = LOAD_METHOD m (v8)\n"
            "  v10 = CALL (v9)\n"
            "  v11 = LOAD_FAST f\n"
            "  v12 = LOAD_METHOD m (v11)\n"
            "  v13 = LOAD_FAST f\n"
            "  v14 = CALL 1 (v12, v13)\n"
            "  v15 = LOAD_FAST f\n"
            "  v16 = CALL 1 (v14, v15)\n"  // [callable self]: the slot is no NULL
            "  return v16\n");
}

TEST(Lift, NullMappingOfCallExIsNoOperand) {
  Builder b;
  std::uint32_t f = b.argument("f");
  b.block({{Op::LOAD_FAST, f},
           {Op::PUSH_NULL},
           {Op::LOAD_FAST, f},
           {Op::PUSH_NULL},
           {Op::CALL_EX, 1, kNullAbove},
           {Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = LOAD_FAST f\n  v2 = LOAD_FAST f\n  v3 = CALL_EX (v1, v2)\n  return v3\n");
}

TEST(Lift, TernaryMeetsInAParameter) {
  Builder b;
  std::uint32_t x = b.argument("x"), f = b.argument("f");
  b.block({{Op::PUSH_NULL}, {Op::LOAD_FAST, f}, {Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, 1, 2);
  b.block({{Op::LOAD_CONST, b.integer(1)}, {Op::JUMP}}, 3);
  b.block({{Op::LOAD_CONST, b.integer(2)}}, 3);
  b.block({{Op::CALL, 1, kNullBelow}, {Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n"
            "  v1 = LOAD_FAST f\n"
            "  v2 = LOAD_FAST x\n"
            "  branch v2 ? b1 : b2\n"
            "b1:  stack [NULL, v1]\n"
            "  v3 = LOAD_CONST 1\n"
            "  jump b3(v3)\n"
            "b2:  stack [NULL, v1]\n"
            "  v4 = LOAD_CONST 2\n"
            "  jump b3(v4)\n"
            "b3(v5):  stack [NULL, v1, v5]\n"
            "  v6 = CALL 1 (v1, v5)\n"
            "  return v6\n");
}

TEST(Lift, KeepingBranchPassesTheTestedValue) {
  Builder b;
  std::uint32_t x = b.argument("x"), y = b.argument("y");
  b.block({{Op::LOAD_FAST, x}, {Op::BRANCH_TRUE_OR_POP}}, 1, 2);
  b.block({{Op::LOAD_FAST, y}}, 2);
  b.block({{Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = LOAD_FAST x\n  branch v1 ? b2(v1) : b1\n"
            "b1:\n  v2 = LOAD_FAST y\n  jump b2(v2)\n"
            "b2(v3):  stack [v3]\n  return v3\n");
}

TEST(Lift, BranchOnNoneAndTransparentBool) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.none();
  b.block({{Op::LOAD_FAST, x}, {Op::BRANCH_NONE}}, 1, 2);
  b.block({{Op::LOAD_FAST, x}, {Op::TO_BOOL}, {Op::BRANCH_TRUE}}, 2, 3);
  b.block({{Op::LOAD_FAST, x},
           {Op::TO_BOOL},
           {Op::UNARY, static_cast<std::uint32_t>(UnaryOp::Not)},
           {Op::RETURN_VALUE}});
  b.block({{Op::LOAD_FAST, x}, {Op::TO_BOOL}, {Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = LOAD_FAST x\n  v2 = LOAD_CONST None\n  v3 = IS aux 1 (v1, v2)\n  branch "
            "v3 ? b2 : b1\n"
            "b1:\n  v4 = LOAD_FAST x\n  branch v4 ? b3 : b2\n"
            "b2:\n  v8 = LOAD_FAST x\n  v10 = UNARY 1 (v8)\n  return v10\n"
            "b3:\n  v6 = LOAD_FAST x\n  v7 = TO_BOOL (v6)\n  return v7\n");
}

/// [f(x) for x in it]: the list is built outside the loop that grows it.
TEST(Lift, LoopGrowsInPlaceAndNeedsNoParameter) {
  Builder b;
  std::uint32_t it = b.argument("it"), x = b.slot("x");
  b.block({{Op::BUILD_LIST, 0}, {Op::LOAD_FAST, it}}, 1);
  b.block({{Op::FOR_ITER}}, 2, 3);
  b.block({{Op::STORE_FAST, x}, {Op::LOAD_FAST, x}, {Op::LIST_APPEND, 2}, {Op::JUMP}}, 1);
  b.block({{Op::RETURN_VALUE}});
  std::string text = b.text(b.lifted());
  EXPECT_NE(text.find("LIST_APPEND in-place (v"), std::string::npos) << text;
  EXPECT_EQ(text.find("b1("), std::string::npos) << text;
  EXPECT_NE(text.find("b2:  stack ["), std::string::npos) << text;
}

TEST(Lift, DisplayGrowsByVersionsAcrossBlocks) {
  Builder b;
  std::uint32_t x = b.argument("x"), f = b.argument("f");
  b.block({{Op::BUILD_LIST, 0},
           {Op::LOAD_FAST, x},
           {Op::LIST_EXTEND, 1},
           {Op::LOAD_FAST, x},
           {Op::BRANCH_FALSE}},
          1, 2);
  b.block({{Op::LOAD_FAST, x}}, 3);
  b.block({{Op::LOAD_FAST, f}}, 3);
  b.block({{Op::LIST_APPEND, 1}, {Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = BUILD_LIST\n  v2 = LOAD_FAST x\n  v3 = LIST_EXTEND (v1, v2)\n  v4 = "
            "LOAD_FAST x\n  branch v4 ? b1 : b2\n"
            "b1:  stack [v3]\n  v5 = LOAD_FAST x\n  jump b3(v5)\n"
            "b2:  stack [v3]\n  v6 = LOAD_FAST f\n  jump b3(v6)\n"
            "b3(v7):  stack [v3, v7]\n  v8 = LIST_APPEND (v3, v7)\n  return v8\n");
}

TEST(Lift, CopiedListGrowsInPlace) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::BUILD_LIST, 0},
           {Op::COPY, 1},
           {Op::LOAD_FAST, x},
           {Op::LIST_APPEND, 1},
           {Op::POP_TOP},
           {Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = BUILD_LIST\n  v2 = LOAD_FAST x\n  v3 = LIST_APPEND in-place (v1, v2)\n  "
            "return v1\n");
}

TEST(Lift, LoopCarriedStackValueGetsAParameter) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::LOAD_CONST, b.integer(0)}}, 1);
  b.block({{Op::LOAD_FAST, x}, {Op::BINARY, 0}, {Op::LOAD_FAST, x}, {Op::BRANCH_TRUE}}, 2, 1);
  b.block({{Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = LOAD_CONST 0\n  jump b1(v1)\n"
            "b1(v2):  stack [v2]\n  v3 = LOAD_FAST x\n  v4 = BINARY (v2, v3)\n  v5 = LOAD_FAST x\n "
            " branch v5 ? b1(v4) : b2\n"
            "b2:  stack [v4]\n  return v4\n");
}

TEST(Lift, HandlerOf311) {
  Builder b;
  std::uint32_t x = b.argument("x");
  RegionId body = b.region(2, 1, true);
  b.block({{Op::LOAD_FAST, x}}, 1);
  b.block({{Op::LOAD_FAST, x}, {Op::POP_TOP}}, 3, -1, body);
  b.block({{Op::PUSH_EXC_INFO}, {Op::LOAD_FAST, x}, {Op::CHECK_EXC_MATCH}, {Op::BRANCH_FALSE}}, 4,
          5);
  b.block({{Op::RETURN_VALUE}});
  b.block({{Op::POP_TOP}, {Op::POP_EXCEPT, 1}, {Op::POP_TOP}}, 3);
  b.block({{Op::RERAISE, 1}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = LOAD_FAST x\n  jump b1\n"
            "b1:  stack [v1]  protected by b2 at depth 1\n  v2 = LOAD_FAST x\n  jump b3\n"
            "b2:  stack [v1, lasti@b2, exception@b2]\n  v6 = LOAD_FAST x\n  v7 = EXC_MATCH "
            "(exception@b2, v6)\n  branch v7 ? b4 : b5\n"
            "b3:  stack [v1]\n  return v1\n"
            "b4:  stack [v1, lasti@b2, previous0@b2, exception@b2]\n  v8 = POP_TOP "
            "(exception@b2)\n  v9 = POP_EXCEPT\n  jump b3\n"
            "b5:  stack [v1, lasti@b2, previous0@b2, exception@b2]\n  reraise exception@b2\n");
}

TEST(Lift, HandlerOf310HasSixValuesTypeOnTop) {
  Builder b;
  std::uint32_t x = b.argument("x");
  RegionId body = b.region(1, 0, false, RegionId::none(), HandlerEntry::Six);
  b.block({{Op::LOAD_FAST, x}, {Op::RETURN_VALUE}}, -1, -1, body);
  b.block({{Op::COPY, 1}, {Op::LOAD_FAST, x}, {Op::EXC_MATCH}, {Op::BRANCH_FALSE}}, 2, 3);
  b.block({{Op::POP_TOP}, {Op::RETURN_VALUE}});
  b.block({{Op::RERAISE, 3}});
  EXPECT_EQ(
      b.text(b.lifted()),
      "b0:  protected by b1 at depth 0\n  v1 = LOAD_FAST x\n  return v1\n"
      "b1:  stack [previous0@b1, previous1@b1, previous2@b1, traceback@b1, exception@b1, type@b1]\n"
      "  v8 = LOAD_FAST x\n  v9 = EXC_MATCH (exception@b1, v8)\n  branch v9 ? b2 : b3\n"
      "b2:  stack [previous0@b1, previous1@b1, previous2@b1, traceback@b1, exception@b1, "
      "type@b1]\n  return exception@b1\n"
      "b3:  stack [previous0@b1, previous1@b1, previous2@b1, traceback@b1, exception@b1, "
      "type@b1]\n  reraise exception@b1\n");
}

/// The cleanup handler of an inlined comprehension: the slot at depth 0 is the iterator first and
/// the list afterwards, and the handler pops it.
TEST(Lift, ChangingSlotThatTheHandlerPops) {
  Builder b;
  std::uint32_t x = b.argument("x");
  RegionId body = b.region(2, 1);
  b.block({{Op::LOAD_FAST, x}}, 1);
  b.block({{Op::BUILD_LIST, 0},
           {Op::SWAP, 2},
           {Op::LOAD_FAST, x},
           {Op::POP_TOP},
           {Op::POP_TOP},
           {Op::RETURN_VALUE}},
          -1, -1, body);
  b.block({{Op::SWAP, 2}, {Op::POP_TOP}, {Op::RERAISE, 1}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = LOAD_FAST x\n  jump b1\n"
            "b1:  stack [v1]  protected by b2 at depth 1\n  v2 = BUILD_LIST\n  v3 = LOAD_FAST x\n  "
            "return v2\n"
            "b2:  stack [_, exception@b2]\n  reraise exception@b2\n");
}

TEST(Lift, ChangingSlotThatTheHandlerReadsIsRefused) {
  Builder b;
  std::uint32_t x = b.argument("x");
  RegionId body = b.region(2, 1);
  b.block({{Op::LOAD_FAST, x}}, 1);
  b.block({{Op::BUILD_LIST, 0},
           {Op::SWAP, 2},
           {Op::LOAD_FAST, x},
           {Op::POP_TOP},
           {Op::POP_TOP},
           {Op::RETURN_VALUE}},
          -1, -1, body);
  b.block({{Op::POP_TOP}, {Op::RETURN_VALUE}});
  EXPECT_THROW(b.lifted(), Error);
}

TEST(Lift, DifferentDepthsPerProtectedBlockNeedAParameter) {
  Builder b;
  std::uint32_t x = b.argument("x");
  RegionId body = b.region(4, 1);
  b.block({{Op::LOAD_FAST, x}, {Op::BRANCH_TRUE}}, 1, 2);
  b.block({{Op::LOAD_CONST, b.integer(1)}}, 3);
  b.block({{Op::LOAD_CONST, b.integer(2)}}, 5);
  b.block({{Op::LOAD_FAST, x}, {Op::POP_TOP}, {Op::RETURN_VALUE}}, -1, -1, body);
  b.block({{Op::POP_TOP}, {Op::RETURN_VALUE}});
  b.block({{Op::LOAD_FAST, x}, {Op::POP_TOP}, {Op::RETURN_VALUE}}, -1, -1, body);
  std::string text = b.text(b.lifted());
  EXPECT_NE(text.find("b4(v"), std::string::npos) << text;
  EXPECT_NE(text.find("protected by b4 at depth 1 (v"), std::string::npos) << text;
}

TEST(Lift, FunctionAttributesJoinTheirFunction) {
  Builder b;
  std::uint32_t x = b.argument("x");
  std::uint32_t code = b.none();
  b.block({{Op::LOAD_FAST, x},
           {Op::LOAD_FAST, x},
           {Op::LOAD_FAST, x},
           {Op::LOAD_CONST, code},
           {Op::MAKE_FUNCTION},
           {Op::SET_FUNCTION_ATTRIBUTE, 8},
           {Op::SET_FUNCTION_ATTRIBUTE, 2},
           {Op::SET_FUNCTION_ATTRIBUTE, 1},
           {Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = LOAD_FAST x\n  v2 = LOAD_FAST x\n  v3 = LOAD_FAST x\n  v4 = LOAD_CONST "
            "None\n  v5 = MAKE_FUNCTION 11 (v1, v2, v3, v4)\n  return v5\n");
}

TEST(Lift, UnpackPushesTheFirstItemLast) {
  Builder b;
  std::uint32_t x = b.argument("x"), y = b.slot("y");
  b.block({{Op::LOAD_FAST, x}, {Op::UNPACK_SEQUENCE, 2}, {Op::STORE_FAST, y}, {Op::RETURN_VALUE}});
  EXPECT_EQ(b.text(b.lifted()),
            "b0:\n  v1 = LOAD_FAST x\n  v2 = UNPACK_SEQUENCE 2 (v1)\n  v5 = STORE_FAST y (v2.1)\n  "
            "return v2.0\n");
}

TEST(Lift, DamagedCodeIsRefused) {
  {
    Builder b;
    b.block({{Op::POP_TOP}, {Op::RETURN_VALUE}});
    EXPECT_THROW(b.lifted(), Error);
  }
  {
    Builder b;  // two depths meet
    std::uint32_t x = b.argument("x");
    b.block({{Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, 1, 2);
    b.block({{Op::LOAD_FAST, x}}, 2);
    b.block({{Op::RETURN_VALUE}});
    EXPECT_THROW(b.lifted(), Error);
  }
  {
    Builder b;  // a loop that pushes for ever
    std::uint32_t x = b.argument("x");
    b.block({{Op::LOAD_FAST, x}, {Op::JUMP}}, 0);
    EXPECT_THROW(b.lifted(), Error);
  }
  {
    Builder b;
    std::uint32_t x = b.argument("x");
    b.block({{Op::LOAD_FAST, x}, {Op::UNPACK_SEQUENCE, 0x7fffffff}, {Op::RETURN_VALUE}});
    EXPECT_THROW(b.lifted(), Error);
  }
  {
    Builder b;
    b.block({{Op::BUILD_MAP, 0x80000000u}, {Op::RETURN_VALUE}});
    EXPECT_THROW(b.lifted(), Error);
  }
  {
    Builder b;
    b.block({{Op::UNKNOWN, 255}});
    EXPECT_THROW(b.lifted(), Error);
  }
}

TEST(Lift, AnAbsentIdIsAnErrorAndNoReadOfMemory) {
  Builder b;
  b.block({{Op::LOAD_FAST, b.argument("x")}, {Op::RETURN_VALUE}});
  Lifted lifted = b.lifted();
  const Lifted& same = lifted;
  EXPECT_THROW(lifted.values[ValueId::none().index], Error);
  EXPECT_THROW(same.blocks[BlockId::none().index], Error);
}

}  // namespace
}  // namespace depyf::test
