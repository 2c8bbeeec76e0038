#include "print/print.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "print/literals.h"
#include "print/names.h"

namespace depyf {
namespace {

/// A small tree built by hand, for one Python version.
struct Tree {
  Module module;
  Ast ast;
  std::uint32_t width = 100;

  explicit Tree(std::uint8_t minor = 11) {
    ast.module = &module;
    module.version = {3, minor};
    CodeObject code;
    code.version = module.version;
    code.name = module.intern("<module>");
    module.codes.push_back(code);
    module.root = CodeId(0);
    ast.bodies.resize(1);
  }
  ExprId name(std::string_view text) { return ast.name(module.intern(text)); }
  ExprId add(Const value) { return ast.constant(module.add(value)); }
  ExprId str(std::string_view text) {
    Const value;
    value.kind = ConstKind::Str;
    value.text = module.arena.copy_string(text);
    return add(value);
  }
  ExprId integer(std::int64_t number) {
    Const value;
    value.kind = ConstKind::Int;
    value.integer = number;
    return add(value);
  }
  ExprId real(double number) {
    Const value;
    value.kind = ConstKind::Float;
    value.re = number;
    return add(value);
  }
  ExprId make(ExprKind kind, std::vector<ExprId> kids, std::uint32_t a = UINT32_MAX,
              std::uint8_t op = 0) {
    return ast.expr(kind, kids, a, op);
  }
  ExprId binary(BinaryOp op, ExprId a, ExprId b) {
    return make(ExprKind::Binary, {a, b}, UINT32_MAX, static_cast<std::uint8_t>(op));
  }
  ExprId attribute(ExprId value, std::string_view text) {
    return make(ExprKind::Attribute, {value}, module.intern(text).index);
  }
  StmtId stmt(StmtKind kind, ExprId e = {}) {
    Stmt s;
    s.kind = kind;
    s.e[0] = e;
    return ast.add(s);
  }
  PrintOptions options() const { return {4, width, module.version}; }
  std::string print(std::vector<StmtId> stmts) {
    ast.bodies[0].stmts = ast.arena.copy(stmts);
    return print_module(ast, options()).text;
  }
  std::string print(ExprId e) {
    std::string text = print({stmt(StmtKind::Pass), stmt(StmtKind::Expr, e)});
    return text.substr(5, text.size() - 6);
  }
};

TEST(Literals, FloatsAreTheShortestThatReadBack) {
  auto text = [](double value) {
    std::string out;
    append_float(out, value);
    return out;
  };
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1), "1.0");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(123456789012345680), "1.2345678901234568e+17");
  EXPECT_EQ(text(1e15), "1000000000000000.0");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(0.00001), "1e-05");
  EXPECT_EQ(text(5e-324), "5e-324");
  EXPECT_EQ(text(123.456), "123.456");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-1e309");
}

TEST(Literals, ComplexNumbersKeepTheSignsOfTheirZeros) {
  auto text = [](double re, double im, std::uint8_t minor) {
    std::string out;
    append_complex(out, re, im, {3, minor});
    return out;
  };
  EXPECT_EQ(text(0, 2, 11), "2j");
  EXPECT_EQ(text(-0.0, -2, 11), "(-2j)");
  EXPECT_EQ(text(1, 2, 11), "(1 + 2j)");
  EXPECT_EQ(text(1, -2, 11), "(1 - 2j)");
  EXPECT_EQ(text(-1.5, 2, 11), "(-1.5 + 2j)");
  EXPECT_EQ(text(-0.0, 3, 11), "(-(0 - 3j))");
  // Up to 3.13, `1 - 0j` has the imaginary part 0.0 - 0.0.
  EXPECT_EQ(text(1, -0.0, 13), "(-(-1 + 0j))");
  EXPECT_EQ(text(1, -0.0, 14), "(1 - 0j)");
}

TEST(Literals, BigIntegersAreDecimalUntilCPythonRefuses) {
  std::string out;
  append_big_integer(out, "-10000000000000000");
  EXPECT_EQ(out, "-18446744073709551616");
  out.clear();
  append_big_integer(out, std::string(4000, 'f'));
  EXPECT_EQ(out, "0x" + std::string(4000, 'f'));
}

TEST(Literals, StringsTakeTheQuotesThatNeedFewestEscapes) {
  auto text = [](std::string_view value) {
    std::string out;
    append_string(out, value);
    return out;
  };
  EXPECT_EQ(text("a"), "'a'");
  EXPECT_EQ(text("it's"), "\"it's\"");
  EXPECT_EQ(text("it's \"so\""), "'it\\'s \"so\"'");
  EXPECT_EQ(text("a\n\t\\\x01\x7f"), "'a\\n\\t\\\\\\x01\\x7f'");
  EXPECT_EQ(text("\xed\xb2\x80"), "'\\udc80'");
  EXPECT_EQ(text("caf\xc3\xa9 \xc2\xa0 \xe2\x80\x8b"), "'caf\xc3\xa9 \\xa0 \\u200b'");
  EXPECT_EQ(text("\xf0\x9f\x98\x80"), "'\xf0\x9f\x98\x80'");
  EXPECT_EQ(text("\xff\xc3"), "'\\xff\\xc3'") << "invalid UTF-8 stays readable";
}

TEST(Literals, DocstringsKeepTheirValue) {
  auto text = [](std::string_view value, std::uint8_t minor) {
    std::string out;
    append_docstring(out, value, 4, {3, minor});
    return out;
  };
  EXPECT_EQ(text("One.", 11), "\"\"\"One.\"\"\"");
  EXPECT_EQ(text("ends in \"", 11), "\"\"\"ends in \\\"\"\"\"");
  EXPECT_EQ(text("One.\n\n    Two.\n    ", 11), "\"\"\"One.\n\n    Two.\n    \"\"\"");
  EXPECT_EQ(text("a\\d", 11), "r\"\"\"a\\d\"\"\"");
  EXPECT_EQ(text("a\\", 11), "\"\"\"a\\\\\"\"\"");
  // 3.13 strips the indentation, so the body's is added.
  EXPECT_EQ(text("One.\n\nTwo.\n", 13), "\"\"\"One.\n\n    Two.\n    \"\"\"");
  EXPECT_EQ(text("One.\n", 13), "\"\"\"One.\n\"\"\"")
      << "nothing sets a margin here, so nothing would be stripped";
  EXPECT_EQ(text("a\n  b", 13), "'a\\n  b'")
      << "no docstring has this value in 3.13; only an expression would";
}

TEST(Literals, ALongDocstringIsItsFirstLine) {
  EXPECT_EQ(shortened("One.", 20), "One.");
  EXPECT_EQ(shortened("\n    One.\n\n    Two.\n", 20), "One. ...");
  EXPECT_EQ(shortened("One line that is too long.", 20), "One line that is ...");
  EXPECT_EQ(shortened("One.\r\nTwo.", 20), "One. ...");
  EXPECT_EQ(shortened(" \n ", 20), "...");
  EXPECT_EQ(shortened("onewordwithoutanyblank", 20), "...");
  EXPECT_EQ(shortened("f\xc3\xbcr \xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 12), "f\xc3\xbcr ...");
}

TEST(Print, ParenthesesFollowPrecedence) {
  Tree t;
  ExprId a = t.name("a"), b = t.name("b"), c = t.name("c");
  EXPECT_EQ(t.print(t.binary(BinaryOp::Multiply, t.binary(BinaryOp::Add, a, b), c)), "(a + b) * c");
  EXPECT_EQ(t.print(t.binary(BinaryOp::Subtract, a, t.binary(BinaryOp::Subtract, b, c))),
            "a - (b - c)");
  EXPECT_EQ(t.print(t.binary(BinaryOp::Subtract, t.binary(BinaryOp::Subtract, a, b), c)),
            "a - b - c");
  EXPECT_EQ(t.print(t.binary(BinaryOp::Power, t.integer(-1), a)), "(-1) ** a");
  EXPECT_EQ(t.print(t.binary(BinaryOp::Power, a, t.integer(-1))), "a ** -1");
  EXPECT_EQ(t.print(t.binary(BinaryOp::Power, t.binary(BinaryOp::Power, a, b), c)),
            "(a ** b) ** c");
  EXPECT_EQ(t.print(t.attribute(t.integer(1), "real")), "(1).real");
  EXPECT_EQ(t.print(t.attribute(t.integer(-1), "real")), "(-1).real");
  EXPECT_EQ(t.print(t.attribute(t.real(1.5), "hex")), "1.5.hex");
  EXPECT_EQ(t.print(t.make(ExprKind::BoolOp, {t.make(ExprKind::BoolOp, {a, b}, UINT32_MAX, 1), c},
                           UINT32_MAX, 0)),
            "(a or b) and c");
  EXPECT_EQ(t.print(t.make(ExprKind::NamedExpr, {a, b})), "(a := b)");
  EXPECT_EQ(t.print(t.make(ExprKind::Tuple, {a})), "(a,)");
  EXPECT_EQ(t.print(t.make(ExprKind::Subscript,
                           {a, t.make(ExprKind::Tuple,
                                      {b, t.make(ExprKind::Slice, {c, ExprId(), ExprId()})})})),
            "a[b, c:]");
  ExprId await = t.make(ExprKind::Await, {t.binary(BinaryOp::Power, a, b)});
  EXPECT_EQ(t.print(await), "await (a ** b)");
  ExprId generator = t.make(ExprKind::GeneratorExp, {a, t.make(ExprKind::Comprehension, {a, b})});
  EXPECT_EQ(t.print(t.make(ExprKind::Call, {c, generator})), "c(a for a in b)");
  EXPECT_EQ(t.print(t.make(ExprKind::Call, {c, generator, a})), "c((a for a in b), a)");
}

TEST(Print, FStringQuotesByVersion) {
  auto nested = [](std::uint8_t minor, std::string_view inner) {
    Tree t(minor);
    ExprId item = t.make(ExprKind::Subscript, {t.name("d"), t.str(inner)});
    return t.print(t.make(ExprKind::JoinedStr, {t.str("{it's} "), t.make(ExprKind::FormattedValue,
                                                                         {item}, UINT32_MAX, 2)}));
  };
  EXPECT_EQ(nested(8, "k"), "f\"{{it's}} {d['k']!r}\"");
  EXPECT_EQ(nested(12, "k"), "f\"{{it's}} {d['k']!r}\"");
  EXPECT_EQ(nested(8, "a'b"), "f'''{{it's}} {d[\"a'b\"]!r}'''");
  EXPECT_EQ(nested(12, "a\n"), "f\"{{it's}} {d['a\\n']!r}\"");
  // 3.11 makes f-strings of '%r' % (x,): one that no f-string can hold goes back to that.
  EXPECT_EQ(nested(11, "\\"), "\"{it's} %r\" % (d['\\\\'],)");
}

TEST(Print, FStringSpecifications) {
  Tree t(8);
  ExprId spec = t.make(ExprKind::JoinedStr,
                       {t.str(">"), t.make(ExprKind::FormattedValue, {t.name("w")}), t.str("}")});
  ExprId set = t.make(ExprKind::Set, {t.name("x")});
  EXPECT_EQ(t.print(t.make(ExprKind::JoinedStr, {t.make(ExprKind::FormattedValue, {set, spec})})),
            "f'{ {x}:>{w}\\x7d}'");
}

// What only code has that no compiler wrote is spelt by calls that make the same value.
TEST(Print, ValuesThatNoSourceHasAreCalls) {
  Tree t(8);
  const auto none = ExprId{};
  EXPECT_EQ(t.print(t.make(ExprKind::Slice, {t.name("a"), none, t.name("c")})),
            "slice(a, None, c)");
  const auto one = [&](std::uint8_t op, ExprId spec) {
    std::vector<ExprId> kids{t.name("x")};
    if (spec) kids.push_back(spec);
    return t.print(t.make(ExprKind::FormattedValue, kids, UINT32_MAX, op));
  };
  EXPECT_EQ(one(2, none), "repr(x)");
  EXPECT_EQ(one(3, none), "ascii(x)");
  EXPECT_EQ(one(0, none), "format(x)");
  EXPECT_EQ(one(0, t.str(">3")), "format(x, '>3')");
  EXPECT_EQ(t.print(t.make(ExprKind::Set, {})), "{*()}");
}

TEST(Print, ConstantsThatAreContainers) {
  Tree t(14);
  const auto constant = [&](ConstKind kind, std::vector<std::int64_t> numbers) {
    std::vector<ConstId> items;
    for (const std::int64_t number : numbers) {
      Const item;
      item.kind = number < 0 ? ConstKind::None : ConstKind::Int;
      item.integer = number < 0 ? 0 : number;
      items.push_back(t.module.add(item));
    }
    Const value;
    value.kind = kind;
    value.items = t.module.arena.copy(items);
    return t.add(value);
  };
  EXPECT_EQ(t.print(constant(ConstKind::Dict, {1, 2, 3, 4})), "{1: 2, 3: 4}");
  EXPECT_EQ(t.print(constant(ConstKind::Dict, {})), "{}");
  EXPECT_EQ(t.print(constant(ConstKind::List, {})), "[]");
  EXPECT_EQ(t.print(constant(ConstKind::Set, {})), "set()");
  EXPECT_EQ(t.print(constant(ConstKind::FrozenSet, {})), "frozenset()");
  EXPECT_EQ(t.print(constant(ConstKind::Slice, {1, 2, -1})), "slice(1, 2, None)");
  const auto sliced = [&](ExprId slice) {
    return t.print(t.make(ExprKind::Subscript, {t.name("a"), slice}));
  };
  EXPECT_EQ(sliced(constant(ConstKind::Slice, {1, 2, -1})), "a[1:2]");
  EXPECT_EQ(sliced(constant(ConstKind::Slice, {-1, -1, 2})), "a[::2]");
}

// A backslash in an expression of an f-string, before 3.12, beside a conversion that % lacks.
TEST(Print, AnFStringThatNoSourceHasIsJoined) {
  Tree t(8);
  ExprId item = t.make(ExprKind::Subscript, {t.name("d"), t.str("\\")});
  ExprId wide = t.make(ExprKind::FormattedValue, {item, t.str(">3")}, UINT32_MAX, 1);
  ExprId shown = t.make(ExprKind::FormattedValue, {t.name("y")}, UINT32_MAX, 3);
  EXPECT_EQ(t.print(t.make(ExprKind::JoinedStr, {t.str("a"), wide, shown})),
            "''.join(('a', format(str(d['\\\\']), '>3'), format(ascii(y)), ))");
}

TEST(Print, LongLinesAreBrokenAtTheOuterBrackets) {
  Tree t;
  t.width = 30;
  ExprId call =
      t.make(ExprKind::Call, {t.name("function"), t.name("argument_one"), t.name("argument_two")});
  EXPECT_EQ(t.print(call), "function(\n    argument_one, argument_two\n)");
  ExprId outer = t.make(ExprKind::Call, {t.name("g"), call, t.name("another_argument")});
  EXPECT_EQ(t.print(outer),
            "g(\n    function(\n        argument_one,\n        argument_two,\n    ),\n    "
            "another_argument,\n)");
  Stmt s;
  s.kind = StmtKind::Return;
  s.e[0] =
      t.make(ExprKind::BoolOp, {t.name("condition_number_one"), t.name("condition_number_two")});
  EXPECT_EQ(t.print({t.ast.add(s)}),
            "return (\n    condition_number_one\n    and condition_number_two\n)\n");
}

TEST(Print, ElifChainsAndEmptyBodies) {
  Tree t;
  Stmt inner;
  inner.kind = StmtKind::If;
  inner.e[0] = t.name("b");
  StmtId orelse[] = {t.ast.add(inner)};
  Stmt outer = inner;
  outer.e[0] = t.name("a");
  outer.orelse = t.ast.arena.copy(orelse);
  EXPECT_EQ(t.print({t.ast.add(outer)}), "if a:\n    pass\nelif b:\n    pass\n");
}

TEST(Print, NamesThatNoSourceCanHoldAreSpelt) {
  Module module;
  Names names(module, {3, 11});
  EXPECT_EQ(names.spell(module.intern(".0")), "_0");
  EXPECT_EQ(names.spell(module.intern("<lambda>")), "_lambda");
  EXPECT_EQ(names.spell(module.intern("class")), "class_");
  EXPECT_EQ(names.spell(module.intern("caf\xc3\xa9")), "caf\xc3\xa9");
  EXPECT_EQ(names.spell(module.intern("1a")), "_1a");
}

TEST(Print, SpeltNamesCollideWithNothing) {
  Module module;
  Const text;
  text.kind = ConstKind::Str;
  text.text = "b_c";
  module.add(text);
  Names names(module, {3, 11});
  module.intern("a_b");
  module.intern("class_");
  std::set<std::string> all = {"a_b", "class_", "b_c"};
  // Two that differ in signs only, NFKC's U+FB01, a builtin's name, what a class would mangle.
  for (const char* name : {"a b", "a-b", "a_b ", "class", "b c", "", " ", "\xef\xac\x81",
                           "\xc3\xa9 ", "iter>", "__a b", "__ a"}) {
    const std::string spelt(names.spell(module.intern(name)));
    EXPECT_TRUE(is_writable_name(spelt, {3, 11})) << spelt;
    EXPECT_FALSE(spelt.starts_with("__")) << spelt;
    EXPECT_TRUE(all.insert(spelt).second) << spelt;
  }
  EXPECT_LE(names.spell(module.intern(std::string(5000, '!') + std::string(5000, 'x'))).size(),
            80u);
  const auto renamed = names.renamed();
  EXPECT_EQ(renamed.size(), 13u);
}

TEST(Print, NormalisedNamesAreWritable) {
  const PyVersion old{3, 7}, later{3, 13};
  EXPECT_TRUE(is_writable_name("\xc3\xa9", old));            // U+00E9
  EXPECT_FALSE(is_writable_name("e\xcc\x81", old));          // e and U+0301, which compose to it
  EXPECT_TRUE(is_writable_name("x\xcc\x82", old));           // x and U+0302 do not
  EXPECT_FALSE(is_writable_name("x\xcc\x82\xcc\xa3", old));  // marks out of order
  EXPECT_FALSE(is_writable_name("\xef\xac\x81", old));       // U+FB01
  EXPECT_FALSE(is_writable_name("\xe2\x82\xac", later));     // U+20AC is no letter
  EXPECT_FALSE(is_writable_name("\xf0\xb1\x8d\x90", old));   // U+31350 came with Unicode 15
  EXPECT_TRUE(is_writable_name("\xf0\xb1\x8d\x90", later));
  EXPECT_FALSE(is_writable_name("a\xff", old));
}

TEST(Print, FunctionHeaderFromTheCodeObject) {
  Tree t;
  CodeObject& code = t.module.codes[0];
  std::vector<Slot> slots;
  for (const char* name : {"a", "b", "c", "args", "kw"})
    slots.push_back({t.module.intern(name), kLocal});
  code.slots = t.module.arena.copy(slots);
  code.argcount = 2;
  code.posonlyargcount = 1;
  code.kwonlyargcount = 1;
  code.flags = kVarArgs | kVarKeywords | kCoroutine;
  code.name = t.module.intern("<lambda>");
  EXPECT_EQ(print_function(t.ast, CodeId(0), "", t.options()).text,
            "async def _lambda(a, /, b, *args, c, **kw):\n    pass\n");
  code.flags = 0;
  EXPECT_EQ(print_function(t.ast, CodeId(0), "f", t.options()).text,
            "def f(a, /, b, *, c):\n    pass\n");
}

TEST(Print, SitesKnowTheirLines) {
  Tree t;
  Stmt s;
  s.kind = StmtKind::Return;
  s.origin = {4, 7, CodeId(0)};
  std::vector<ExprId> items;
  for (std::uint32_t i = 0; i < 3; ++i)  // too wide for one line
    items.push_back(t.ast.name(t.module.intern(std::string(40, static_cast<char>('a' + i))),
                               {10 + 2 * i, 7, CodeId(0)}));
  s.e[0] = t.ast.expr(ExprKind::List, items, UINT32_MAX, 0, {16, 7, CodeId(0)});
  std::vector<StmtId> stmts = {t.stmt(StmtKind::Pass), t.ast.add(s)};
  t.ast.bodies[0].stmts = t.ast.arena.copy(stmts);
  Source source = print_module(t.ast, t.options());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // offset and line
  for (const Site& site : source.sites)
    if (site.origin.offset != UINT32_MAX) found.emplace_back(site.origin.offset, site.line);
  EXPECT_EQ(found, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{
                       {4, 2}, {16, 2}, {10, 3}, {12, 4}, {14, 5}}))
      << source.text;
}

TEST(Print, DepthCostsNoStack) {
  constexpr int kDepth = 300000;
  Tree t;
  ExprId e = t.name("a");
  for (int i = 0; i < kDepth; ++i)
    e = i % 3 == 0   ? t.make(ExprKind::Call, {e})
        : i % 3 == 1 ? t.make(ExprKind::List, {e})
                     : t.make(ExprKind::Unary, {e}, UINT32_MAX, 3);
  EXPECT_GT(t.print(e).size(), static_cast<std::size_t>(kDepth));
  // Indentation alone is quadratic in the depth of bodies, so only the chain of `elif` is long
  // here.
  StmtId chain = t.stmt(StmtKind::Pass);
  for (int i = 0; i < kDepth; ++i) {
    Stmt s;
    s.kind = StmtKind::If;
    s.e[0] = t.name("a");
    StmtId branch[] = {chain};
    s.orelse = t.ast.arena.copy(branch);
    chain = t.ast.add(s);
  }
  EXPECT_GT(t.print({chain}).size(), static_cast<std::size_t>(kDepth));
}

}  // namespace
}  // namespace depyf
