// Raw trees built by hand, through rewrite/ and the printer.
#include "rewrite/rewrite.h"

#include <gtest/gtest.h>

#include <string>

#include "ast/comprehension.h"
#include "print/print.h"
#include "structure/operations.h"

namespace depyf {
namespace {

struct Raw {
  Module module;
  Ast ast;

  Raw() {
    ast.module = &module;
    module.version = {3, 11};
  }

  /// Inner code objects first; the module last.
  CodeId code(std::string_view name, std::uint32_t flags, std::vector<Slot> slots = {},
              std::uint32_t argcount = 0) {
    CodeObject object;
    object.version = module.version;
    object.name = module.intern(name);
    object.flags = flags;
    object.slots = module.arena.copy(slots);
    object.argcount = argcount;
    module.codes.push_back(object);
    ast.bodies.emplace_back();
    module.root = CodeId(static_cast<std::uint32_t>(module.codes.size() - 1));
    ast.bodies.back().code = module.root;
    return module.root;
  }
  CodeId function(std::string_view name, std::vector<Slot> slots = {}, std::uint32_t argcount = 0) {
    return code(name, kOptimized | kNewLocals, std::move(slots), argcount);
  }
  Slot local(std::string_view name) { return {module.intern(name), kLocal}; }
  /// What the bytecode of a code object calls by name.
  void names(CodeId code, std::vector<std::string_view> texts) {
    std::vector<StrId> ids;
    for (std::string_view text : texts) ids.push_back(module.intern(text));
    module[code].names = module.arena.copy(ids);
  }

  ConstId constant(ConstKind kind, std::string_view text = {}, std::vector<ConstId> items = {}) {
    Const c;
    c.kind = kind;
    c.text = module.arena.copy_string(text);
    c.items = module.arena.copy(items);
    return module.add(c);
  }
  ConstId integer(std::int64_t n) {
    Const c;
    c.kind = ConstKind::Int;
    c.integer = n;
    return module.add(c);
  }
  ExprId num(std::int64_t n) { return ast.constant(integer(n)); }
  ExprId str(std::string_view text) { return ast.constant(constant(ConstKind::Str, text)); }
  ExprId none() { return ast.constant(constant(ConstKind::None)); }
  ExprId name(std::string_view text, NameScope scope = NameScope::Name) {
    return ast.expr(ExprKind::Name, {}, module.intern(text).index,
                    static_cast<std::uint8_t>(scope));
  }
  ExprId make(ExprKind kind, std::vector<ExprId> kids, std::uint32_t a = UINT32_MAX,
              std::uint8_t op = 0) {
    return ast.expr(kind, kids, a, op);
  }
  ExprId call(std::vector<ExprId> kids) { return make(ExprKind::Call, std::move(kids)); }
  ExprId value(CodeId code, ExprId defaults = {}, ExprId annotations = {}) {
    return make(ExprKind::FunctionValue, {defaults, {}, annotations, {}, {}}, code.index);
  }
  ExprId negated(ExprId e) {
    return make(ExprKind::Unary, {e}, UINT32_MAX, static_cast<std::uint8_t>(UnaryOp::Not));
  }

  StmtId stmt(StmtKind kind, ExprId e = {}, std::vector<StmtId> body = {},
              std::vector<StmtId> orelse = {}) {
    Stmt s;
    s.kind = kind;
    s.e[0] = e;
    s.body = ast.arena.copy(body);
    s.orelse = ast.arena.copy(orelse);
    return ast.add(s);
  }
  StmtId assign(ExprId target, ExprId e) {
    Stmt s;
    s.kind = StmtKind::Assign;
    s.e[0] = e;
    std::vector<ExprId> targets = {target};
    s.list = ast.arena.copy(targets);
    return ast.add(s);
  }
  StmtId assign(std::string_view target, ExprId e) { return assign(name(target), e); }
  StmtId loop(ExprId target, ExprId iter, std::vector<StmtId> body) {
    const StmtId id = stmt(StmtKind::For, target, std::move(body));
    ast[id].e[1] = iter;
    return id;
  }
  StmtId append(std::uint8_t flag, std::vector<ExprId> items) {
    const StmtId id = stmt(StmtKind::Append, name("tmp", NameScope::Fast));
    ast[id].flag = flag;
    ast[id].list = ast.arena.copy(items);
    return id;
  }

  void body(CodeId code, std::vector<StmtId> stmts) {
    ast.bodies[code.index].stmts = ast.arena.copy(stmts);
  }
  std::string print(std::vector<StmtId> stmts) {
    if (module.codes.empty() || module[module[module.root].name] != "<module>") code("<module>", 0);
    const CodeId root = module.root;
    for (std::uint32_t i = 0; i < root.index; ++i)
      if (!module.codes[i].parent) module.codes[i].parent = root;
    body(root, std::move(stmts));
    for (std::uint32_t i = 0; i <= root.index; ++i) rewrite(ast, CodeId(i));
    return print_module(ast, {4, 100, module.version}).text;
  }
};

TEST(Rewrite, FunctionWithDefaultsAnnotationsAndDocstring) {
  Raw t;
  const CodeId f = t.function("f", {t.local("a"), t.local("b")}, 2);
  const std::vector<ConstId> consts = {t.constant(ConstKind::Str, "Doc.")};
  t.module[f].consts = t.module.arena.copy(consts);
  t.body(f, {t.stmt(StmtKind::Return, t.name("a", NameScope::Fast))});
  const ExprId defaults = t.ast.constant(t.constant(ConstKind::Tuple, {}, {t.integer(1)}));
  const ExprId annotations =
      t.make(ExprKind::Tuple, {t.str("a"), t.name("int"), t.str("return"), t.name("str")});
  const ExprId made = t.call({t.name("dec"), t.value(f, defaults, annotations)});
  EXPECT_EQ(t.print({t.assign("f", made), t.stmt(StmtKind::Return, t.none())}),
            "@dec\ndef f(a: int, b=1) -> str:\n    \"\"\"Doc.\"\"\"\n    return a\n");
}

TEST(Rewrite, LambdaWithTwoReturnsIsAConditional) {
  Raw t;
  const CodeId f = t.function("<lambda>", {t.local("x")}, 1);
  t.body(f,
         {t.stmt(StmtKind::If, t.name("x", NameScope::Fast), {t.stmt(StmtKind::Return, t.num(1))}),
          t.stmt(StmtKind::Return, t.none())});
  EXPECT_EQ(t.print({t.assign("f", t.value(f))}), "f = lambda x: 1 if x else None\n");
}

TEST(Rewrite, Comprehensions) {
  Raw t;
  const CodeId f = t.function("<listcomp>", {t.local(".0"), t.local("x"), t.local("y")}, 1);
  auto fast = [&](std::string_view n) { return t.name(n, NameScope::Fast); };
  const StmtId inner =
      t.loop(fast("y"), fast("x"),
             {t.stmt(StmtKind::If, t.negated(fast("y")), {t.stmt(StmtKind::Continue)}),
              t.append(0, {fast("y")})});
  t.body(f, {t.assign(fast("tmp"), t.make(ExprKind::List, {})),
             t.loop(fast("x"), fast(".0"), {inner}), t.stmt(StmtKind::Return, fast("tmp"))});
  EXPECT_EQ(t.print({t.assign("a", t.call({t.value(f), t.name("rows")}))}),
            "a = [y for x in rows for y in x if y]\n");
}

TEST(Rewrite, GeneratorExpressionWithConditionalElement) {
  Raw t;
  const CodeId f = t.function("<genexpr>", {t.local(".0"), t.local("x")}, 1);
  auto fast = [&](std::string_view n) { return t.name(n, NameScope::Fast); };
  auto yield = [&](ExprId e) { return t.stmt(StmtKind::Expr, t.make(ExprKind::Yield, {e})); };
  t.body(f, {t.loop(fast("x"), fast(".0"),
                    {t.stmt(StmtKind::If, fast("x"), {yield(t.num(1))}, {yield(ExprId::none())})}),
             t.stmt(StmtKind::Return, t.none())});
  EXPECT_EQ(t.print({t.stmt(StmtKind::Expr,
                            t.call({t.name("sum"), t.call({t.value(f), t.name("xs")})}))}),
            "sum(1 if x else None for x in xs)\n");
}

TEST(Rewrite, LoopThatIsNoComprehensionStays) {
  Raw t;
  const StmtId loop = t.loop(t.name("x"), t.name("xs"),
                             {t.stmt(StmtKind::Expr, t.name("f")), t.append(0, {t.name("x")})});
  const std::vector<StmtId> loops = {loop};
  EXPECT_FALSE(comprehension_from_loop(t.ast, ExprKind::ListComp, loops));
}

TEST(Rewrite, ClassBodyLosesWhatTheCompilerAdds) {
  Raw t;
  const CodeId m = t.function("m", {{t.module.intern("__class__"), kFree}});
  t.body(m, {t.stmt(StmtKind::Return,
                    t.make(ExprKind::Name, {}, t.module.intern("__class__").index))});
  const CodeId c = t.code("C", 0, {{t.module.intern("__class__"), kCell}});
  t.module[m].parent = c;
  t.body(c, {t.assign("__module__", t.name("__name__")), t.assign("__qualname__", t.str("C")),
             t.assign("__doc__", t.str("Doc.")), t.assign("m", t.value(m)),
             t.assign("__classcell__",
                      t.make(ExprKind::CellRef, {}, t.module.intern("__class__").index)),
             t.stmt(StmtKind::Return,
                    t.make(ExprKind::CellRef, {}, t.module.intern("__class__").index))});
  const ExprId keyword =
      t.make(ExprKind::Keyword, {t.name("M")}, t.module.intern("metaclass").index);
  const ExprId made =
      t.call({t.make(ExprKind::ClassBuilder, {}), t.value(c), t.str("C"), t.name("B"), keyword});
  EXPECT_EQ(
      t.print({t.assign("C", made)}),
      "class C(B, metaclass=M):\n    \"\"\"Doc.\"\"\"\n\n    def m():\n        return __class__\n");
}

TEST(Rewrite, PrivateNamesOfClasses) {
  Raw t;
  const CodeId m = t.function("__m", {t.local("self")}, 1);
  const CodeId c = t.code("_C", 0);
  t.module[m].parent = c;
  t.names(m, {"_C__x", "_C__y__", "_D__x"});
  t.names(c, {"_C__m"});
  const ExprId self = t.name("self", NameScope::Fast);
  t.body(m,
         {t.stmt(StmtKind::Return,
                 t.make(ExprKind::Tuple,
                        {t.make(ExprKind::Attribute, {self}, t.module.intern("_C__x").index),
                         t.make(ExprKind::Attribute, {self}, t.module.intern("_C__y__").index),
                         t.make(ExprKind::Attribute, {self}, t.module.intern("_D__x").index)}))});
  t.body(c, {t.assign("_C__m", t.value(m))});
  EXPECT_EQ(t.print({t.assign(
                "_C", t.call({t.make(ExprKind::ClassBuilder, {}), t.value(c), t.str("_C")}))}),
            "class _C:\n    def __m(self):\n        return self.__x, self._C__y__, self._D__x\n");
}

TEST(Rewrite, Imports) {
  Raw t;
  auto module = [&](std::string_view name, int level, ExprId names) {
    return t.make(ExprKind::ImportModule, {t.num(level), names}, t.module.intern(name).index);
  };
  auto member = [&](ExprId from, std::string_view name) {
    return t.make(ExprKind::ImportedName, {from}, t.module.intern(name).index);
  };
  const ExprId m = module("m", 0,
                          t.ast.constant(t.constant(
                              ConstKind::Tuple, {},
                              {t.constant(ConstKind::Str, "a"), t.constant(ConstKind::Str, "b")})));
  const ExprId dot = module(
      "", 1, t.ast.constant(t.constant(ConstKind::Tuple, {}, {t.constant(ConstKind::Str, "a")})));
  EXPECT_EQ(
      t.print({t.assign("a", module("a.b", 0, t.none())), t.assign("x", module("a", 0, t.none())),
               t.assign("c", member(member(module("a.b.c", 0, t.none()), "b"), "c")),
               t.assign("a", member(m, "a")), t.assign("y", member(m, "b")),
               t.assign("a", member(dot, "a")),
               t.stmt(StmtKind::ImportStar,
                      module("s", 0,
                             t.ast.constant(t.constant(ConstKind::Tuple, {},
                                                       {t.constant(ConstKind::Str, "*")}))))}),
      "import a.b\nimport a as x\nimport a.b.c as c\nfrom m import a, b as y\nfrom . import "
      "a\nfrom s import *\n");
}

TEST(Rewrite, Asserts) {
  Raw t;
  const ExprId error = t.make(ExprKind::Common, {}, UINT32_MAX,
                              static_cast<std::uint8_t>(CommonConstant::AssertionError));
  EXPECT_EQ(t.print({t.stmt(StmtKind::If, t.negated(t.name("x")),
                            {t.stmt(StmtKind::Raise, t.call({error, t.str("no")}))}),
                     t.stmt(StmtKind::If, t.name("x"), {t.stmt(StmtKind::Expr, t.name("y"))},
                            {t.stmt(StmtKind::Raise, error)}),
                     t.stmt(StmtKind::Raise, error)}),
            "assert x, 'no'\nassert x\ny\nassert False\n");
}

TEST(Rewrite, AnnotationsOfVariables) {
  Raw t;
  auto store = [&](std::string_view n, ExprId type) {
    return t.assign(t.make(ExprKind::Subscript, {t.name("__annotations__"), t.str(n)}), type);
  };
  const StmtId setup = t.stmt(StmtKind::Pass);
  t.ast[setup].flag = kSetupAnnotations;
  EXPECT_EQ(t.print({setup, t.assign("x", t.num(1)), store("x", t.name("int")),
                     store("y", t.name("str"))}),
            "x: int = 1\ny: str\n");
}

TEST(Rewrite, AnnotationTextOfFutureImport) {
  Raw t;
  t.code("<module>", kFutureAnnotations);
  const StmtId setup = t.stmt(StmtKind::Pass);
  t.ast[setup].flag = kSetupAnnotations;
  EXPECT_EQ(
      t.print({setup, t.assign(t.make(ExprKind::Subscript, {t.name("__annotations__"), t.str("y")}),
                               t.str("list[int]"))}),
      "y: list[int]\n");
}

TEST(Rewrite, ConditionalAnnotationsGoBackToTheirMarks) {
  Raw t;
  const CodeId annotate = t.function("__annotate__", {t.local("format")}, 1);
  auto fast = [&](std::string_view n) { return t.name(n, NameScope::Fast); };
  const std::uint32_t in[] = {static_cast<std::uint32_t>(CompareOp::In)};
  const ExprId test = t.make(ExprKind::Compare,
                             {t.num(0), t.name("__conditional_annotations__", NameScope::Global)});
  t.ast[test].extra = t.ast.arena.copy(in);
  t.body(annotate,
         {t.assign(fast("tmp"), t.make(ExprKind::Dict, {})),
          t.stmt(StmtKind::If, test,
                 {t.assign(t.make(ExprKind::Subscript, {fast("tmp"), t.str("x")}), t.name("int"))}),
          t.stmt(StmtKind::Return, fast("tmp"))});
  const StmtId mark = t.stmt(StmtKind::Append, t.name("__conditional_annotations__"));
  t.ast[mark].flag = 1;
  const std::vector<ExprId> zero = {t.num(0)};
  t.ast[mark].list = t.ast.arena.copy(zero);
  EXPECT_EQ(t.print({t.assign("__annotate__", t.value(annotate)),
                     t.assign("__conditional_annotations__", t.make(ExprKind::Set, {})),
                     t.stmt(StmtKind::If, t.name("c"), {t.assign("x", t.num(1)), mark})}),
            "if c:\n    x: int = 1\n");
}

TEST(Rewrite, GlobalAndNonlocal) {
  Raw t;
  const CodeId inner = t.function("g", {{t.module.intern("n"), kFree}});
  const CodeId outer = t.function("f", {{t.module.intern("n"), kLocal | kCell}});
  t.module[inner].parent = outer;
  t.body(inner, {t.assign(t.name("n", NameScope::Deref), t.num(1)),
                 t.assign(t.name("m", NameScope::Global), t.num(2))});
  t.body(outer, {t.assign(t.name("n", NameScope::Deref), t.num(0)),
                 t.assign(t.name("g", NameScope::Fast), t.value(inner, {}))});
  const ExprId closure =
      t.make(ExprKind::Tuple, {t.make(ExprKind::CellRef, {}, t.module.intern("n").index)});
  t.ast[t.ast[t.ast.bodies[outer.index].stmts[1]].e[0]].kids[3] = closure;
  EXPECT_EQ(t.print({t.assign("f", t.value(outer))}),
            "def f():\n    n = 0\n\n    def g():\n        global m\n        nonlocal n\n        n "
            "= 1\n        m = 2\n");
}

TEST(Rewrite, WhatUnreachableCodeLeavesBehind) {
  Raw t;
  const CodeId f = t.code("f", kOptimized | kNewLocals | kGenerator,
                          {t.local("x"), {t.module.intern("c"), kLocal | kCell}});
  t.body(f, {t.assign(t.name("c", NameScope::Deref), t.num(0)),
             t.stmt(StmtKind::Expr, t.name("x", NameScope::Fast)),
             t.stmt(StmtKind::Return, t.none())});
  EXPECT_EQ(t.print({t.assign("f", t.value(f))}),
            "def f():\n    if False:\n        x = None\n        lambda: c\n    c = 0\n    x\n    "
            "if False:\n        yield\n");
}

TEST(Rewrite, ImpliedJumpsGo) {
  Raw t;
  const CodeId f = t.function("f", {t.local("a")}, 1);
  auto fast = [&](std::string_view n) { return t.name(n, NameScope::Fast); };
  auto expr = [&](std::string_view n) { return t.stmt(StmtKind::Expr, fast(n)); };
  const StmtId inner = t.stmt(StmtKind::If, fast("a"), {t.stmt(StmtKind::Continue)},
                              {expr("a"), t.stmt(StmtKind::Continue)});
  t.body(f, {t.loop(fast("x"), fast("a"), {inner}),
             t.stmt(StmtKind::If, fast("a"), {expr("a"), t.stmt(StmtKind::Return, t.none())},
                    {t.stmt(StmtKind::Return, t.none())})});
  EXPECT_EQ(t.print({t.assign("f", t.value(f))}),
            "def f(a):\n    for x in a:\n        if not a:\n            a\n    if a:\n        a\n");
}

TEST(Rewrite, ElseAfterReturnIsFlatButElifStays) {
  Raw t;
  const CodeId f = t.function("f", {t.local("a")}, 1);
  auto fast = [&](std::string_view n) { return t.name(n, NameScope::Fast); };
  auto give = [&](int n) { return t.stmt(StmtKind::Return, t.num(n)); };
  const StmtId last = t.stmt(StmtKind::If, fast("a"), {give(3)}, {give(4)});
  const StmtId chain = t.stmt(StmtKind::If, fast("a"), {give(1)},
                              {t.stmt(StmtKind::If, fast("a"), {give(2)}, {last})});
  const StmtId flat =
      t.stmt(StmtKind::If, fast("a"),
             {t.stmt(StmtKind::If, fast("a"), {give(5)}, {t.stmt(StmtKind::Expr, fast("a"))})});
  t.body(f, {flat, chain});
  EXPECT_EQ(t.print({t.assign("f", t.value(f))}),
            "def f(a):\n    if a:\n        if a:\n            return 5\n        a\n    if a:\n     "
            "   return 1\n    elif a:\n        return 2\n    elif a:\n"
            "        return 3\n    else:\n        return 4\n");
}

TEST(Rewrite, FormattedValuesBecomeStrings) {
  Raw t;
  const ExprId value = t.make(ExprKind::FormattedValue, {t.name("x"), {}});
  const ExprId parts =
      t.make(ExprKind::JoinedStr,
             {t.str("a"), t.str("b"), t.make(ExprKind::FormattedValue, {t.name("y"), {}})});
  EXPECT_EQ(t.print({t.assign("s", value), t.assign("u", parts)}), "s = f'{x}'\nu = f'ab{y}'\n");
}

TEST(Rewrite, FunctionValuesElsewhereAreDefinedBefore) {
  Raw t;
  const CodeId f = t.function("f");
  t.body(f, {t.stmt(StmtKind::Return, t.num(1))});
  EXPECT_EQ(t.print({t.stmt(StmtKind::Expr, t.call({t.name("use"), t.value(f), t.num(2)}))}),
            "def __function_0_f():\n    return 1\n\n\nuse(__function_0_f, 2)\n"
            "del __function_0_f\n");
}

TEST(Rewrite, DepthCostsNoStack) {
  Raw t;
  ExprId deep = t.name("x");
  for (int i = 0; i < 100000; ++i) deep = t.negated(deep);
  StmtId nested = t.stmt(StmtKind::Expr, t.name("y"));
  for (int i = 0; i < 100000; ++i) nested = t.stmt(StmtKind::If, t.name("c"), {nested});
  t.code("<module>", 0);
  t.body(t.module.root, {t.stmt(StmtKind::Expr, deep), nested});
  rewrite(t.ast, t.module.root);
  EXPECT_EQ(t.ast.bodies[t.module.root.index].stmts.size(), 2u);
}

}  // namespace
}  // namespace depyf
