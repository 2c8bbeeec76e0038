#include <gtest/gtest.h>

#include <cmath>

#include "lifted_builder.h"
#include "simplify/rules.h"
#include "simplify/simplify.h"

namespace depyf::test {
namespace {

constexpr std::uint32_t kMultiply = 5;

std::string simplified(Builder& b, const SimplifyOptions& options = {}) {
  Lifted lifted = b.lifted();
  simplify(lifted, b.module, options);
  check(lifted);
  return b.text(lifted);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

SimplifyOptions only_fresh() {
  SimplifyOptions options;
  options.drop_dead = options.late_loads = false;
  return options;
}

SimplifyOptions only_dead() {
  SimplifyOptions options;
  options.fresh_sequences = options.late_loads = false;
  return options;
}

SimplifyOptions only_late() {
  SimplifyOptions options;
  options.fresh_sequences = options.drop_dead = false;
  return options;
}

// ---------------------------------------------------------------- the toy example of torch 2.13
// on 3.11, as Dynamo emits it

struct Toy : Builder {
  std::vector<Instr> arm(std::string_view resume) {
    const std::uint32_t zero = integer(0), one = integer(1), minus = integer(-1), nothing = none();
    return {{Op::BUILD_LIST, 0},
            {Op::COPY, 2},
            {Op::LOAD_CONST, zero},
            {Op::LOAD_SUBSCR},
            {Op::LOAD_CONST, zero},
            {Op::LOAD_CONST, zero},
            {Op::BUILD_SLICE, 2},
            {Op::STORE_SUBSCR},
            {Op::COPY, 1},
            {Op::LOAD_CONST, zero},
            {Op::LOAD_SUBSCR},
            {Op::SWAP, 2},
            {Op::POP_TOP},
            {Op::BUILD_LIST, 1},
            {Op::SWAP, 2},
            {Op::COPY, 1},
            {Op::LOAD_CONST, zero},
            {Op::LOAD_SUBSCR},
            {Op::SWAP, 2},
            {Op::POP_TOP},
            {Op::BUILD_LIST, 1},
            {Op::SWAP, 2},
            {Op::COPY, 1},
            {Op::LOAD_CONST, zero},
            {Op::LOAD_SUBSCR},
            {Op::COPY, 1},
            {Op::COPY, 1},
            {Op::LOAD_CONST, one},
            {Op::LOAD_SUBSCR},
            {Op::SWAP, 2},
            {Op::COPY, 1},
            {Op::LOAD_CONST, zero},
            {Op::LOAD_SUBSCR},
            {Op::SWAP, 2},
            {Op::POP_TOP},
            {Op::BUILD_LIST, 2},
            {Op::SWAP, 2},
            {Op::LOAD_CONST, zero},
            {Op::LOAD_CONST, nothing},
            {Op::BUILD_SLICE, 2},
            {Op::STORE_SUBSCR},
            {Op::COPY, 2},
            {Op::POP_TOP},
            {Op::BUILD_LIST, 0},
            {Op::SWAP, 3},
            {Op::POP_TOP},
            {Op::LOAD_GLOBAL, str(resume)},
            {Op::SWAP, 3},
            {Op::SWAP, 2},
            {Op::COPY, 1},
            {Op::COPY, 1},
            {Op::LOAD_CONST, minus},
            {Op::LOAD_SUBSCR},
            {Op::SWAP, 2},
            {Op::LOAD_CONST, minus},
            {Op::DELETE_SUBSCR},
            {Op::SWAP, 3},
            {Op::SWAP, 2},
            {Op::BUILD_LIST, 2},
            {Op::SWAP, 2},
            {Op::LIST_EXTEND, 1},
            {Op::PUSH_NULL},
            {Op::SWAP, 3},
            {Op::SWAP, 2},
            {Op::CALL_EX, 0, kNullBelow},
            {Op::RETURN_VALUE}};
  }
  Toy() {
    const std::uint32_t a = argument("a"), b = argument("b"), out = slot("graph_out_0"),
                        tmp1 = slot("tmp_1"), tmp2 = slot("tmp_2"), tmp3 = slot("tmp_3");
    const std::uint32_t zero = integer(0), one = integer(1);
    const std::uint32_t utils = str("__import_torch_dot__dynamo_dot_utils");
    block({{Op::PUSH_NULL},
           {Op::LOAD_GLOBAL, str("__compiled_fn_1")},
           {Op::PUSH_NULL},
           {Op::LOAD_GLOBAL, utils},
           {Op::LOAD_ATTR, str("record_pregraph_bytecode_enter")},
           {Op::COPY, 1},
           {Op::STORE_FAST, tmp1},
           {Op::CALL, 0, kNullBelow},
           {Op::STORE_FAST, tmp2},
           {Op::LOAD_FAST, a},
           {Op::LOAD_FAST, b},
           {Op::PUSH_NULL},
           {Op::LOAD_GLOBAL, utils},
           {Op::LOAD_ATTR, str("record_pregraph_bytecode_exit")},
           {Op::COPY, 1},
           {Op::STORE_FAST, tmp3},
           {Op::LOAD_FAST, tmp2},
           {Op::CALL, 1, kNullBelow},
           {Op::POP_TOP},
           {Op::CALL, 2, kNullBelow},
           {Op::DELETE_FAST, tmp1},
           {Op::DELETE_FAST, tmp3},
           {Op::STORE_FAST, out},
           {Op::BUILD_TUPLE, 0},
           {Op::BUILD_LIST, 1},
           {Op::LOAD_FAST, out},
           {Op::LOAD_CONST, zero},
           {Op::LOAD_SUBSCR},
           {Op::LOAD_FAST, out},
           {Op::LOAD_CONST, one},
           {Op::LOAD_SUBSCR},
           {Op::BUILD_LIST, 1},
           {Op::COPY, 1},
           {Op::LOAD_CONST, zero},
           {Op::LOAD_CONST, one},
           {Op::BUILD_SLICE, 2},
           {Op::LOAD_SUBSCR},
           {Op::SWAP, 2},
           {Op::LOAD_FAST, b},
           {Op::BUILD_LIST, 1},
           {Op::LIST_EXTEND, 2},
           {Op::POP_TOP},
           {Op::BUILD_LIST, 1},
           {Op::SWAP, 2},
           {Op::DELETE_FAST, out},
           {Op::BRANCH_FALSE}},
          1, 2);
    block(arm("__resume_at_102_2"));
    block(arm("__resume_at_112_3"));
    lifted();
    module[code].names = module.arena.copy(std::vector<StrId>{module.intern("__compiled_fn_1")});
  }
};

TEST(Simplify, ToyExampleHasNoListSurgery) {
  Toy toy;
  EXPECT_EQ(simplified(toy),
            "b0:\n"
            "  v2 = LOAD_GLOBAL __import_torch_dot__dynamo_dot_utils\n"
            "  v3 = LOAD_ATTR record_pregraph_bytecode_enter (v2)\n"
            "  v5 = CALL (v3)\n"
            "  v6 = STORE_FAST tmp_2 (v5)\n"
            "  v9 = LOAD_GLOBAL __import_torch_dot__dynamo_dot_utils\n"
            "  v10 = LOAD_ATTR record_pregraph_bytecode_exit (v9)\n"
            "  v12 = LOAD_FAST tmp_2\n"
            "  v13 = CALL 1 (v10, v12)\n"
            "  v1 = LOAD_GLOBAL __compiled_fn_1\n"
            "  v7 = LOAD_FAST a\n"
            "  v8 = LOAD_FAST b\n"
            "  v14 = CALL 2 (v1, v7, v8)\n"
            "  v17 = STORE_FAST graph_out_0 (v14)\n"
            "  v20 = LOAD_FAST graph_out_0\n"
            "  v21 = LOAD_CONST 0\n"
            "  v22 = LOAD_SUBSCR (v20, v21)\n"
            "  v23 = LOAD_FAST graph_out_0\n"
            "  v24 = LOAD_CONST 1\n"
            "  v25 = LOAD_SUBSCR (v23, v24)\n"
            "  v35 = DELETE_FAST graph_out_0\n"
            "  branch v22 ? b1 : b2\n"
            "b1:  stack [_, _]\n"
            "  v61 = LOAD_GLOBAL __resume_at_102_2\n"
            "  v60 = BUILD_LIST\n"
            "  v102 = BUILD_LIST\n"
            "  v104 = LOAD_FAST b\n"
            "  v68 = CALL 4 (v61, v60, v102, v104, v25)\n"
            "  return v68\n"
            "b2:  stack [_, _]\n"
            "  v94 = LOAD_GLOBAL __resume_at_112_3\n"
            "  v93 = BUILD_LIST\n"
            "  v103 = BUILD_LIST\n"
            "  v105 = LOAD_FAST b\n"
            "  v101 = CALL 4 (v94, v93, v103, v105, v25)\n"
            "  return v101\n");
}

// ---------------------------------------------------------------- fresh sequences

TEST(FreshSequence, CallWithKnownListIsAPlainCall) {
  Builder b;
  std::uint32_t f = b.argument("f"), x = b.argument("x");
  b.block({{Op::LOAD_FAST, f},
           {Op::LOAD_FAST, x},
           {Op::LOAD_FAST, f},
           {Op::BUILD_LIST, 2},
           {Op::CALL_EX},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_TRUE(has(text, "CALL 2 (v1, v2, v3)")) << text;
  EXPECT_FALSE(has(text, "BUILD_LIST")) << text;
}

TEST(FreshSequence, CallWithUnknownIterableStays) {
  Builder b;
  std::uint32_t f = b.argument("f"), x = b.argument("x");
  b.block({{Op::LOAD_FAST, f}, {Op::LOAD_FAST, x}, {Op::CALL_EX}, {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b), "CALL_EX (v1, v2)"));
}

TEST(FreshSequence, CallWithKnownNamesIsAKeywordCall) {
  Builder b;
  std::uint32_t f = b.argument("f"), x = b.argument("x");
  Const name;
  name.kind = ConstKind::Str;
  name.text = "k";
  b.block({{Op::LOAD_FAST, f},
           {Op::LOAD_FAST, x},
           {Op::BUILD_TUPLE, 1},
           {Op::LOAD_CONST, b.constant(name)},
           {Op::LOAD_FAST, x},
           {Op::BUILD_MAP, 1},
           {Op::CALL_EX, 1},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_TRUE(has(text, "CALL_KW 2 (v1, v2, v5, ")) << text;
  EXPECT_FALSE(has(text, "BUILD")) << text;
}

TEST(FreshSequence, KeysThatAreNoNamesStay) {
  for (const char* bad : {"a-b", "class", "", "1a", "__private"}) {
    Builder b;
    std::uint32_t f = b.argument("f"), x = b.argument("x");
    Const name;
    name.kind = ConstKind::Str;
    name.text = bad;
    b.block({{Op::LOAD_FAST, f},
             {Op::LOAD_FAST, x},
             {Op::BUILD_TUPLE, 1},
             {Op::LOAD_CONST, b.constant(name)},
             {Op::LOAD_FAST, x},
             {Op::BUILD_MAP, 1},
             {Op::CALL_EX, 1},
             {Op::RETURN_VALUE}});
    EXPECT_TRUE(has(simplified(b), "CALL_EX 1")) << bad;
  }
}

TEST(FreshSequence, ADictWithAnotherReaderStays) {
  Builder b;
  std::uint32_t f = b.argument("f"), x = b.argument("x");
  Const name;
  name.kind = ConstKind::Str;
  name.text = "k";
  b.block({{Op::LOAD_CONST, b.constant(name)},
           {Op::LOAD_FAST, x},
           {Op::BUILD_MAP, 1},
           {Op::LOAD_FAST, f},
           {Op::BUILD_TUPLE, 0},
           {Op::COPY, 3},
           {Op::CALL_EX, 1},
           {Op::POP_TOP},
           {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b), "CALL_EX 1"));
}

Const text(std::string_view value) {
  Const c;
  c.kind = ConstKind::Str;
  c.text = value;
  return c;
}

/// d = {first: x, second: x} in one block, f(*x, **d) as source compiles it in the next. `again`:
/// the dict is read once more; `full`: what it is merged into is not empty.
std::string merged_later(const Const& first, const Const& second, bool again = false,
                         bool full = false) {
  Builder b;
  const std::uint32_t f = b.argument("f"), x = b.argument("x");
  Const keys;
  keys.kind = ConstKind::Tuple;
  const ConstId both[] = {ConstId(b.constant(first)), ConstId(b.constant(second))};
  keys.items = b.module.arena.copy(std::span<const ConstId>(both));
  const std::uint32_t names = b.constant(keys), other = b.constant(text("other"));
  b.block({{Op::LOAD_FAST, x},
           {Op::LOAD_FAST, x},
           {Op::LOAD_CONST, names},
           {Op::BUILD_CONST_KEY_MAP, 2},
           {Op::LOAD_FAST, x},
           {Op::BRANCH_TRUE}},
          1, 2);
  b.block({{Op::LOAD_FAST, f}, {Op::CALL, 0, kPlain}, {Op::POP_TOP}, {Op::JUMP}}, 2);
  std::vector<Instr> call;
  if (again) call = {{Op::COPY, 1}, {Op::STORE_GLOBAL, b.str("kept")}};
  call.insert(call.end(), {{Op::LOAD_FAST, f}, {Op::LOAD_FAST, x}});
  if (full)
    call.insert(call.end(), {{Op::LOAD_CONST, other}, {Op::LOAD_FAST, x}, {Op::BUILD_MAP, 1}});
  else
    call.push_back({Op::BUILD_MAP, 0});
  call.insert(call.end(), {{Op::COPY, 4},
                           {Op::DICT_MERGE, 1},
                           {Op::CALL_EX, 1},
                           {Op::SWAP, 2},
                           {Op::POP_TOP},
                           {Op::RETURN_VALUE}});
  b.block(call);
  return simplified(b);
}

TEST(FreshSequence, AMergeOfADictThatNothingElseReadsIsThatDict) {
  EXPECT_FALSE(has(merged_later(text("a"), text("b")), "DICT_MERGE"));
}

TEST(FreshSequence, OtherMergesStay) {
  const std::string twice = merged_later(text("a"), text("b"), true),
                    full = merged_later(text("a"), text("b"), false, true);
  EXPECT_TRUE(has(twice, "DICT_MERGE")) << twice;
  EXPECT_TRUE(has(full, "DICT_MERGE")) << full;
  EXPECT_TRUE(has(merged_later(text("a"), text("a")), "DICT_MERGE"));
  Const number;
  number.kind = ConstKind::Int;
  EXPECT_TRUE(has(merged_later(text("a"), number), "DICT_MERGE"));
}

/// A dict that is made before a loop and passed on in each round: what gets it could change it, but
/// not its copy.
TEST(FreshSequence, AMergeInALoopStays) {
  Builder b;
  const std::uint32_t f = b.argument("f"), x = b.argument("x");
  b.block(
      {{Op::LOAD_CONST, b.constant(text("k"))}, {Op::LOAD_FAST, x}, {Op::BUILD_MAP, 1}, {Op::JUMP}},
      1);
  b.block({{Op::LOAD_FAST, f},
           {Op::LOAD_FAST, x},
           {Op::BUILD_MAP, 0},
           {Op::COPY, 4},
           {Op::DICT_MERGE, 1},
           {Op::CALL_EX, 1},
           {Op::BRANCH_TRUE}},
          2, 1);
  b.block({{Op::RETURN_VALUE}});
  const std::string text = simplified(b);
  EXPECT_TRUE(has(text, "DICT_MERGE")) << text;
}

TEST(FreshSequence, ClosureOfAFunctionMadeForItIsItsCells) {
  Builder b;
  std::uint32_t x = b.argument("x"), body = b.none();
  // (lambda: x).__closure__[0]
  b.block({{Op::LOAD_CLOSURE, x},
           {Op::BUILD_TUPLE, 1},
           {Op::LOAD_CONST, body},
           {Op::MAKE_FUNCTION, 8},
           {Op::LOAD_ATTR, b.str("__closure__")},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::LOAD_SUBSCR},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_FALSE(has(text, "MAKE_FUNCTION") || has(text, "LOAD_ATTR") || has(text, "BUILD_TUPLE"))
      << text;
  EXPECT_TRUE(has(text, "v1 = LOAD_CLOSURE x") && has(text, "return v1")) << text;
}

TEST(FreshSequence, ClosureOfAnythingElseStays) {
  {
    Builder b;  // another attribute
    std::uint32_t x = b.argument("x"), body = b.none();
    b.block({{Op::LOAD_CLOSURE, x},
             {Op::BUILD_TUPLE, 1},
             {Op::LOAD_CONST, body},
             {Op::MAKE_FUNCTION, 8},
             {Op::LOAD_ATTR, b.str("__code__")},
             {Op::RETURN_VALUE}});
    EXPECT_TRUE(has(simplified(b), "MAKE_FUNCTION"));
  }
  {
    Builder b;  // the function is called as well
    std::uint32_t x = b.argument("x"), body = b.none();
    b.block({{Op::LOAD_CLOSURE, x},
             {Op::BUILD_TUPLE, 1},
             {Op::LOAD_CONST, body},
             {Op::MAKE_FUNCTION, 8},
             {Op::COPY, 1},
             {Op::LOAD_ATTR, b.str("__closure__")},
             {Op::SWAP, 2},
             {Op::CALL, 0, kPlain},
             {Op::POP_TOP},
             {Op::RETURN_VALUE}});
    EXPECT_TRUE(has(simplified(b), "MAKE_FUNCTION"));
  }
  {
    Builder b;  // its defaults would be evaluated, and could be anything
    std::uint32_t x = b.argument("x"), body = b.none();
    b.block({{Op::LOAD_FAST, x},
             {Op::LOAD_CLOSURE, x},
             {Op::BUILD_TUPLE, 1},
             {Op::LOAD_CONST, body},
             {Op::MAKE_FUNCTION, 9},
             {Op::LOAD_ATTR, b.str("__closure__")},
             {Op::RETURN_VALUE}});
    EXPECT_TRUE(has(simplified(b), "MAKE_FUNCTION"));
  }
  {
    Builder b;  // an object that is no function
    std::uint32_t x = b.argument("x");
    b.block({{Op::LOAD_FAST, x}, {Op::LOAD_ATTR, b.str("__closure__")}, {Op::RETURN_VALUE}});
    EXPECT_TRUE(has(simplified(b), "LOAD_ATTR"));
  }
}

TEST(FreshSequence, IndexOfAnEscapedListIsNotResolved) {
  Builder b;
  std::uint32_t f = b.argument("f"), x = b.argument("x");
  // l = [x]; f(l); return l[0]: f may have changed it
  b.block({{Op::LOAD_FAST, x},
           {Op::BUILD_LIST, 1},
           {Op::LOAD_FAST, f},
           {Op::COPY, 2},
           {Op::CALL, 1, kPlain},
           {Op::POP_TOP},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::LOAD_SUBSCR},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_TRUE(has(text, "LOAD_SUBSCR (v2, ")) << text;
  EXPECT_TRUE(has(text, "v2 = BUILD_LIST 1 (v1)")) << text;
}

TEST(FreshSequence, IndexOfAnEscapedTupleIsNotResolvedEither) {
  // It could be, tuples do not change; the rule does not know it after the escape.
  Builder b;
  std::uint32_t f = b.argument("f"), x = b.argument("x");
  b.block({{Op::LOAD_FAST, x},
           {Op::BUILD_TUPLE, 1},
           {Op::LOAD_FAST, f},
           {Op::COPY, 2},
           {Op::CALL, 1, kPlain},
           {Op::POP_TOP},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::LOAD_SUBSCR},
           {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b), "LOAD_SUBSCR"));
}

TEST(FreshSequence, IndexOutOfRangeStillRaises) {
  for (std::int64_t index : {2, -3}) {
    Builder b;
    std::uint32_t x = b.argument("x");
    b.block({{Op::LOAD_FAST, x},
             {Op::LOAD_FAST, x},
             {Op::BUILD_LIST, 2},
             {Op::LOAD_CONST, b.integer(index)},
             {Op::LOAD_SUBSCR},
             {Op::RETURN_VALUE}});
    EXPECT_TRUE(has(simplified(b), "LOAD_SUBSCR")) << index;
  }
  Builder b;
  std::uint32_t x = b.argument("x"), y = b.argument("y");
  b.block({{Op::LOAD_FAST, x},
           {Op::LOAD_FAST, y},
           {Op::BUILD_LIST, 2},
           {Op::LOAD_CONST, b.integer(-2)},
           {Op::LOAD_SUBSCR},
           {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b), "LOAD_FAST x\n  return")) << simplified(b);
}

TEST(FreshSequence, UnknownIndexStays) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::LOAD_FAST, x},
           {Op::BUILD_LIST, 1},
           {Op::LOAD_FAST, x},
           {Op::LOAD_SUBSCR},
           {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b), "LOAD_SUBSCR (v2, v3)"));
}

TEST(FreshSequence, ChangesAreRecorded) {
  Builder b;
  std::uint32_t x = b.argument("x"), y = b.argument("y");
  // l = [x, y]; l[0:1] = (y, x); l.append-like; del l[-1]; l[1] = y → [y, y, y]
  b.block({{Op::LOAD_FAST, x},
           {Op::LOAD_FAST, y},
           {Op::BUILD_LIST, 2},
           {Op::LOAD_FAST, y},
           {Op::LOAD_FAST, x},
           {Op::BUILD_TUPLE, 2},
           {Op::COPY, 2},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::LOAD_CONST, b.integer(1)},
           {Op::BUILD_SLICE, 2},
           {Op::STORE_SUBSCR},
           {Op::LOAD_FAST, x},
           {Op::LIST_APPEND, 1},
           {Op::COPY, 1},
           {Op::LOAD_CONST, b.integer(-1)},
           {Op::DELETE_SUBSCR},
           {Op::LOAD_FAST, y},
           {Op::COPY, 2},
           {Op::LOAD_CONST, b.integer(1)},
           {Op::STORE_SUBSCR},
           {Op::UNPACK_SEQUENCE, 3},
           {Op::BUILD_TUPLE, 3},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b, only_fresh());
  EXPECT_FALSE(has(text, "SUBSCR") || has(text, "LIST") || has(text, "UNPACK")) << text;
  // y of l[0], the stored y, y of the start: v4, v16-ish, v2; deepest result is the last item
  EXPECT_TRUE(has(text, "BUILD_TUPLE 3 (v2, v")) << text;
  EXPECT_TRUE(has(text, ", v4)")) << text;
}

TEST(FreshSequence, EffectsInBetweenKeepTheirOrder) {
  Builder b;
  std::uint32_t f = b.argument("f"), x = b.argument("x");
  // l = [f(x)]; f(); l2 = l[0:1]; f(l2): l2 is built after the second call
  b.block({{Op::LOAD_FAST, f},
           {Op::LOAD_FAST, x},
           {Op::CALL, 1, kPlain},
           {Op::BUILD_LIST, 1},
           {Op::LOAD_FAST, f},
           {Op::CALL, 0, kPlain},
           {Op::POP_TOP},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::LOAD_CONST, b.integer(1)},
           {Op::BUILD_SLICE, 2},
           {Op::LOAD_SUBSCR},
           {Op::LOAD_FAST, f},
           {Op::SWAP, 2},
           {Op::CALL, 1, kPlain},
           {Op::RETURN_VALUE}});
  EXPECT_EQ(
      simplified(b),
      "b0:\n  v1 = LOAD_FAST f\n  v2 = LOAD_FAST x\n  v3 = CALL 1 (v1, v2)\n  v5 = LOAD_FAST f\n  "
      "v6 = CALL (v5)\n"
      "  v11 = LOAD_FAST f\n  v13 = BUILD_LIST 1 (v3)\n  v12 = CALL 1 (v11, v13)\n  return v12\n");
}

TEST(FreshSequence, UnpackOfAnotherLengthStillRaises) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::LOAD_FAST, x}, {Op::BUILD_TUPLE, 1}, {Op::UNPACK_SEQUENCE, 2}, {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b), "UNPACK_SEQUENCE 2"));
}

TEST(FreshSequence, ExtendByAnUnknownIterableStays) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::BUILD_LIST, 0},
           {Op::LOAD_FAST, x},
           {Op::LIST_EXTEND, 1},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::LOAD_SUBSCR},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_TRUE(has(text, "LIST_EXTEND")) << text;
  EXPECT_TRUE(has(text, "LOAD_SUBSCR")) << text;
}

TEST(FreshSequence, AListThatHoldsItselfIsLeftAlone) {
  Builder b;
  b.block({{Op::BUILD_LIST, 0},
           {Op::COPY, 1},
           {Op::COPY, 1},
           {Op::LIST_APPEND, 2},
           {Op::POP_TOP},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::LOAD_SUBSCR},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_TRUE(has(text, "LIST_APPEND in-place (v1, v1)")) << text;
  EXPECT_TRUE(has(text, "LOAD_SUBSCR")) << text;
}

TEST(FreshSequence, AListChangedOnOneWayOnlyIsLeftAlone) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::LOAD_FAST, x}, {Op::BUILD_LIST, 1}, {Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, 1, 2);
  b.block({{Op::LOAD_CONST, b.integer(1)},
           {Op::COPY, 2},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::STORE_SUBSCR}},
          2);
  b.block({{Op::LOAD_CONST, b.integer(0)}, {Op::LOAD_SUBSCR}, {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_TRUE(has(text, "STORE_SUBSCR")) << text;
  EXPECT_TRUE(has(text, "LOAD_SUBSCR")) << text;
}

TEST(FreshSequence, AListThatALoopChangesIsLeftAlone) {
  Builder b;
  std::uint32_t it = b.argument("it"), x = b.slot("x");
  b.block({{Op::BUILD_LIST, 0}, {Op::LOAD_FAST, it}, {Op::GET_ITER}}, 1);
  b.block({{Op::FOR_ITER}}, 2, 3);
  b.block({{Op::STORE_FAST, x}, {Op::LOAD_FAST, x}, {Op::LIST_APPEND, 2}, {Op::JUMP}}, 1);
  b.block({{Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_TRUE(has(text, "BUILD_LIST")) << text;
  EXPECT_TRUE(has(text, "LIST_APPEND in-place")) << text;
}

TEST(FreshSequence, AListThatALoopOnlyReadsIsResolved) {
  Builder b;
  std::uint32_t it = b.argument("it"), x = b.slot("x");
  b.block({{Op::LOAD_FAST, it}, {Op::BUILD_LIST, 1}, {Op::LOAD_FAST, it}, {Op::GET_ITER}}, 1);
  b.block({{Op::FOR_ITER}}, 2, 3);
  b.block({{Op::POP_TOP},
           {Op::COPY, 2},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::LOAD_SUBSCR},
           {Op::STORE_FAST, x},
           {Op::JUMP}},
          1);
  b.block({{Op::POP_TOP}, {Op::LOAD_CONST, b.none()}, {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_FALSE(has(text, "SUBSCR") || has(text, "LIST")) << text;
}

TEST(FreshSequence, AListIsNotBuiltInsideALoopThatItWasBuiltBefore) {
  // l = [x]; l[0] = 1; for …: f(l): one list for all rounds
  Builder b;
  std::uint32_t it = b.argument("it"), f = b.argument("f");
  b.block({{Op::LOAD_FAST, it},
           {Op::BUILD_LIST, 1},
           {Op::LOAD_CONST, b.integer(1)},
           {Op::COPY, 2},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::STORE_SUBSCR},
           {Op::LOAD_FAST, it},
           {Op::GET_ITER}},
          1);
  b.block({{Op::FOR_ITER}}, 2, 3);
  b.block({{Op::POP_TOP},
           {Op::LOAD_FAST, f},
           {Op::COPY, 3},
           {Op::CALL, 1, kPlain},
           {Op::POP_TOP},
           {Op::JUMP}},
          1);
  b.block({{Op::POP_TOP}, {Op::LOAD_CONST, b.none()}, {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  std::size_t built = text.find("BUILD_LIST"), loop = text.find("b1:");
  ASSERT_NE(built, std::string::npos) << text;
  EXPECT_LT(built, loop) << text;
  EXPECT_EQ(text.find("BUILD_LIST", built + 1), std::string::npos) << text;
}

TEST(FreshSequence, AHandlerDoesNotTrustWhatItsBlockChanged) {
  Builder b;
  std::uint32_t x = b.argument("x"), f = b.argument("f");
  RegionId body = b.region(2, 1);
  b.block({{Op::LOAD_FAST, x}, {Op::BUILD_LIST, 1}}, 1);
  b.block({{Op::LOAD_CONST, b.integer(1)},
           {Op::COPY, 2},
           {Op::LOAD_CONST, b.integer(0)},
           {Op::STORE_SUBSCR},
           {Op::LOAD_FAST, f},
           {Op::CALL, 0, kPlain},
           {Op::RETURN_VALUE}},
          -1, -1, body);
  b.block({{Op::POP_TOP}, {Op::LOAD_CONST, b.integer(0)}, {Op::LOAD_SUBSCR}, {Op::RETURN_VALUE}});
  std::string text = simplified(b);
  EXPECT_TRUE(has(text, "STORE_SUBSCR")) << text;
  EXPECT_TRUE(has(text, "LOAD_SUBSCR")) << text;
}

TEST(FreshSequence, DeepNestingNeedsNoStack) {
  Builder b;
  std::vector<Instr> instrs{{Op::BUILD_LIST, 0}};
  for (int i = 0; i < 200000; ++i) instrs.push_back({Op::BUILD_LIST, 1});
  instrs.push_back({Op::RETURN_VALUE});
  b.block({});
  b.cfg.instrs = instrs;
  b.cfg.blocks.back().end = static_cast<std::uint32_t>(instrs.size());
  Lifted lifted = b.lifted();
  simplify(lifted, b.module);
  EXPECT_EQ(lifted.blocks[0].body.size(), 200001u);
}

// ---------------------------------------------------------------- functions

/// (lambda: 0).`type`(code, (lambda: 0).`globals`, None, `defaults`, closure); the lambdas are made
/// with `flags`.
std::string function_of_code(std::string_view type, std::string_view globals, const Const& name,
                             const Const& defaults, std::uint32_t flags = 0, bool kept = false,
                             std::int64_t free_variables = 1) {
  Builder b;
  const std::uint32_t closure = b.argument("closure");
  Const live;
  live.kind = ConstKind::Object;
  live.object = 9;
  live.integer = free_variables + 1;  // a code object, see live_code.cpp
  const std::uint32_t code = b.constant(live);
  Const lambda;
  lambda.kind = ConstKind::Object;
  const std::uint32_t made = b.constant(lambda);
  std::vector<Instr> body;
  const auto attribute = [&](std::string_view of) {
    if (flags) body.push_back({Op::LOAD_FAST, closure});
    body.insert(body.end(), {{Op::LOAD_CONST, made}, {Op::MAKE_FUNCTION, flags}});
    if (kept) body.insert(body.end(), {{Op::COPY, 1}, {Op::STORE_GLOBAL, b.str("kept")}});
    body.push_back({Op::LOAD_ATTR, b.str(of)});
  };
  attribute(type);
  body.push_back({Op::LOAD_CONST, code});
  attribute(globals);
  body.insert(body.end(), {{Op::LOAD_CONST, b.constant(name)},
                           {Op::LOAD_CONST, b.constant(defaults)},
                           {Op::LOAD_CLOSURE, closure},
                           {Op::BUILD_TUPLE, 1},
                           {Op::CALL, 5, kPlain},
                           {Op::RETURN_VALUE}});
  b.block(body);
  return simplified(b);
}

TEST(FunctionOfCode, ATypeThatIsCalledMakesAFunction) {
  const std::string text = function_of_code("__class__", "__globals__", Const{}, Const{});
  EXPECT_TRUE(has(text, "MAKE_FUNCTION 8")) << text;
  EXPECT_FALSE(has(text, "CALL")) << text;
}

TEST(FunctionOfCode, OtherCallsStay) {
  EXPECT_TRUE(has(function_of_code("__globals__", "__class__", Const{}, Const{}), "CALL 5"));
  EXPECT_TRUE(has(function_of_code("__class__", "__class__", Const{}, Const{}), "CALL 5"));
  EXPECT_TRUE(has(function_of_code("__class__", "__dict__", Const{}, Const{}), "CALL 5"));
  EXPECT_TRUE(has(function_of_code("__class__", "__globals__", text("name"), Const{}), "CALL 5"));
  EXPECT_TRUE(
      has(function_of_code("__class__", "__globals__", Const{}, text("defaults")), "CALL 5"));
  EXPECT_TRUE(has(function_of_code("__class__", "__globals__", Const{}, Const{}, 8), "CALL 5"));
  EXPECT_TRUE(
      has(function_of_code("__class__", "__globals__", Const{}, Const{}, 0, true), "CALL 5"));
  // No code object, or one with another number of free variables: the call raises.
  EXPECT_TRUE(
      has(function_of_code("__class__", "__globals__", Const{}, Const{}, 0, false, -1), "CALL 5"));
  EXPECT_TRUE(
      has(function_of_code("__class__", "__globals__", Const{}, Const{}, 0, false, 2), "CALL 5"));
}

std::string call_of_object(std::uint32_t object, std::uint32_t arguments,
                           std::uint32_t iter_object) {
  Builder b;
  const std::uint32_t x = b.argument("x");
  Const callee;
  callee.kind = ConstKind::Object;
  callee.object = object;
  std::vector<Instr> body{{Op::LOAD_CONST, b.constant(callee)}};
  for (std::uint32_t i = 0; i < arguments; ++i) body.push_back({Op::LOAD_FAST, x});
  body.insert(body.end(), {{Op::CALL, arguments, kPlain}, {Op::RETURN_VALUE}});
  b.block(body);
  SimplifyOptions options;
  options.iter_object = iter_object;
  return simplified(b, options);
}

TEST(CallOfIter, OnlyOfTheFunctionItselfWithOneArgument) {
  EXPECT_TRUE(has(call_of_object(7, 1, 7), "GET_ITER"));
  EXPECT_FALSE(has(call_of_object(7, 1, 6), "GET_ITER"));
  EXPECT_FALSE(has(call_of_object(7, 2, 7), "GET_ITER"));
  EXPECT_FALSE(has(call_of_object(7, 0, 7), "GET_ITER"));
  EXPECT_FALSE(has(call_of_object(7, 1, UINT32_MAX), "GET_ITER"));
}

std::string rotated(const char* order, std::uint32_t count, bool returned = false) {
  Builder b;
  const std::uint32_t x = b.argument("x"), y = b.argument("y");
  Const callee;
  callee.kind = ConstKind::Object;
  callee.text = b.module.arena.copy_string(std::string_view(order, order ? 2 : 0));
  std::vector<Instr> body{
      {Op::LOAD_CONST, b.constant(callee)}, {Op::LOAD_FAST, x}, {Op::LOAD_FAST, y}};
  if (count == 3) body.push_back({Op::LOAD_FAST, y});
  body.insert(body.end(), {{Op::BUILD_TUPLE, count}, {Op::CALL_EX, 0, kPlain}});
  if (!returned) body.insert(body.end(), {{Op::UNPACK_SEQUENCE, 2}, {Op::BINARY, 0}});
  body.push_back({Op::RETURN_VALUE});
  b.block(body);
  return simplified(b);
}

TEST(CallOfARotation, IsTheTupleInItsOrder) {
  const std::string text = rotated("\1\0", 2);
  EXPECT_FALSE(has(text, "CALL") || has(text, "BUILD_TUPLE")) << text;
  EXPECT_NE(text, rotated("\0\1", 2));
  EXPECT_TRUE(has(rotated("\1\0", 2, true), "BUILD_TUPLE")) << rotated("\1\0", 2, true);
  EXPECT_TRUE(has(rotated("\1\0", 3), "CALL"));  // of known arguments
  EXPECT_TRUE(has(rotated(nullptr, 2), "CALL"));
}

// ---------------------------------------------------------------- the order of stores

std::string stores(std::initializer_list<Instr> between, bool cell = false) {
  Builder b;
  const std::uint32_t a = b.argument("a"), y = b.slot("y"), x = b.slot("x");
  if (cell) b.slots[y].kind |= kCell;
  std::vector<Instr> body{{Op::LOAD_FAST, a}, {Op::LOAD_FAST, a}, {Op::STORE_FAST, y}};
  body.insert(body.end(), between);
  body.insert(body.end(), {{Op::STORE_FAST, x}, {Op::LOAD_FAST, x}, {Op::RETURN_VALUE}});
  b.block(body);
  SimplifyOptions options;
  options.order_stores = true;
  options.late_loads = false;
  return simplified(b, options);
}

TEST(OrderOfStores, ByNameWhereNothingStandsBetween) {
  for (const std::string& text :
       {stores({}), stores({{Op::LOAD_FAST, 0}, {Op::BUILD_LIST, 1}, {Op::POP_TOP}})})
    EXPECT_LT(text.find("STORE_FAST x"), text.find("STORE_FAST y")) << text;
}

TEST(OrderOfStores, StaysWhereSomethingMightTell) {
  for (const std::string& text :
       {stores({{Op::LOAD_GLOBAL, 0}, {Op::POP_TOP}}), stores({{Op::LOAD_FAST, 1}}),
        stores({{Op::LOAD_FAST, 1}, {Op::POP_TOP}, {Op::DELETE_FAST, 1}}), stores({}, true),
        stores({{Op::LOAD_FAST, 0}, {Op::CALL, 0, kPlain}, {Op::POP_TOP}})})
    EXPECT_LT(text.find("STORE_FAST y"), text.find("STORE_FAST x")) << text;
}

// ---------------------------------------------------------------- dead values

TEST(DeadValue, PureOnesGo) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::LOAD_CONST, b.integer(1)},
           {Op::POP_TOP},
           {Op::LOAD_FAST, x},
           {Op::BUILD_LIST, 1},
           {Op::POP_TOP},
           {Op::LOAD_GLOBAL, b.str("__compiled_fn_0")},
           {Op::POP_TOP},
           {Op::LOAD_FAST, x},
           {Op::RETURN_VALUE}});
  SimplifyOptions options = only_dead();
  EXPECT_EQ(simplified(b, options),
            "b0:\n  v4 = LOAD_GLOBAL __compiled_fn_0\n  v5 = LOAD_FAST x\n  return v5\n")
      << "whoever wrote that may miss the global";
  options.dynamo = true;
  EXPECT_EQ(simplified(b, options), "b0:\n  v5 = LOAD_FAST x\n  return v5\n");
}

TEST(DeadValue, AGlobalOfAnotherNameStays) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::LOAD_GLOBAL, b.str("compiled_fn")},
           {Op::POP_TOP},
           {Op::LOAD_FAST, x},
           {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b, only_dead()), "LOAD_GLOBAL compiled_fn"));
}

TEST(DeadValue, ALocalThatMayBeUnboundStays) {
  Builder b;
  std::uint32_t x = b.argument("x"), y = b.slot("y");
  b.block({{Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, 1, 2);
  b.block({{Op::LOAD_FAST, x}, {Op::STORE_FAST, y}}, 2);
  b.block({{Op::LOAD_FAST, y},
           {Op::POP_TOP},
           {Op::LOAD_FAST, y},
           {Op::POP_TOP},
           {Op::LOAD_FAST, x},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b, only_dead());
  std::size_t first = text.find("LOAD_FAST y");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("LOAD_FAST y", first + 1), std::string::npos)
      << "the first load proves the second: " << text;
}

TEST(DeadValue, ADeletedLocalStays) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::DELETE_FAST, x},
           {Op::LOAD_FAST, x},
           {Op::POP_TOP},
           {Op::LOAD_CONST, b.none()},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b, only_dead());
  EXPECT_TRUE(has(text, "DELETE_FAST x")) << text;
  EXPECT_TRUE(has(text, "LOAD_FAST x")) << text;
}

TEST(DeadValue, ALocalIsNotBoundInTheHandlerOfItsStore) {
  Builder b;
  std::uint32_t x = b.argument("x"), y = b.slot("y");
  RegionId body = b.region(1, 0);
  b.block({{Op::LOAD_FAST, x},
           {Op::CALL, 0, kPlain},
           {Op::STORE_FAST, y},
           {Op::LOAD_FAST, y},
           {Op::RETURN_VALUE}},
          -1, -1, body);
  b.block({{Op::POP_TOP},
           {Op::LOAD_FAST, y},
           {Op::POP_TOP},
           {Op::LOAD_CONST, b.none()},
           {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b, only_dead()), "b1:  stack [exception@b1]\n  v"))
      << simplified(b, only_dead());
  EXPECT_TRUE(has(simplified(b, only_dead()), "LOAD_FAST y\n  v")) << simplified(b, only_dead());
}

TEST(DeadValue, CallsAndHashingStay) {
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::LOAD_FAST, x},
           {Op::LOAD_FAST, x},
           {Op::BUILD_MAP, 1},
           {Op::POP_TOP},
           {Op::LOAD_FAST, x},
           {Op::LOAD_ATTR, b.str("a")},
           {Op::POP_TOP},
           {Op::LOAD_FAST, x},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b, only_dead());
  EXPECT_TRUE(has(text, "BUILD_MAP 1")) << text;
  EXPECT_TRUE(has(text, "LOAD_ATTR a")) << text;
}

TEST(DeadValue, ParametersThatNobodyReadsGo) {
  Builder b;
  std::uint32_t x = b.argument("x");
  auto build = [&] {
    b.block({{Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, 1, 2);
    b.block({{Op::LOAD_CONST, b.integer(1)}}, 3);
    b.block({{Op::LOAD_CONST, b.integer(2)}}, 3);
    b.block({{Op::POP_TOP}, {Op::LOAD_FAST, x}, {Op::RETURN_VALUE}});
  };
  build();
  std::string text = simplified(b, only_dead());
  EXPECT_FALSE(has(text, "LOAD_CONST") || has(text, "b3(")) << text;
  SimplifyOptions nothing = only_dead();
  nothing.drop_dead = false;
  EXPECT_TRUE(has(simplified(b, nothing), "b3(v")) << "`1 if x else 2` as a statement";
}

// ---------------------------------------------------------------- promoted locals

SimplifyOptions promote(std::uint32_t slot) {
  SimplifyOptions options;
  options.fresh_sequences = options.drop_dead = options.late_loads = false;
  options.promotable.assign(slot + 1, false);
  options.promotable[slot] = true;
  return options;
}

TEST(PromoteLocal, MergesGetParameters) {
  Builder b;
  std::uint32_t x = b.argument("x"), t = b.slot("t");
  b.block({{Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, 1, 2);
  b.block({{Op::LOAD_CONST, b.integer(1)}, {Op::STORE_FAST, t}}, 3);
  b.block({{Op::LOAD_CONST, b.integer(2)}, {Op::STORE_FAST, t}}, 3);
  b.block({{Op::LOAD_FAST, t}, {Op::DELETE_FAST, t}, {Op::RETURN_VALUE}});
  std::string text = simplified(b, promote(t));
  EXPECT_FALSE(has(text, "FAST t")) << text;
  EXPECT_TRUE(has(text, "b3(v")) << text;
  EXPECT_TRUE(has(text, "jump b3(v")) << text;
}

TEST(PromoteLocal, LoopsGetParameters) {
  Builder b;
  std::uint32_t x = b.argument("x"), t = b.slot("t");
  b.block({{Op::LOAD_CONST, b.integer(0)}, {Op::STORE_FAST, t}}, 1);
  b.block({{Op::LOAD_FAST, t},
           {Op::LOAD_FAST, x},
           {Op::BINARY, kMultiply},
           {Op::STORE_FAST, t},
           {Op::LOAD_FAST, x},
           {Op::BRANCH_TRUE}},
          2, 1);
  b.block({{Op::LOAD_FAST, t}, {Op::RETURN_VALUE}});
  std::string text = simplified(b, promote(t));
  EXPECT_FALSE(has(text, "FAST t")) << text;
  EXPECT_TRUE(has(text, "b1(v")) << text;
}

TEST(PromoteLocal, RefusesWhatMayBeUnbound) {
  Builder b;
  std::uint32_t x = b.argument("x"), t = b.slot("t");
  b.block({{Op::LOAD_FAST, x}, {Op::BRANCH_FALSE}}, 1, 2);
  b.block({{Op::LOAD_CONST, b.integer(1)}, {Op::STORE_FAST, t}}, 2);
  b.block({{Op::LOAD_FAST, t}, {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b, promote(t)), "STORE_FAST t"));
}

TEST(PromoteLocal, RefusesArgumentsAndCells) {
  Builder b;
  std::uint32_t x = b.argument("x"), c = b.slot("c");
  b.slots[c].kind = kCell;
  b.block({{Op::LOAD_FAST, x},
           {Op::STORE_FAST, x},
           {Op::LOAD_FAST, x},
           {Op::STORE_FAST, c},
           {Op::LOAD_FAST, c},
           {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b, promote(x)), "STORE_FAST x"));
  EXPECT_TRUE(has(simplified(b, promote(c)), "STORE_FAST c"));
}

TEST(PromoteLocal, RefusesWhatAHandlerReadsAndItsBlockChanges) {
  Builder b;
  std::uint32_t x = b.argument("x"), t = b.slot("t");
  RegionId body = b.region(2, 0);
  b.block({{Op::LOAD_CONST, b.integer(0)}, {Op::STORE_FAST, t}}, 1);
  b.block({{Op::LOAD_FAST, x},
           {Op::CALL, 0, kPlain},
           {Op::STORE_FAST, t},
           {Op::LOAD_FAST, x},
           {Op::CALL, 0, kPlain},
           {Op::RETURN_VALUE}},
          -1, -1, body);
  b.block({{Op::POP_TOP}, {Op::LOAD_FAST, t}, {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b, promote(t)), "STORE_FAST t"));
}

TEST(PromoteLocal, RefusesANull) {
  Builder b;
  std::uint32_t x = b.argument("x"), t = b.slot("t");
  b.block({{Op::PUSH_NULL}, {Op::STORE_FAST, t}, {Op::LOAD_FAST, x}, {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b, promote(t)), "STORE_FAST t (NULL)"));
}

/// Code that names a graph is Dynamo's.
void make_dynamos(Builder& b) {
  b.module[b.code].names =
      b.module.arena.copy(std::vector<StrId>{b.module.intern("__compiled_fn_0")});
}

TEST(UnreadTemporary, OnlyInDynamosCodeAndNeverRead) {
  for (bool dynamo : {false, true}) {
    Builder b;
    std::uint32_t x = b.argument("x"), t = b.slot("tmp_1"), read = b.slot("tmp_2"),
                  other = b.slot("tmp_x");
    b.block({{Op::LOAD_FAST, x},
             {Op::STORE_FAST, t},
             {Op::LOAD_FAST, x},
             {Op::STORE_FAST, read},
             {Op::LOAD_FAST, x},
             {Op::STORE_FAST, other},
             {Op::DELETE_FAST, t},
             {Op::LOAD_FAST, read},
             {Op::RETURN_VALUE}});
    b.lifted();
    if (dynamo) make_dynamos(b);
    Lifted lifted = lift(b.module, b.code, b.cfg);
    simplify(lifted, b.module);
    std::string text = b.text(lifted);
    EXPECT_EQ(has(text, "FAST tmp_1"), !dynamo) << text;
    EXPECT_TRUE(has(text, "STORE_FAST tmp_2") && has(text, "STORE_FAST tmp_x")) << text;
  }
}

TEST(UnreadTemporary, AlsoWhereOnlyADeadValueReadIt) {
  Builder b;
  std::uint32_t x = b.argument("x"), t = b.slot("tmp_1");
  b.block({{Op::LOAD_FAST, x},
           {Op::STORE_FAST, t},
           {Op::LOAD_FAST, t},
           {Op::BUILD_TUPLE, 1},
           {Op::POP_TOP},
           {Op::LOAD_FAST, x},
           {Op::RETURN_VALUE}});
  b.lifted();
  make_dynamos(b);
  Lifted lifted = lift(b.module, b.code, b.cfg);
  simplify(lifted, b.module);
  EXPECT_FALSE(has(b.text(lifted), "tmp_1")) << b.text(lifted);
}

TEST(UnreadTemporary, ALiteralIsReadWhereItIsMade) {
  for (int stores : {1, 2}) {  // the same literal in all of them, or two
    Builder b;
    std::uint32_t x = b.argument("x"), t = b.slot("tmp_1"), own = b.slot("y");
    const std::uint32_t seven = b.integer(7), other = b.integer(8);
    b.block({{Op::LOAD_CONST, seven},
             {Op::STORE_FAST, t},
             {Op::LOAD_CONST, seven},
             {Op::STORE_FAST, own},
             {Op::LOAD_FAST, x},
             {Op::LOAD_FAST, t},
             {Op::LOAD_SUBSCR},
             {Op::POP_TOP},
             {Op::LOAD_CONST, stores == 1 ? seven : other},
             {Op::STORE_FAST, t},
             {Op::LOAD_FAST, t},
             {Op::LOAD_FAST, own},
             {Op::BUILD_TUPLE, 2},
             {Op::RETURN_VALUE}});
    b.lifted();
    make_dynamos(b);
    Lifted lifted = lift(b.module, b.code, b.cfg);
    simplify(lifted, b.module);
    const std::string text = b.text(lifted);
    EXPECT_EQ(has(text, "STORE_FAST tmp_1"), stores == 2) << text;
    EXPECT_TRUE(has(text, "STORE_FAST y")) << text;
  }
}

// ---------------------------------------------------------------- late loads

TEST(LateLoad, StandsBeforeItsReaderInOperandOrder) {
  Builder b;
  std::uint32_t x = b.argument("x"), f = b.argument("f");
  // [f x] g() [call]: f and x move behind the effect
  b.block({{Op::LOAD_FAST, f},
           {Op::LOAD_FAST, x},
           {Op::LOAD_GLOBAL, b.str("g")},
           {Op::CALL, 0, kPlain},
           {Op::POP_TOP},
           {Op::CALL, 1, kPlain},
           {Op::RETURN_VALUE}});
  EXPECT_EQ(simplified(b, only_late()),
            "b0:\n  v3 = LOAD_GLOBAL g\n  v4 = CALL (v3)\n  v1 = LOAD_FAST f\n  v2 = LOAD_FAST x\n "
            " v5 = CALL 1 (v1, v2)\n  return v5\n");
}

TEST(LateLoad, StaysInFrontOfTheArgumentsOfItsCall) {
  Builder b;
  std::uint32_t x = b.argument("x"), f = b.argument("f");
  // f(g(x), x)
  b.block({{Op::LOAD_FAST, f},
           {Op::LOAD_GLOBAL, b.str("g")},
           {Op::LOAD_FAST, x},
           {Op::CALL, 1, kPlain},
           {Op::LOAD_FAST, x},
           {Op::CALL, 2, kPlain},
           {Op::RETURN_VALUE}});
  EXPECT_EQ(simplified(b, only_late()),
            "b0:\n  v1 = LOAD_FAST f\n  v2 = LOAD_GLOBAL g\n  v3 = LOAD_FAST x\n  v4 = CALL 1 (v2, "
            "v3)\n  v5 = LOAD_FAST x\n  v6 = CALL 2 (v1, v4, v5)\n  return v6\n");
}

TEST(LateLoad, DoesNotPassAStoreOrDeleteOfItsSlot) {
  for (Op change : {Op::STORE_FAST, Op::DELETE_FAST}) {
    Builder b;
    std::uint32_t x = b.argument("x"), f = b.argument("f");
    if (change == Op::STORE_FAST)
      b.block({{Op::LOAD_FAST, x}, {Op::LOAD_FAST, f}, {Op::STORE_FAST, x}, {Op::RETURN_VALUE}});
    else
      b.block({{Op::LOAD_FAST, x}, {Op::DELETE_FAST, x}, {Op::RETURN_VALUE}});
    std::string text = simplified(b, only_late());
    EXPECT_LT(text.find("LOAD_FAST x"), text.find(op_name(change))) << text;
  }
}

TEST(LateLoad, DoesNotMoveWhatMayRaise) {
  Builder b;
  std::uint32_t f = b.argument("f"), y = b.slot("y");
  b.block({{Op::LOAD_FAST, y},
           {Op::LOAD_FAST, f},
           {Op::CALL, 0, kPlain},
           {Op::POP_TOP},
           {Op::RETURN_VALUE}});
  std::string text = simplified(b, only_late());
  EXPECT_LT(text.find("LOAD_FAST y"), text.find("CALL")) << text;
}

TEST(LateLoad, MovesOverADiamondOfStatements) {
  // torch 2.15 keeps the compiled function and its arguments on the stack while it asks whether the
  // profiler is on.
  Builder b;
  std::uint32_t x = b.argument("x");
  b.block({{Op::LOAD_GLOBAL, b.str("__compiled_fn_1")},
           {Op::LOAD_FAST, x},
           {Op::LOAD_GLOBAL, b.str("enabled")},
           {Op::BRANCH_FALSE}},
          1, 2);
  b.block({{Op::LOAD_GLOBAL, b.str("g")}, {Op::CALL, 0, kPlain}, {Op::POP_TOP}}, 2);
  b.block({{Op::CALL, 1, kPlain}, {Op::RETURN_VALUE}});
  SimplifyOptions options = only_late();
  EXPECT_LT(simplified(b, options).find("__compiled_fn_1"), simplified(b, options).find("enabled"))
      << "only what torch wrote finds that global there";
  options.dynamo = true;
  const std::string text = simplified(b, options);
  EXPECT_TRUE(has(text, "= LOAD_GLOBAL __compiled_fn_1\n  v8 = LOAD_FAST x\n")) << text;
  EXPECT_TRUE(has(text, "b0:\n  v3 = LOAD_GLOBAL enabled\n")) << text;
}

TEST(LateLoad, DoesNotMoveOverAnArmThatStoresItsSlot) {
  Builder b;
  std::uint32_t x = b.argument("x"), f = b.argument("f");
  b.block({{Op::LOAD_FAST, x}, {Op::LOAD_FAST, f}, {Op::BRANCH_FALSE}}, 1, 2);
  b.block({{Op::LOAD_FAST, f}, {Op::STORE_FAST, x}}, 2);
  b.block({{Op::RETURN_VALUE}});
  std::string text = simplified(b, only_late());
  EXPECT_LT(text.find("LOAD_FAST x"), text.find("b1:")) << text;
}

TEST(LateLoad, ASliceOfConstantsMovesPastALoop) {
  // Dynamo empties lists by x[:] = [], and replays the changes of a dict in between.
  Builder b;
  std::uint32_t x = b.argument("x"), f = b.argument("f");
  b.block({{Op::LOAD_FAST, x},
           {Op::LOAD_CONST, b.none()},
           {Op::LOAD_CONST, b.none()},
           {Op::BUILD_SLICE, 2}},
          1);
  b.block({{Op::LOAD_FAST, f}, {Op::CALL, 0, kPlain}, {Op::BRANCH_TRUE}}, 2, 1);
  b.block({{Op::LOAD_SUBSCR}, {Op::RETURN_VALUE}});
  std::string text = simplified(b, only_late());
  EXPECT_GT(text.find("BUILD_SLICE"), text.find("b2:")) << text;
  EXPECT_GT(text.find("LOAD_CONST"), text.find("b2:")) << text;

  Builder kept;
  x = kept.argument("x"), f = kept.argument("f");
  kept.block(
      {{Op::LOAD_FAST, f}, {Op::LOAD_FAST, x}, {Op::LOAD_CONST, kept.none()}, {Op::BUILD_SLICE, 2}},
      1);
  kept.block({{Op::COPY, 2}, {Op::COPY, 2}, {Op::CALL, 1, kPlain}, {Op::BRANCH_TRUE}}, 2, 1);
  kept.block({{Op::CALL, 1, kPlain}, {Op::RETURN_VALUE}});
  text = simplified(kept, only_late());
  EXPECT_LT(text.find("BUILD_SLICE"), text.find("b1:")) << text;
}

TEST(LateLoad, DoesNotMoveIntoALoopOrAcrossAHandler) {
  Builder b;
  std::uint32_t x = b.argument("x"), f = b.argument("f");
  b.block({{Op::LOAD_FAST, x}}, 1);
  b.block({{Op::LOAD_FAST, f}, {Op::COPY, 2}, {Op::CALL, 1, kPlain}, {Op::BRANCH_TRUE}}, 2, 1);
  b.block({{Op::POP_TOP}, {Op::LOAD_CONST, b.none()}, {Op::RETURN_VALUE}});
  std::string text = simplified(b, only_late());
  EXPECT_LT(text.find("LOAD_FAST x"), text.find("b1:")) << text;

  Builder h;
  x = h.argument("x");
  RegionId body = h.region(2, 0);
  h.block({{Op::LOAD_FAST, x}}, 1);
  h.block({{Op::CALL, 0, kPlain}, {Op::RETURN_VALUE}}, -1, -1, body);
  h.block({{Op::RERAISE, 1}});
  text = simplified(h, only_late());
  EXPECT_LT(text.find("LOAD_FAST x"), text.find("b1:")) << text;
}

TEST(Slices, AreWrittenOutForComparing) {
  // Source subscripts by STORE_SLICE and LOAD_SLICE (3.12+), Dynamo by a slice and a subscript.
  SimplifyOptions options;
  options.slices = true;
  Builder source, dynamo;
  for (Builder* b : {&source, &dynamo}) {
    const std::uint32_t x = b->argument("x"), y = b->argument("y"), none = b->none();
    if (b == &source)
      b->block({{Op::LOAD_FAST, y},
                {Op::LOAD_FAST, x},
                {Op::LOAD_CONST, none},
                {Op::LOAD_FAST, y},
                {Op::STORE_SLICE},
                {Op::LOAD_FAST, x},
                {Op::LOAD_FAST, y},
                {Op::LOAD_CONST, none},
                {Op::LOAD_SLICE},
                {Op::RETURN_VALUE}});
    else
      b->block({{Op::LOAD_FAST, y},
                {Op::LOAD_FAST, x},
                {Op::LOAD_CONST, none},
                {Op::LOAD_FAST, y},
                {Op::BUILD_SLICE, 2},
                {Op::STORE_SUBSCR},
                {Op::LOAD_FAST, x},
                {Op::LOAD_FAST, y},
                {Op::LOAD_CONST, none},
                {Op::BUILD_SLICE, 2},
                {Op::LOAD_SUBSCR},
                {Op::RETURN_VALUE}});
  }
  const std::string text = simplified(source, options);
  EXPECT_FALSE(has(text, "LOAD_SLICE") || has(text, "STORE_SLICE")) << text;
  EXPECT_LT(text.find("BUILD_SLICE"), text.find("STORE_SUBSCR")) << text;
  EXPECT_TRUE(has(simplified(source), "STORE_SLICE"));

  Lifted a = source.lifted(), b = dynamo.lifted();
  simplify(a, source.module, options);
  simplify(b, dynamo.module, options);
  const auto operations = [](const Lifted& lifted) {
    std::vector<Op> found;
    for (ValueId id : lifted.blocks[0].body) found.push_back(lifted[id].op);
    return found;
  };
  EXPECT_EQ(operations(a), operations(b));
}

TEST(Displays, SetsOfConstantsKeepTheOrderInWhichTheyWereFilled) {
  // Source: a set to which the items of a tuple are added; Dynamo: a set of constants.
  SimplifyOptions options;
  options.displays = true;
  options.drop_dead = true;
  Builder source, dynamo;
  Const frozen;
  frozen.kind = ConstKind::Tuple;
  const std::uint32_t s1 = source.integer(1), s2 = source.integer(2), s3 = source.integer(3);
  const ConstId items[] = {ConstId(s3), ConstId(s1), ConstId(s2)};
  frozen.items = source.module.arena.copy(items);
  source.block({{Op::BUILD_SET, 0},
                {Op::LOAD_CONST, source.constant(frozen)},
                {Op::SET_UPDATE, 1},
                {Op::RETURN_VALUE}});
  const std::uint32_t d1 = dynamo.integer(1), d2 = dynamo.integer(2), d3 = dynamo.integer(3);
  dynamo.block({{Op::LOAD_CONST, d2},
                {Op::LOAD_CONST, d3},
                {Op::LOAD_CONST, d1},
                {Op::BUILD_SET, 3},
                {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(source), "SET_UPDATE"));
  const auto integers = [&](Builder& b) {
    Lifted lifted = b.lifted();
    simplify(lifted, b.module, options);
    check(lifted);
    std::vector<std::int64_t> found;
    const Value& set = lifted[lifted.blocks[0].value];
    EXPECT_EQ(set.op, Op::BUILD_SET);
    for (ValueId id : set.operands) found.push_back(b.module[ConstId(lifted[id].arg)].integer);
    return found;
  };
  EXPECT_EQ(integers(source), (std::vector<std::int64_t>{3, 1, 2}));
  EXPECT_EQ(integers(dynamo), (std::vector<std::int64_t>{2, 3, 1}));

  // A frozenset hands over its table, in whatever order that is.
  Builder display;
  frozen.kind = ConstKind::FrozenSet;
  const ConstId more[] = {ConstId(display.integer(1)), ConstId(display.integer(2))};
  frozen.items = display.module.arena.copy(more);
  display.block({{Op::BUILD_SET, 0},
                 {Op::LOAD_CONST, display.constant(frozen)},
                 {Op::SET_UPDATE, 1},
                 {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(display, options), "SET_UPDATE"));
}

TEST(Displays, SetsWhoseConstantsMayBeEqualKeepTheirOrder) {
  // {1, True} is {1}, {True, 1} is {True}.
  SimplifyOptions options;
  options.displays = true;
  Builder b;
  Const yes;
  yes.kind = ConstKind::True;
  const std::uint32_t t = b.constant(yes), one = b.integer(1);
  b.block({{Op::LOAD_CONST, t}, {Op::LOAD_CONST, one}, {Op::BUILD_SET, 2}, {Op::RETURN_VALUE}});
  Lifted lifted = b.lifted();
  simplify(lifted, b.module, options);
  EXPECT_EQ(lifted[lifted[lifted.blocks[0].value].operands[0]].arg, t);
}

TEST(Displays, EmptySetsAreBuiltForComparing) {
  // `{*()}`
  SimplifyOptions options;
  options.displays = true;
  Builder b;
  Const nothing;
  nothing.kind = ConstKind::Tuple;
  b.block({{Op::BUILD_SET, 0},
           {Op::LOAD_CONST, b.constant(nothing)},
           {Op::SET_UPDATE, 1},
           {Op::RETURN_VALUE}});
  const std::string text = simplified(b, options);
  EXPECT_TRUE(has(text, "BUILD_SET") && !has(text, "SET_UPDATE")) << text;
}

TEST(Displays, LargeMapsAreBuiltAtOnceForComparing) {
  // Source adds pair after pair and joins the parts, Dynamo builds all at once.
  SimplifyOptions options;
  options.displays = true;
  Builder b;
  const std::uint32_t x = b.argument("x");
  const std::uint32_t k1 = b.integer(1), k2 = b.integer(2), k3 = b.integer(3);
  b.block({{Op::BUILD_MAP, 0},
           {Op::LOAD_CONST, k1},
           {Op::LOAD_FAST, x},
           {Op::MAP_ADD, 1},
           {Op::LOAD_CONST, k2},
           {Op::LOAD_FAST, x},
           {Op::LOAD_ATTR, b.str("a")},
           {Op::MAP_ADD, 1},
           {Op::LOAD_CONST, k3},
           {Op::LOAD_FAST, x},
           {Op::BUILD_MAP, 1},
           {Op::DICT_UPDATE, 1},
           {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b), "MAP_ADD"));
  const std::string text = simplified(b, options);
  EXPECT_FALSE(has(text, "MAP_ADD") || has(text, "DICT_UPDATE")) << text;
  EXPECT_LT(text.find("LOAD_ATTR"), text.find("BUILD_MAP")) << text;
}

TEST(Displays, MapsWhoseKeysAreNoConstantsGrowStepByStep) {
  SimplifyOptions options;
  options.displays = true;
  Builder b;
  const std::uint32_t x = b.argument("x");
  b.block({{Op::BUILD_MAP, 0},
           {Op::LOAD_FAST, x},
           {Op::LOAD_FAST, x},
           {Op::MAP_ADD, 1},
           {Op::RETURN_VALUE}});
  EXPECT_TRUE(has(simplified(b, options), "MAP_ADD"));
}

// ---------------------------------------------------------------- branches on constants

/// What a branch on the operations `test` does: "taken", "not taken" or "asked".
std::string branch_on(Builder& b, std::vector<Instr> test) {
  test.push_back({Op::BRANCH_FALSE});
  b.block(test, 1, 2);
  b.block({{Op::LOAD_CONST, b.integer(111)}, {Op::RETURN_VALUE}});
  b.block({{Op::LOAD_CONST, b.integer(222)}, {Op::RETURN_VALUE}});
  Lifted lifted = b.lifted();
  const bool any = take_decided_branches(lifted, b.module);
  check(lifted);
  const std::string text = b.text(lifted);
  const bool yes = has(text, "111"), no = has(text, "222");
  EXPECT_EQ(any, yes != no) << text;
  return yes && no ? "asked" : yes ? "taken" : "not taken";
}

std::string branch_on_constant(ConstKind kind, std::string_view text = {}, double re = 0,
                               double im = 0) {
  Builder b;
  Const c;
  c.kind = kind;
  c.text = text;
  c.re = re;
  c.im = im;
  const std::uint32_t at = b.constant(c);
  return branch_on(b, {{Op::LOAD_CONST, at}});
}

/// Of an operator between two constants, which are in the table by number.
std::string branch_on_two(Builder& b, Op op, std::uint32_t kind, std::uint32_t left,
                          std::uint32_t right) {
  return branch_on(b, {{Op::LOAD_CONST, left}, {Op::LOAD_CONST, right}, {op, kind}});
}

TEST(DecidedBranch, TruthOfConstants) {
  EXPECT_EQ(branch_on_constant(ConstKind::None), "not taken");
  EXPECT_EQ(branch_on_constant(ConstKind::False), "not taken");
  EXPECT_EQ(branch_on_constant(ConstKind::True), "taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Ellipsis), "taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Str), "not taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Str, "0"), "taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Bytes), "not taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Float, "", -0.0), "not taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Float, "", std::nan("")), "taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Complex, "", 0, 1), "taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Complex), "not taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Tuple), "not taken");
  EXPECT_EQ(branch_on_constant(ConstKind::FrozenSet), "not taken");
  EXPECT_EQ(branch_on_constant(ConstKind::Object), "asked") << "an object may have a __bool__";
}

TEST(DecidedBranch, ArithmeticOfIntegers) {
  const auto of = [](BinaryOp op, std::int64_t x, std::int64_t y) {
    Builder b;
    const std::uint32_t left = b.integer(x), right = b.integer(y);
    return branch_on_two(b, Op::BINARY, static_cast<std::uint32_t>(op), left, right);
  };
  EXPECT_EQ(of(BinaryOp::Add, 3, -3), "not taken");
  EXPECT_EQ(of(BinaryOp::Add, 3, -2), "taken");
  EXPECT_EQ(of(BinaryOp::Subtract, 3, 3), "not taken");
  EXPECT_EQ(of(BinaryOp::Multiply, 3, 0), "not taken");
  EXPECT_EQ(of(BinaryOp::And, 6, 1), "not taken");
  EXPECT_EQ(of(BinaryOp::Or, 0, 4), "taken");
  EXPECT_EQ(of(BinaryOp::Xor, 5, 5), "not taken");
  for (BinaryOp op : {BinaryOp::FloorDivide, BinaryOp::TrueDivide, BinaryOp::Remainder,
                      BinaryOp::Power, BinaryOp::LShift, BinaryOp::RShift, BinaryOp::MatMult})
    EXPECT_EQ(of(op, 1, 0), "asked") << "it may raise, or be of any size";
  EXPECT_EQ(of(BinaryOp::Multiply, 1LL << 30, 1LL << 30), "asked") << "out of the counted range";
  EXPECT_EQ(of(BinaryOp::Add, 1LL << 40, -(1LL << 40)), "asked");
}

TEST(DecidedBranch, SignsAndNot) {
  const auto of = [](UnaryOp op, std::int64_t x) {
    Builder b;
    const std::uint32_t operand = b.integer(x);
    return branch_on(b, {{Op::LOAD_CONST, operand}, {Op::UNARY, static_cast<std::uint32_t>(op)}});
  };
  EXPECT_EQ(of(UnaryOp::Invert, -1), "not taken");
  EXPECT_EQ(of(UnaryOp::Invert, 0), "taken");
  EXPECT_EQ(of(UnaryOp::Plus, 0), "not taken");
  EXPECT_EQ(of(UnaryOp::Minus, 2), "taken");
  EXPECT_EQ(of(UnaryOp::Not, 0), "taken");
  EXPECT_EQ(of(UnaryOp::Not, 2), "not taken");
  Builder b;
  const std::uint32_t x = b.argument("x");
  EXPECT_EQ(branch_on(b, {{Op::LOAD_FAST, x}, {Op::UNARY, 1}}), "asked");
}

TEST(DecidedBranch, Comparisons) {
  const auto of = [](CompareOp op, std::int64_t x, std::int64_t y) {
    Builder b;
    const std::uint32_t left = b.integer(x), right = b.integer(y);
    return branch_on_two(b, Op::COMPARE, static_cast<std::uint32_t>(op), left, right);
  };
  EXPECT_EQ(of(CompareOp::Lt, 1, 2), "taken");
  EXPECT_EQ(of(CompareOp::Lt, 2, 2), "not taken");
  EXPECT_EQ(of(CompareOp::Le, 2, 2), "taken");
  EXPECT_EQ(of(CompareOp::Le, 3, 2), "not taken");
  EXPECT_EQ(of(CompareOp::Eq, 2, 2), "taken");
  EXPECT_EQ(of(CompareOp::Ne, 2, 2), "not taken");
  EXPECT_EQ(of(CompareOp::Gt, 3, 2), "taken");
  EXPECT_EQ(of(CompareOp::Ge, 1, 2), "not taken");
  for (CompareOp op : {CompareOp::Is, CompareOp::IsNot, CompareOp::In, CompareOp::NotIn})
    EXPECT_EQ(of(op, 2, 2), "asked") << "identity of integers is not the code's; `in` raises";
}

TEST(DecidedBranch, TextsAreEqualOrNot) {
  const auto of = [](CompareOp op, std::string_view x, std::string_view y) {
    Builder b;
    Const left, right;
    left.kind = right.kind = ConstKind::Str;
    left.text = x;
    right.text = y;
    const std::uint32_t first = b.constant(left), second = b.constant(right);
    return branch_on_two(b, Op::COMPARE, static_cast<std::uint32_t>(op), first, second);
  };
  EXPECT_EQ(of(CompareOp::Eq, "__main__", "__main__"), "taken");
  EXPECT_EQ(of(CompareOp::Eq, "a", "b"), "not taken");
  EXPECT_EQ(of(CompareOp::Ne, "a", "b"), "taken");
  EXPECT_EQ(of(CompareOp::Lt, "a", "b"), "asked");
}

TEST(MadeByDynamo, ByNamesOnly) {
  Builder b;
  b.argument("x");
  b.block({{Op::LOAD_CONST, b.none()}, {Op::RETURN_VALUE}});
  b.lifted();
  EXPECT_FALSE(made_by_dynamo(b.module, b.code));
  b.module[b.code].names =
      b.module.arena.copy(std::vector<StrId>{b.module.intern("__resume_at_12_3")});
  EXPECT_TRUE(made_by_dynamo(b.module, b.code));
}

}  // namespace
}  // namespace depyf::test
