#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "assembler.h"
#include "bytecode/lines.h"
#include "bytecode/scan.h"
#include "bytecode/text.h"
#include "pyc/pyc.h"
#include "support/error.h"

namespace depyf {
namespace {

using test::Assembler;
using test::shown;
using Lines = std::vector<std::string>;

std::string error_of(Assembler& code) {
  try {
    code.decoded();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// ---------------------------------------------------------------- prefixes, caches, jumps
TEST(Scan, PrefixesAndCachesBelongToTheirInstruction) {
  Assembler code(11);
  code.raw(code.table->extended_arg, 1).op("LOAD_GLOBAL", 3).op("RETURN_VALUE");
  code.bytes.push_back(9);  // half an instruction
  const CodeObject& object = code.module[code.finish()];
  std::vector<std::string> seen;
  std::vector<std::uint32_t> units;
  scan_instructions(object, [&](const RawInstr& instr) {
    seen.push_back(std::string(instr.info.name) + " " + std::to_string(instr.operand));
    units.push_back(instr.unit);
    seen.back() += ", name " + std::to_string(instr.name());
  });
  EXPECT_EQ(seen, (Lines{"LOAD_GLOBAL 259, name 129", "RETURN_VALUE 0, name 0"}));
  EXPECT_EQ(units, (std::vector<std::uint32_t>{1, 7}));
}

TEST(Decode, PrefixesMakeOneOperand) {
  Assembler code(11);
  code.raw(code.table->extended_arg, 0).op("LOAD_CONST", 3).op("LOAD_CONST", 8).op("RETURN_VALUE");
  const InstrList list = code.decoded();
  ASSERT_EQ(list.instrs.size(), 3U);
  EXPECT_EQ(code.module[ConstId(list.instrs[0].arg)].integer, 103);
  EXPECT_EQ(list.instrs[0].offset, 0U);
  EXPECT_EQ(list.instrs[1].offset, 4U);

  Assembler big(11);
  big.op("BUILD_TUPLE", 0x01020304).op("RETURN_VALUE");
  EXPECT_EQ(big.decoded().instrs[0].arg, 0x01020304U);

  Assembler open(11);
  open.op("RETURN_VALUE").raw(open.table->extended_arg, 1);
  EXPECT_NE(error_of(open).find("EXTENDED_ARG at offset 2"), std::string::npos);
}

TEST(Decode, JumpsIntoPrefixesAndCaches) {
  // Behind EXTENDED_ARG 0 the same instruction executes; behind EXTENDED_ARG 1 another one would.
  Assembler zero(11);
  zero.op("JUMP_FORWARD", 1)
      .raw(zero.table->extended_arg, 0)
      .op("LOAD_CONST", 8)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(zero.decoded()), (Lines{"JUMP >1", "LOAD_CONST", "RETURN_VALUE"}));

  Assembler one(11);
  one.op("JUMP_FORWARD", 1).op("BUILD_TUPLE", 0x100).op("RETURN_VALUE");
  EXPECT_NE(error_of(one).find("no instruction starts"), std::string::npos);

  Assembler cache(11);
  cache.op("JUMP_FORWARD", 1).op("BINARY_OP", 0).op("RETURN_VALUE");
  EXPECT_NE(error_of(cache).find("no instruction starts"), std::string::npos);

  Assembler beyond(11);
  beyond.op("JUMP_FORWARD", 9).op("RETURN_VALUE");
  EXPECT_NE(error_of(beyond).find("JUMP_FORWARD at offset 0"), std::string::npos);
  Assembler before(11);
  before.op("JUMP_BACKWARD", 9).op("RETURN_VALUE");
  EXPECT_NE(error_of(before).find("a jump to offset"), std::string::npos);

  Assembler cut(11);
  cut.op("LOAD_CONST", 8).raw(Assembler::number(*cut.table, "LOAD_GLOBAL"), 0);
  EXPECT_NE(error_of(cut).find("inline cache"), std::string::npos);
}

TEST(Decode, JumpUnits) {
  Assembler bytes(9);  // byte offsets up to 3.9
  bytes.op("LOAD_FAST").op("POP_JUMP_IF_FALSE", 6).op("NOP").op("LOAD_CONST", 8).op("RETURN_VALUE");
  EXPECT_EQ(shown(bytes.decoded()),
            (Lines{"LOAD_FAST", "BRANCH_FALSE >2", "LOAD_CONST", "RETURN_VALUE"}));
  Assembler odd(9);
  odd.op("JUMP_FORWARD", 1).op("RETURN_VALUE");
  EXPECT_NE(error_of(odd).find("odd jump"), std::string::npos);
  Assembler units(10);  // instructions from 3.10 on
  units.op("LOAD_FAST").op("POP_JUMP_IF_FALSE", 3).op("NOP").op("LOAD_CONST", 8).op("RETURN_VALUE");
  EXPECT_EQ(shown(units.decoded()),
            (Lines{"LOAD_FAST", "BRANCH_FALSE >2", "LOAD_CONST", "RETURN_VALUE"}));
  Assembler backwards(11);
  backwards.op("LOAD_FAST")
      .op("POP_JUMP_BACKWARD_IF_NONE", 2)
      .op("LOAD_CONST", 8)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(backwards.decoded()),
            (Lines{"LOAD_FAST", "BRANCH_NONE >0", "LOAD_CONST", "RETURN_VALUE"}));
}

TEST(Decode, RefusesOperandsOutOfRange) {
  const struct {
    std::uint8_t minor;
    const char* opcode;
    std::uint32_t operand;
  } cases[] = {{11, "LOAD_CONST", 99},
               {11, "LOAD_NAME", 8},
               {11, "LOAD_FAST", 12},
               {8, "LOAD_FAST", 8},
               {8, "LOAD_DEREF", 4},
               {11, "SWAP", 0},
               {11, "COPY", 0},
               {8, "COMPARE_OP", 11},
               {11, "COMPARE_OP", 6},
               {11, "BINARY_OP", 26},
               {11, "BINARY_OP", 99},
               {8, "BUILD_SLICE", 4},
               {11, "RAISE_VARARGS", 3},
               {12, "CALL_INTRINSIC_1", 0},
               {12, "CALL_INTRINSIC_2", 77},
               {14, "LOAD_SPECIAL", 4},
               {15, "LOAD_COMMON_CONSTANT", 12},
               {15, "IMPORT_NAME", 3},
               {11, "LIST_APPEND", 0},
               {13, "SET_FUNCTION_ATTRIBUTE", 32}};
  for (const auto& one : cases) {
    Assembler code(one.minor);
    code.op(one.opcode, one.operand).op("RETURN_VALUE");
    const std::string message = error_of(code);
    EXPECT_NE(message.find(one.opcode), std::string::npos)
        << one.opcode << " " << one.operand << ": " << message;
    EXPECT_NE(message.find("3." + std::to_string(one.minor)), std::string::npos) << message;
  }
}

TEST(Decode, UnknownOpcodesStay) {
  Assembler code(8);
  code.raw(0, 7).op("RETURN_VALUE");
  EXPECT_EQ(shown(code.decoded()), (Lines{"UNKNOWN 0 7", "RETURN_VALUE"}));
}

// ---------------------------------------------------------------- forms of single operations
TEST(Decode, CallsKeepTheirLayout) {
  Assembler v8(8);
  v8.op("LOAD_METHOD", 2)
      .op("CALL_METHOD", 1)
      .op("CALL_FUNCTION", 3)
      .op("CALL_FUNCTION_KW", 2)
      .op("CALL_FUNCTION_EX", 1)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v8.decoded()),
            (Lines{"LOAD_METHOD " + std::to_string(v8.module.intern("n2").index) + " 1", "CALL 1 1",
                   "CALL 3", "CALL_KW 2", "CALL_EX 1", "RETURN_VALUE"}));

  Assembler v11(11);
  v11.op("LOAD_GLOBAL", 1)
      .op("KW_NAMES", 8)
      .op("PRECALL", 2)
      .op("CALL", 2)
      .op("CALL", 0)
      .op("CALL_FUNCTION_EX", 0)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v11.decoded()), (Lines{"PUSH_NULL", "LOAD_GLOBAL 1", "LOAD_CONST", "CALL_KW 2 1",
                                         "CALL 0 1", "CALL_EX 0 1", "RETURN_VALUE"}));
  Assembler stray(11);
  stray.op("KW_NAMES", 8).op("POP_TOP").op("RETURN_VALUE");
  EXPECT_NE(error_of(stray).find("KW_NAMES"), std::string::npos);

  Assembler v12(12);
  v12.op("LOAD_ATTR", 2 * 3 + 1)
      .op("LOAD_ATTR", 2 * 3)
      .op("LOAD_SUPER_ATTR", 4 * 1 + 3)
      .op("RETURN_CONST", 8);
  const Lines got = shown(v12.decoded());
  EXPECT_EQ(got[0].substr(0, 11), "LOAD_METHOD");
  EXPECT_EQ(got[0].back(), '1');
  EXPECT_EQ(got[1].substr(0, 9), "LOAD_ATTR");
  EXPECT_EQ(got[2].substr(0, 15), "LOAD_SUPER_ATTR");
  EXPECT_EQ(got[2].back(), '3');
  EXPECT_EQ(got[4], "RETURN_VALUE");

  Assembler v13(13);
  v13.op("LOAD_GLOBAL", 1)
      .op("CALL_KW", 2)
      .op("CALL", 0)
      .op("LOAD_ATTR", 1)
      .op("CALL_FUNCTION_EX", 1)
      .op("LOAD_SUPER_ATTR", 1)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v13.decoded()),
            (Lines{"LOAD_GLOBAL 1", "PUSH_NULL", "CALL_KW 2 2", "CALL 0 2", "LOAD_METHOD 1 2",
                   "CALL_EX 1 2", "LOAD_SUPER_ATTR 1 5", "RETURN_VALUE"}));

  Assembler v14(14);
  v14.op("CALL_FUNCTION_EX").op("RETURN_VALUE");
  EXPECT_EQ(shown(v14.decoded()), (Lines{"CALL_EX 1 2", "RETURN_VALUE"}));
}

TEST(Decode, Comparisons) {
  Assembler v8(8);
  for (std::uint32_t i = 0; i < 11; ++i) v8.op("COMPARE_OP", i);
  v8.op("RETURN_VALUE");
  EXPECT_EQ(shown(v8.decoded()),
            (Lines{"COMPARE", "COMPARE 1", "COMPARE 2", "COMPARE 3", "COMPARE 4", "COMPARE 5",
                   "CONTAINS", "CONTAINS 1", "IS", "IS 1", "EXC_MATCH", "RETURN_VALUE"}));
  Assembler v12(12);
  v12.op("COMPARE_OP", 2 << 4 | 7).op("RETURN_VALUE");
  EXPECT_EQ(shown(v12.decoded())[0], "COMPARE 2");
  Assembler v13(13);
  v13.op("COMPARE_OP", 5 << 5 | 16 | 7).op("COMPARE_OP", 5 << 5 | 7).op("RETURN_VALUE");
  EXPECT_EQ(shown(v13.decoded()), (Lines{"COMPARE 5 1", "COMPARE 5", "RETURN_VALUE"}));
  Assembler v10(10);
  v10.op("JUMP_IF_NOT_EXC_MATCH", 1).op("RETURN_VALUE");
  EXPECT_EQ(shown(v10.decoded()), (Lines{"EXC_MATCH", "BRANCH_FALSE >2", "RETURN_VALUE"}));
}

TEST(Decode, SuperInstructionsAreSplit) {
  Assembler code(13);
  code.op("LOAD_FAST_LOAD_FAST", 1 << 4 | 8)
      .op("STORE_FAST_LOAD_FAST", 2 << 4 | 10)
      .op("STORE_FAST_STORE_FAST", 3 << 4 | 9)
      .op("LOAD_FAST", 8)
      .op("RETURN_CONST", 8);
  // LOAD_FAST of a cell (8) or free variable (10) loads the cell itself; STORE_FAST of one puts a
  // saved cell back.
  EXPECT_EQ(shown(code.decoded()), (Lines{"LOAD_FAST 1", "LOAD_CLOSURE 8", "STORE_FAST 2",
                                          "LOAD_CLOSURE 10", "STORE_FAST 3", "STORE_FAST 9",
                                          "LOAD_CLOSURE 8", "LOAD_CONST", "RETURN_VALUE"}));
}

TEST(Decode, CellsBefore311AreNumberedApart) {
  Assembler code(8);
  code.op("LOAD_DEREF", 0)
      .op("STORE_DEREF", 2)
      .op("LOAD_CLOSURE", 3)
      .op("LOAD_CLASSDEREF", 1)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(code.decoded()), (Lines{"LOAD_DEREF 8", "STORE_DEREF 10", "LOAD_CLOSURE 11",
                                          "LOAD_CLASSDEREF 9", "RETURN_VALUE"}));
  Assembler v12(12);
  v12.op("LOAD_DEREF", 8).op("LOAD_FROM_DICT_OR_DEREF", 10).op("RETURN_VALUE");
  EXPECT_EQ(shown(v12.decoded()), (Lines{"LOAD_DEREF 8", "LOAD_CLASSDEREF 10 1", "RETURN_VALUE"}));
}

TEST(Decode, ConstantsInInstructions) {
  Assembler code(15);
  code.op("LOAD_SMALL_INT", 200);
  for (std::uint32_t i = 0; i < 12; ++i) code.op("LOAD_COMMON_CONSTANT", i);
  code.op("RETURN_VALUE");
  const InstrList list = code.decoded();
  Lines texts;
  for (const Instr& instr : list.instrs)
    texts.push_back(operand_text(instr, code.module, code.module[code.module.root]));
  EXPECT_EQ(texts, (Lines{"200", "AssertionError", "NotImplementedError", "tuple", "all", "any",
                          "list", "set", "None", "''", "True", "False", "-1", ""}));
}

TEST(Decode, OperatorsOfEveryNumbering) {
  Assembler v10(10);
  v10.op("BINARY_MATRIX_MULTIPLY")
      .op("INPLACE_XOR")
      .op("BINARY_SUBSCR")
      .op("UNARY_POSITIVE")
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v10.decoded()),
            (Lines{"BINARY 4", "INPLACE 12", "LOAD_SUBSCR", "UNARY 2", "RETURN_VALUE"}));
  Assembler v14(14);
  v14.op("BINARY_OP", 4)
      .op("BINARY_OP", 25)
      .op("BINARY_OP", 26)
      .op("CALL_INTRINSIC_1", 5)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v14.decoded()),
            (Lines{"BINARY 4", "INPLACE 12", "LOAD_SUBSCR", "UNARY 2", "RETURN_VALUE"}));
}

TEST(Decode, IntrinsicsThatLeaveNone) {
  Assembler folded(12);
  folded.op("CALL_INTRINSIC_1", 2).op("POP_TOP").op("RETURN_CONST", 8);
  EXPECT_EQ(shown(folded.decoded()), (Lines{"IMPORT_STAR", "LOAD_CONST", "RETURN_VALUE"}));
  Assembler used(12);
  used.op("CALL_INTRINSIC_1", 1).op("RETURN_VALUE");
  EXPECT_EQ(shown(used.decoded()), (Lines{"PRINT_EXPR", "LOAD_CONST", "RETURN_VALUE"}));
}

TEST(Decode, VersionsDifferInWhatHandlersPop) {
  Assembler v10(10);
  v10.op("WITH_EXCEPT_START").op("POP_EXCEPT").op("RERAISE", 1);
  EXPECT_EQ(shown(v10.decoded()), (Lines{"WITH_EXCEPT_START 7", "POP_EXCEPT 3", "RERAISE 3"}));
  Assembler v11(11);
  v11.op("WITH_EXCEPT_START").op("POP_EXCEPT").op("RERAISE", 2);
  EXPECT_EQ(shown(v11.decoded()), (Lines{"WITH_EXCEPT_START 4", "POP_EXCEPT 1", "RERAISE 1 2"}));
  Assembler v14(14);
  v14.op("WITH_EXCEPT_START").op("RERAISE", 0);
  EXPECT_EQ(shown(v14.decoded()), (Lines{"WITH_EXCEPT_START 5", "RERAISE 1"}));
}

TEST(Decode, FormatsAndImports) {
  Assembler v12(12);
  v12.op("FORMAT_VALUE", 2 | 4).op("RETURN_VALUE");
  EXPECT_EQ(shown(v12.decoded())[0], "FORMAT 2 1");
  Assembler v14(14);
  v14.op("CONVERT_VALUE", 3)
      .op("FORMAT_WITH_SPEC")
      .op("BUILD_INTERPOLATION", 2 << 2 | 1)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v14.decoded()),
            (Lines{"CONVERT 3", "FORMAT 0 1", "BUILD_INTERPOLATION 2 1", "RETURN_VALUE"}));
  Assembler v15(15);
  v15.op("LOAD_CONST", 8).op("LOAD_CONST", 8).op("IMPORT_NAME", 0 << 2 | 1).op("RETURN_VALUE");
  EXPECT_EQ(shown(v15.decoded())[2], "IMPORT_NAME 1 1");
}

// ---------------------------------------------------------------- what the compiler adds
TEST(Decode, GeneratorsStartWithoutTheirPrologue) {
  Assembler v11(11);
  v11.flags |= kGenerator;
  v11.op("COPY_FREE_VARS", 1)
      .op("RETURN_GENERATOR")
      .op("POP_TOP")
      .op("RESUME")
      .op("LOAD_CONST", 8)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v11.decoded()), (Lines{"LOAD_CONST", "RETURN_VALUE"}));
  Assembler odd(11);  // the value that resumes it is None
  odd.op("RETURN_GENERATOR").op("RETURN_VALUE");
  EXPECT_EQ(shown(odd.decoded()), (Lines{"LOAD_CONST", "RETURN_VALUE"}));
  Assembler v10(10);
  v10.op("GEN_START").op("LOAD_CONST", 8).op("RETURN_VALUE");
  EXPECT_EQ(shown(v10.decoded()), (Lines{"LOAD_CONST", "RETURN_VALUE"}));
}

TEST(Decode, SendLoopOf311) {
  Assembler code(11);
  code.op("GET_AWAITABLE", 1)
      .op("LOAD_CONST", 8)
      .op("SEND", 3)
      .op("YIELD_VALUE")
      .op("RESUME", 3)
      .op("JUMP_BACKWARD_NO_INTERRUPT", 4)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(code.decoded()),
            (Lines{"GET_AWAITABLE 1", "LOAD_CONST", "YIELD_FROM", "RETURN_VALUE"}));
  Assembler other(
      11);  // the first value sent is not None: the loop stays, and its way out has only the result
  other.op("GET_AWAITABLE")
      .op("LOAD_CONST", 0)
      .op("SEND", 3)
      .op("YIELD_VALUE")
      .op("RESUME", 3)
      .op("JUMP_BACKWARD_NO_INTERRUPT", 4)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(other.decoded()), (Lines{"GET_AWAITABLE", "LOAD_CONST", "SEND 0 1 >5",
                                           "YIELD_VALUE", "JUMP >2", "RETURN_VALUE"}));
}

/// 3.12: GET_AWAITABLE, None, SEND … END_SEND, RETURN_VALUE, then CLEANUP_THROW and a jump back to
/// END_SEND; a handler over all of it.
Assembler send_loop_312(bool row) {
  Assembler code(12);
  code.flags |= kCoroutine;
  code.op("LOAD_FAST").op("GET_AWAITABLE").op("LOAD_CONST", 8);
  const std::uint32_t send = code.units();
  code.op("SEND", 3);
  const std::uint32_t yield = code.units();
  code.op("YIELD_VALUE").op("RESUME", 3).op("JUMP_BACKWARD_NO_INTERRUPT", code.units() + 1 - send);
  const std::uint32_t end = code.units();
  code.op("END_SEND").op("RETURN_VALUE");
  const std::uint32_t cleanup = code.units();
  code.op("CLEANUP_THROW").op("JUMP_BACKWARD", cleanup + 2 - end);
  const std::uint32_t handler = code.units();
  code.op("PUSH_EXC_INFO").op("RERAISE", 0);
  code.row(0, yield, handler, 0, false);
  if (row) code.row(yield, yield + 1, cleanup, 2, false);
  code.row(yield + 1, cleanup + 1, handler, 0, false);
  return code;
}

TEST(Decode, SendLoopOf312) {
  Assembler code = send_loop_312(true);
  const InstrList list = code.decoded();
  EXPECT_EQ(shown(list), (Lines{"LOAD_FAST", "GET_AWAITABLE", "LOAD_CONST", "YIELD_FROM",
                                "RETURN_VALUE", "PUSH_EXC_INFO", "RERAISE 1"}));
  ASSERT_EQ(list.rows.size(),
            1U);  // the row around the YIELD_VALUE is gone and its neighbours are one again
  EXPECT_EQ(list.rows[0].begin, 0U);
  EXPECT_EQ(list.rows[0].end, 5U);
  EXPECT_EQ(list.rows[0].target, 5U);

  Assembler open = send_loop_312(false);  // without its row it is no `await`
  const InstrList kept = open.decoded();
  EXPECT_EQ(kept.instrs[3].op, Op::SEND);
  EXPECT_EQ(kept.instrs[6].op, Op::END_SEND);
}

TEST(Decode, StopIterationHandler) {
  const auto build = [](std::uint32_t flags, std::uint32_t from) {
    Assembler code(12);
    code.flags |= flags;
    code.op("RETURN_GENERATOR")
        .op("POP_TOP")
        .op("RESUME")
        .op("LOAD_FAST")
        .op("YIELD_VALUE")
        .op("RESUME", 1)
        .op("RETURN_VALUE");
    code.op("CALL_INTRINSIC_1", 3).op("RERAISE", 1);
    code.row(from, 7, 7, 0, true);
    return code;
  };
  Assembler generator = build(kGenerator, 2);
  const InstrList list = generator.decoded();
  EXPECT_EQ(shown(list), (Lines{"LOAD_FAST", "YIELD_VALUE", "RETURN_VALUE"}));
  EXPECT_TRUE(list.rows.empty());
  Assembler function = build(0, 2);
  EXPECT_EQ(function.decoded().rows.size(), 1U);
  Assembler partial = build(kGenerator, 4);  // LOAD_FAST, which can raise, lies outside
  EXPECT_EQ(partial.decoded().rows.size(), 1U);
}

TEST(Decode, LoopsLeaveBehindWhatPopsTheIterator) {
  Assembler v11(11);
  v11.op("GET_ITER")
      .op("FOR_ITER", 2)
      .op("POP_TOP")
      .op("JUMP_BACKWARD", 3)
      .op("LOAD_CONST", 8)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v11.decoded()),
            (Lines{"GET_ITER", "FOR_ITER >4", "POP_TOP", "JUMP >1", "LOAD_CONST", "RETURN_VALUE"}));
  Assembler v12(12);
  v12.op("GET_ITER")
      .op("FOR_ITER", 2)
      .op("POP_TOP")
      .op("JUMP_BACKWARD", 4)
      .op("END_FOR")
      .op("RETURN_CONST", 8);
  EXPECT_EQ(shown(v12.decoded()),
            (Lines{"GET_ITER", "FOR_ITER >4", "POP_TOP", "JUMP >1", "LOAD_CONST", "RETURN_VALUE"}));
  Assembler v13(13);
  v13.op("GET_ITER")
      .op("FOR_ITER", 3)
      .op("POP_TOP")
      .op("JUMP_BACKWARD", 5)
      .op("END_FOR")
      .op("POP_TOP")
      .op("RETURN_CONST", 8);
  EXPECT_EQ(shown(v13.decoded()),
            (Lines{"GET_ITER", "FOR_ITER >4", "POP_TOP", "JUMP >1", "LOAD_CONST", "RETURN_VALUE"}));
  Assembler v14(14);
  v14.op("GET_ITER")
      .op("FOR_ITER", 3)
      .op("POP_TOP")
      .op("JUMP_BACKWARD", 5)
      .op("END_FOR")
      .op("POP_ITER")
      .op("LOAD_CONST", 8)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v14.decoded()),
            (Lines{"GET_ITER", "FOR_ITER >4", "POP_TOP", "JUMP >1", "LOAD_CONST", "RETURN_VALUE"}));
  Assembler v15(15);
  v15.op("LOAD_FAST")
      .op("GET_ITER")
      .op("FOR_ITER", 3)
      .op("POP_TOP")
      .op("JUMP_BACKWARD", 5)
      .op("END_FOR")
      .op("POP_ITER")
      .op("LOAD_CONST", 8)
      .op("RETURN_VALUE");
  EXPECT_EQ(shown(v15.decoded()), (Lines{"LOAD_FAST", "GET_ITER", "FOR_ITER >5", "POP_TOP",
                                         "JUMP >2", "LOAD_CONST", "RETURN_VALUE"}));

  Assembler reached(12);  // END_FOR that is fallen into stays
  reached.op("GET_ITER").op("FOR_ITER", 1).op("NOP").op("END_FOR").op("RETURN_CONST", 8);
  EXPECT_EQ(shown(reached.decoded()),
            (Lines{"GET_ITER", "FOR_ITER >3", "END_FOR 2", "LOAD_CONST", "RETURN_VALUE"}));
  Assembler wrong(12);
  wrong.op("GET_ITER").op("FOR_ITER", 1).op("NOP").op("RETURN_CONST", 8);
  EXPECT_NE(error_of(wrong).find("END_FOR"), std::string::npos);
}

TEST(Decode, VirtualSlotsOf315) {
  // A nested loop that returns from inside: positions are counted without the second value of each
  // iterator.
  Assembler code(15);
  code.op("LOAD_FAST").op("BUILD_LIST", 0).op("LOAD_FAST", 1).op("GET_ITER");
  const std::uint32_t loop = code.units();
  code.op("FOR_ITER", 15)
      .op("LIST_APPEND", 3)
      .op("LOAD_FAST", 2)
      .op("TO_BOOL")
      .op("POP_JUMP_IF_FALSE", 5);
  code.op("LOAD_FAST", 3).op("SWAP", 3).op("POP_TOP").op("POP_TOP").op("RETURN_VALUE");
  code.op("JUMP_BACKWARD", code.units() + 2 - loop)
      .op("END_FOR")
      .op("POP_ITER")
      .op("COPY", 1)
      .op("RETURN_VALUE");
  const Lines got = shown(code.decoded());
  EXPECT_EQ(got,
            (Lines{"LOAD_FAST", "BUILD_LIST", "LOAD_FAST 1", "GET_ITER", "FOR_ITER >14",
                   "LIST_APPEND 2", "LOAD_FAST 2", "TO_BOOL", "BRANCH_FALSE >13", "LOAD_FAST 3",
                   "SWAP 2", "POP_TOP", "RETURN_VALUE", "JUMP >4", "COPY 1", "RETURN_VALUE"}));

  Assembler mixed(15);  // the second value is taken as an ordinary one
  mixed.op("LOAD_FAST").op("GET_ITER").op("BUILD_TUPLE", 2).op("RETURN_VALUE");
  EXPECT_NE(error_of(mixed).find("second value"), std::string::npos);
}

TEST(Decode, WithOf314LoadsItsMethodsInOneOperation) {
  const auto build = [](std::uint32_t exit, std::uint32_t enter) {
    Assembler code(14);
    code.op("LOAD_FAST")
        .op("COPY", 1)
        .op("LOAD_SPECIAL", exit)
        .op("SWAP", 2)
        .op("SWAP", 3)
        .op("LOAD_SPECIAL", enter)
        .op("CALL", 0)
        .op("RETURN_VALUE");
    return code;
  };
  Assembler plain = build(1, 0), async = build(3, 2), mixed = build(1, 2);
  EXPECT_EQ(shown(plain.decoded()), (Lines{"LOAD_FAST", "WITH_ENTER 0 2", "RETURN_VALUE"}));
  EXPECT_EQ(shown(async.decoded()), (Lines{"LOAD_FAST", "ASYNC_WITH_ENTER 0 2", "RETURN_VALUE"}));
  EXPECT_EQ(mixed.decoded().instrs.size(), 8U);
}

// ---------------------------------------------------------------- exception table, lines, text
TEST(Decode, ExceptionRows) {
  Assembler code(11);
  code.op("RESUME").op("LOAD_GLOBAL", 0).op("RETURN_VALUE").op("PUSH_EXC_INFO").op("RERAISE", 0);
  const std::uint32_t handler = code.units() - 2;
  code.row(0, 1, handler, 0, false).row(1, handler, handler, 3, true);
  const InstrList list = code.decoded();
  ASSERT_EQ(list.rows.size(), 1U);  // RESUME is gone, and its row with it
  EXPECT_EQ(list.rows[0].begin, 0U);
  EXPECT_EQ(list.rows[0].end, 2U);
  EXPECT_EQ(list.rows[0].target, 2U);
  EXPECT_EQ(list.rows[0].depth, 3U);
  EXPECT_TRUE(list.rows[0].lasti);

  for (int which = 0; which < 4; ++which) {
    Assembler bad(11);
    bad.op("LOAD_CONST", 8).op("BINARY_OP", 0).op("RETURN_VALUE");
    if (which == 0) bad.row(1, 2, 0, 0, false).row(0, 1, 0, 0, false);  // not in order
    if (which == 1) bad.row(0, 9, 0, 0, false);
    if (which == 2) bad.row(0, 1, 2, 0, false);  // into the cache of BINARY_OP
    if (which == 3) bad.rows = {0, 1, 64};
    EXPECT_NE(error_of(bad).find("exception table"), std::string::npos) << which;
  }
}

std::vector<std::int32_t> lines_of(std::uint8_t minor, std::vector<std::uint8_t> table,
                                   std::uint32_t units) {
  CodeObject code;
  code.version = {3, minor};
  code.firstlineno = 10;
  code.linetable = table;
  LineCursor cursor(code);
  std::vector<std::int32_t> out;
  for (std::uint32_t i = 0; i < units; ++i) out.push_back(cursor.at(i));
  return out;
}

TEST(Lines, AllEncodings) {
  using Numbers = std::vector<std::int32_t>;
  EXPECT_EQ(lines_of(8, {}, 2), (Numbers{10, 10}));
  EXPECT_EQ(lines_of(8, {2, 1, 2, 0xff, 0, 100, 0, 127}, 4), (Numbers{10, 11, 237, 237}));
  EXPECT_EQ(lines_of(8, {0, 3, 4, 1}, 3), (Numbers{13, 13, 14}));
  EXPECT_EQ(lines_of(10, {2, 0, 2, 0x80, 2, 5, 2, 0xfe}, 5), (Numbers{10, 0, 15, 13, 0}));
  EXPECT_EQ(lines_of(10, {0, 100, 2, 27}, 1), (Numbers{137}));
  // short form, one-line form, no columns, long form, none
  EXPECT_EQ(lines_of(11,
                     {0x80 | 1, 0x00, 0x80 | 11 << 3, 0, 0, 0x80 | 13 << 3, 7, 0x80 | 14 << 3, 4, 0,
                      0, 0, 0x80 | 15 << 3},
                     6),
            (Numbers{10, 10, 11, 8, 10, 0}));
}

TEST(Text, ConstantsAreBounded) {
  Module module;
  Const value;
  value.kind = ConstKind::Str;
  value.text = "a'\n\xed\xa0\x80\xc3\xa9";
  EXPECT_EQ(constant_text(module, module.add(value)), "'a\\'\\n\\ud800\xc3\xa9'");
  const std::string longer(1000, 'x');
  value.text = longer;
  EXPECT_LT(constant_text(module, module.add(value)).size(), 80U);
  ConstId inner = module.add(Const{});
  for (int i = 0; i < 1000; ++i) {
    Const tuple;
    tuple.kind = ConstKind::Tuple;
    const std::vector<ConstId> items(2, inner);
    tuple.items = module.arena.copy(items);
    inner = module.add(tuple);
  }
  EXPECT_LT(constant_text(module, inner).size(), 500U);
  value = Const{};
  value.kind = ConstKind::Float;
  value.re = -0.0;
  EXPECT_EQ(constant_text(module, module.add(value)), "-0.0");
}

TEST(Text, ShowsEveryColumn) {
  Assembler code(11);
  code.lines = {0x80 | 13 << 3 | 1, 0, 0x80 | 15 << 3};
  code.op("LOAD_FAST", 2)
      .op("POP_JUMP_FORWARD_IF_TRUE", 1)
      .op("NOP")
      .op("LOAD_CONST", 8)
      .op("RETURN_VALUE")
      .op("PUSH_EXC_INFO")
      .op("RERAISE");
  code.row(0, 4, 5, 0, true);
  const InstrList list = code.decoded();
  EXPECT_EQ(to_text(list, code.module, code.module.root),
            "code #0 f, line 10, CPython 3.11\n"
            "    10 L1:    0  LOAD_FAST           l2\n"
            "              2  BRANCH_TRUE         to L2\n"
            "    -- L2:    6  LOAD_CONST          None\n"
            "       L3:    8  RETURN_VALUE\n"
            "       L4:   10  PUSH_EXC_INFO\n"
            "             12  RERAISE             1\n"
            "exception table:\n"
            "  L1 to L3 -> L4, depth 0, lasti\n");
}

// ---------------------------------------------------------------- committed fixtures
TEST(Fixtures, EveryInstructionHasMeaningAndFolds) {
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(DEPYF_TEST_DATA_DIR) / "fixtures" / "bytecode")) {
    if (entry.path().extension() != ".pyc") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    Module module = read_pyc({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    for (std::uint32_t i = 0; i < module.codes.size(); ++i) {
      const InstrList list = decode(module, CodeId(i));
      for (const Instr& instr : list.instrs) {
        seen.insert(std::string(op_name(instr.op)));
        const bool folded = instr.op != Op::UNKNOWN && instr.op != Op::SEND &&
                            instr.op != Op::END_SEND && instr.op != Op::CLEANUP_THROW &&
                            instr.op != Op::END_FOR && instr.op != Op::LOAD_SPECIAL;
        EXPECT_TRUE(folded) << entry.path() << " " << module[module.codes[i].name] << " "
                            << op_name(instr.op) << " at " << instr.offset;
        EXPECT_TRUE(instr.target == kNoTarget || instr.target < list.instrs.size());
      }
      std::uint32_t last = 0;
      for (const ExceptionRow& row : list.rows) {
        EXPECT_LE(last, row.begin);
        EXPECT_LT(row.begin, row.end);
        EXPECT_LE(row.end, list.instrs.size());
        EXPECT_LT(row.target, list.instrs.size());
        last = row.end;
      }
    }
  }
  for (const char* op :
       {"YIELD_FROM", "WITH_ENTER", "MATCH_CLASS", "CHECK_EG_MATCH", "BUILD_TEMPLATE",
        "LOAD_CLOSURE", "SETUP_FINALLY", "END_FINALLY", "INTRINSIC_2"}) {
    EXPECT_EQ(seen.count(op), 1U) << op;
  }
}

}  // namespace
}  // namespace depyf
