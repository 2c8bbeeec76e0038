#include "structure/operations.h"

#include <gtest/gtest.h>

#include <string>

#include "support/error.h"

namespace depyf {
namespace {

/// A module with one code object, and operations whose operands are made before them.
struct Operations : ::testing::Test {
  Module module;
  Ast ast;
  Lifted lifted;
  std::vector<ExprId> made;  // by ValueId

  Operations() {
    CodeObject code;
    code.name = module.intern("f");
    std::vector<Slot> locals = {{module.intern("self"), kLocal},
                                {module.intern("x"), kLocal},
                                {module.intern("__class__"), kFree}};
    code.slots = module.arena.copy(locals);
    code.argcount = 1;
    module.codes.push_back(code);
    module.root = CodeId(0);
    lifted.code = CodeId(0);
    ast.module = &module;
  }

  ConstId add(ConstKind kind, auto set) {
    Const c;
    c.kind = kind;
    set(c);
    return module.add(c);
  }
  ConstId str(std::string_view text) {
    return add(ConstKind::Str, [&](Const& c) { c.text = module.arena.copy_string(text); });
  }
  ConstId num(std::int64_t n) {
    return add(ConstKind::Int, [&](Const& c) { c.integer = n; });
  }
  ConstId many(ConstKind kind, std::vector<ConstId> items) {
    return add(kind, [&](Const& c) { c.items = module.arena.copy(items); });
  }

  ValueId op(Op op, std::uint32_t arg = 0, std::vector<ValueId> operands = {},
             std::uint32_t aux = 0) {
    Value v;
    v.op = op;
    v.arg = arg;
    v.aux = aux;
    v.operands = lifted.arena.copy(operands);
    const ValueId id = lifted.add(v);
    made.resize(id.index + 1);
    return id;
  }
  ExprId make(ValueId id) {
    std::vector<ExprId> kids;
    for (ValueId operand : lifted[id].operands)
      kids.push_back(made[operand.index] ? made[operand.index] : make(operand));
    return made[id.index] = make_expression(ast, lifted, id, kids);
  }
  ValueId constant(ConstId id) { return op(Op::LOAD_CONST, id.index); }
  ValueId global(std::string_view name) { return op(Op::LOAD_GLOBAL, module.intern(name).index); }

  /// A compact form for comparisons, not Python.
  std::string show(ExprId id) {
    if (!id) return "_";
    const Expr& e = ast[id];
    std::string out;
    if (e.kind == ExprKind::Constant) return show(ConstId(e.a));
    if (e.kind == ExprKind::Name) return std::string(module[StrId(e.a)]);
    static constexpr std::string_view names[] = {
#define EXPR(name, a) #name,
#define PATTERN(name, a) #name,
#include "ast/ast.def"
    };
    out = names[static_cast<std::size_t>(e.kind)];
    const bool named = e.kind == ExprKind::Attribute || e.kind == ExprKind::Keyword ||
                       e.kind == ExprKind::ImportedName;
    if (named && e.a != UINT32_MAX) out += ":" + std::string(module[StrId(e.a)]);
    out += "(";
    for (std::size_t i = 0; i < e.kids.size(); ++i) out += (i ? " " : "") + show(e.kids[i]);
    return out + ")";
  }
  std::string show(ConstId id) {
    const Const& c = module[id];
    if (c.kind == ConstKind::Int) return std::to_string(c.integer);
    if (c.kind == ConstKind::Str) return "'" + std::string(c.text) + "'";
    if (c.kind == ConstKind::None) return "None";
    std::string out = "const(";
    for (std::size_t i = 0; i < c.items.size(); ++i) out += (i ? " " : "") + show(c.items[i]);
    return out + ")";
  }
};

TEST_F(Operations, NamesKeepTheirScope) {
  const Expr& fast = ast[make(op(Op::LOAD_FAST, 1))];
  EXPECT_EQ(module[StrId(fast.a)], "x");
  EXPECT_EQ(fast.op, static_cast<std::uint8_t>(NameScope::Fast));
  EXPECT_EQ(ast[make(global("g"))].op, static_cast<std::uint8_t>(NameScope::Global));
  EXPECT_EQ(ast[make(op(Op::LOAD_NAME, module.intern("n").index))].op,
            static_cast<std::uint8_t>(NameScope::Name));
}

TEST_F(Operations, SlotOutOfRangeIsAnError) { EXPECT_THROW(make(op(Op::LOAD_FAST, 99)), Error); }

TEST_F(Operations, ListOfConstantsIsWrittenOut) {
  const ConstId three = many(ConstKind::Tuple, {num(1), num(2), num(3)});
  const ValueId list = op(Op::LIST_EXTEND, 1, {op(Op::BUILD_LIST, 0), constant(three)});
  EXPECT_EQ(show(make(list)), "List(1 2 3)");
  // Followed by more it was `[*(1, 2, 3), x]`: `[1, 2, 3, x]` builds the list at once.
  EXPECT_EQ(show(make(op(Op::LIST_APPEND, 1, {list, global("x")}))),
            "List(Starred(const(1 2 3)) x)");
}

TEST_F(Operations, ShortConstantTupleStaysStarred) {
  const ConstId two = many(ConstKind::Tuple, {num(1), num(2)});
  EXPECT_EQ(show(make(op(Op::LIST_EXTEND, 1, {op(Op::BUILD_LIST, 0), constant(two)}))),
            "List(Starred(const(1 2)))");
}

TEST_F(Operations, SetConstantKeepsThreeItems) {
  const ConstId one = many(ConstKind::FrozenSet, {num(7)});
  EXPECT_EQ(show(make(op(Op::SET_UPDATE, 1, {op(Op::BUILD_SET, 0), constant(one)}))), "Set(7 7 7)");
}

TEST_F(Operations, ListsGrowInLinearSpace) {
  ValueId list = op(Op::BUILD_LIST, 0);
  make(list);
  const ValueId x = global("x");
  for (int i = 0; i < 1000; ++i) {
    list = op(Op::LIST_APPEND, 1, {list, x});
    make(list);
  }
  EXPECT_EQ(ast[made[list.index]].kids.size(), 1000u);
  for (ExprId kid : ast[made[list.index]].kids) ASSERT_EQ(kid, made[x.index]);
}

TEST_F(Operations, DictionaryDisplayAfterUnpackingIsPlain) {
  const ValueId pair = op(Op::BUILD_MAP, 1, {constant(str("k")), global("v")});
  const ValueId unpacked = op(Op::DICT_UPDATE, 1, {op(Op::BUILD_MAP, 0), global("d")});
  EXPECT_EQ(show(make(op(Op::DICT_UPDATE, 1, {unpacked, pair}))), "Dict(_ d 'k' v)");
  // The first entry would have been part of the display itself.
  EXPECT_EQ(show(make(op(Op::DICT_UPDATE, 1, {op(Op::BUILD_MAP, 0), pair}))),
            "Dict(_ Dict('k' v))");
}

TEST_F(Operations, OldUnpackingJoinsPieces) {
  const ValueId piece = op(Op::BUILD_TUPLE, 2, {global("a"), global("b")});
  EXPECT_EQ(show(make(op(Op::BUILD_LIST_UNPACK, 2, {piece, global("c")}))), "List(a b Starred(c))");
  EXPECT_EQ(show(make(op(Op::BUILD_LIST_UNPACK, 1, {piece}))), "List(Starred(Tuple(a b)))");
}

TEST_F(Operations, KeywordCalls) {
  const ConstId names = many(ConstKind::Tuple, {str("k")});
  EXPECT_EQ(
      show(make(op(Op::CALL_KW, 2, {global("f"), global("a"), global("b"), constant(names)}))),
      "Call(f a Keyword:k(b))");
  const ConstId too_many = many(ConstKind::Tuple, {str("k"), str("l")});
  EXPECT_THROW(make(op(Op::CALL_KW, 1, {global("f"), global("a"), constant(too_many)})), Error);
}

TEST_F(Operations, UnpackingCalls) {
  const ValueId f = global("f"), a = global("a"), k = global("k");
  const ValueId star = op(Op::LIST_EXTEND, 1, {op(Op::BUILD_LIST, 1, {a}), global("s")});
  const ValueId tuple = op(Op::LIST_TO_TUPLE, 0, {star});
  const ValueId mapping = op(Op::DICT_MERGE, 1, {op(Op::BUILD_MAP, 1, {constant(str("n")), a}), k});
  EXPECT_EQ(show(make(op(Op::CALL_EX, 1, {f, tuple, mapping}))),
            "Call(f a Starred(s) Keyword:n(a) Keyword(k))");
  EXPECT_EQ(show(make(op(Op::CALL_EX, 0, {f, a}))), "Call(f Starred(a))");
  // A tuple display is written out only beside a mapping.
  const ValueId pair = op(Op::BUILD_TUPLE, 2, {a, k});
  EXPECT_EQ(show(make(op(Op::CALL_EX, 0, {f, pair}))), "Call(f Starred(Tuple(a k)))");
  EXPECT_EQ(show(make(op(Op::CALL_EX, 1, {f, pair, k}))), "Call(f a k Keyword(k))");
  // f(**{'n': a}) is not f(n=a).
  const ValueId display = op(Op::BUILD_MAP, 1, {constant(str("n")), a});
  EXPECT_EQ(show(make(op(Op::CALL_EX, 1, {f, constant(many(ConstKind::Tuple, {})), display}))),
            "Call(f Keyword(Dict('n' a)))");
}

TEST_F(Operations, SlicesAreWrittenInBrackets) {
  const ConstId none = module.add(Const{});
  const ConstId slice = many(ConstKind::Slice, {none, num(2), none});
  EXPECT_EQ(show(make(op(Op::LOAD_SUBSCR, 0, {global("x"), constant(slice)}))),
            "Subscript(x Slice(_ 2 _))");
  const ConstId pair = many(ConstKind::Tuple, {slice, num(1)});
  EXPECT_EQ(show(make(op(Op::LOAD_SUBSCR, 0, {global("x"), constant(pair)}))),
            "Subscript(x Tuple(Slice(_ 2 _) 1))");
  EXPECT_EQ(show(make(op(Op::LOAD_SLICE, 0, {global("x"), constant(none), global("y")}))),
            "Subscript(x Slice(_ y _))");
}

TEST_F(Operations, FormattingNests) {
  const ValueId spec = op(Op::FORMAT, 0, {global("w")});
  const ValueId outer = op(Op::FORMAT, 2, {global("x"), spec}, 1);
  EXPECT_EQ(show(make(op(Op::BUILD_STRING, 2, {constant(str("a")), outer}))),
            "JoinedStr('a' FormattedValue(x JoinedStr(FormattedValue(w _))))");
  const ExprId converted = make(op(Op::FORMAT, 0, {op(Op::CONVERT, 2, {global("x")})}));
  EXPECT_EQ(show(converted), "FormattedValue(x _)");
  EXPECT_EQ(ast[converted].op, 2);
}

TEST_F(Operations, ZeroArgumentSuper) {
  const std::uint32_t name = module.intern("m").index;
  const ValueId cls = op(Op::LOAD_DEREF, 2), self = op(Op::LOAD_FAST, 0),
                other = op(Op::LOAD_FAST, 1);
  EXPECT_EQ(show(make(op(Op::LOAD_SUPER_ATTR, name, {global("super"), cls, self}))),
            "Attribute:m(Call(super))");
  EXPECT_EQ(show(make(op(Op::LOAD_SUPER_ATTR, name, {global("super"), cls, self}, 2))),
            "Attribute:m(Call(super __class__ self))");
  EXPECT_EQ(show(make(op(Op::LOAD_SUPER_ATTR, name, {global("super"), cls, other}))),
            "Attribute:m(Call(super __class__ x))");
}

TEST_F(Operations, AwaitAndYieldFrom) {
  const ValueId none = constant(module.add(Const{}));
  EXPECT_EQ(show(make(op(Op::YIELD_FROM, 0, {op(Op::GET_AWAITABLE, 0, {global("x")}), none}))),
            "Await(x)");
  EXPECT_EQ(
      show(make(op(Op::YIELD_FROM, 0, {op(Op::GET_YIELD_FROM_ITER, 0, {global("x")}), none}))),
      "YieldFrom(x)");
  EXPECT_EQ(show(make(op(Op::YIELD_VALUE, 0, {none}))), "Yield(_)");
}

TEST_F(Operations, FunctionAttributesAreFilledIn) {
  CodeObject inner;
  module.codes.push_back(inner);
  const ValueId code = constant(add(ConstKind::Code, [](Const& c) { c.code = CodeId(1); }));
  const ValueId defaults = constant(many(ConstKind::Tuple, {num(1)}));
  const ExprId at_once = make(op(Op::MAKE_FUNCTION, 1, {defaults, code}));
  EXPECT_EQ(show(at_once), "FunctionValue(const(1) _ _ _ _)");
  const ExprId later =
      make(op(Op::SET_FUNCTION_ATTRIBUTE, 1, {defaults, op(Op::MAKE_FUNCTION, 0, {code})}));
  EXPECT_EQ(show(later), show(at_once));
  EXPECT_EQ(ast[later].a, 1u);
}

TEST_F(Operations, ImportedNames) {
  const ValueId none = constant(module.add(Const{}));
  const ValueId mod = op(Op::IMPORT_NAME, module.intern("m").index, {constant(num(0)), none});
  const ValueId from = op(Op::IMPORT_FROM, module.intern("n").index, {mod});
  EXPECT_EQ(show(make(from)), "ImportedName:n(ImportModule(0 None))");
}

TEST_F(Operations, NegationIsExact) {
  const ExprId x = make(global("x"));
  EXPECT_EQ(show(negate(ast, negate(ast, x))), "x");
  const ExprId is = make(op(Op::IS, 0, {global("x"), global("y")}));
  EXPECT_EQ(ast[negate(ast, is)].extra[0], static_cast<std::uint32_t>(CompareOp::IsNot));
  const ExprId less = make(op(Op::COMPARE, 0, {global("x"), global("y")}));
  EXPECT_EQ(ast[negate(ast, less)].kind, ExprKind::Unary);
}

TEST_F(Operations, OperationsWithoutSourceFormSaySo) {
  EXPECT_THROW(make(op(Op::PUSH_EXC_INFO)), Error);
  EXPECT_THROW(make_target(ast, lifted, op(Op::LOAD_FAST, 0), {}), Error);
}

}  // namespace
}  // namespace depyf
