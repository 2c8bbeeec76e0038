#pragma once
// The syntax tree: nodes in vectors, children by id, arrays in an arena.
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "opcode/op.h"
#include "pyc/code_object.h"
#include "support/append.h"
#include "support/arena.h"
#include "support/checked_vector.h"

namespace depyf {

// Groups of ast.def's statements; macros, since they choose by #if.
#define STMT_DEFINITIONS 1
#define STMT_SIMPLE 2
#define STMT_COMPOUND 4
#define STMT_PARTS 8
#define STMT_ALL 15

enum class ExprKind : std::uint8_t {
#define EXPR(name, a) name,
#define PATTERN(name, a) name,
#include "ast/ast.def"
};

enum class StmtKind : std::uint8_t {
#define STMT(name) name,
#include "ast/ast.def"
};

/// What field `a` of an expression holds: an id, or nothing but a mark.
enum class FieldA : std::uint8_t { Nothing, Const, Str, Code, Function };

constexpr FieldA field_a(ExprKind kind) {
  constexpr FieldA fields[] = {
#define EXPR(name, a) FieldA::a,
#define PATTERN(name, a) FieldA::a,
#include "ast/ast.def"
  };
  return fields[static_cast<std::uint8_t>(kind)];
}

/// Which operation loads, stores or deletes a Name: rewrite/ derives `global` and `nonlocal` from
/// it.
enum class NameScope : std::uint8_t { Fast, Deref, Global, Name, ClassDeref };

/// Expr::op of a Tuple whose items stand on rows of their own: two of them in a row are stores to
/// one variable (of which 3.13+ drops the first on one row), or locals that a parallel assignment
/// stores in the order of the targets (3.11+ reverses it on one row). Of a comprehension that
/// stands on a row below its target: 3.12+ stores the target last there.
constexpr std::uint8_t kOnRows = 1;

/// Expr::a of a BoolOp that is an operand of another one (the first in parentheses): does it
/// begin a row? 3.10 and 3.11 test a value that both jump on once where both are of one row, else
/// twice. kInner: it stands in parentheses, on whatever rows (3.14).
constexpr std::uint32_t kBeginsRow = 1, kOnSameRow = 2, kInner = 3;

/// How an integer is spelt: Expr::op of a Constant.
enum class IntegerStyle : std::uint8_t { Decimal, Hexadecimal, Octal, Binary, Thousands };

/// Where a node comes from: the byte offset of the operation that made it, its line and columns
/// (LineCursor::columns()), and the code object that holds it. UINT32_MAX: nowhere.
struct Origin {
  std::uint32_t offset = UINT32_MAX;
  std::int32_t line = 0;
  CodeId code = {};
  std::uint32_t columns = 0;
};

struct Expr {
  ExprKind kind = ExprKind::Constant;
  std::uint8_t op = 0;
  std::uint16_t nesting =
      0;  // structure/: how deep the operands nest (StructureGraph::nesting), 0 until somebody asks
  std::uint32_t a = UINT32_MAX;  // ConstId, StrId, CodeId or index, as ast.def says
  std::span<ExprId> kids;
  std::span<std::uint32_t> extra;
  Origin origin;
};

/// Stmt::flag of an If: the bytecode shows that it had an `else`.
constexpr std::uint8_t kElseWritten = 1;

/// Stmt::flag of a Continue: a jump of the bytecode, where the end of the loop's body would do.
constexpr std::uint8_t kJumpWritten = 1;

/// Stmt::level of an If whose body is what the bytecode goes on with after the test: so it was
/// written.
constexpr std::uint32_t kBodyKnown = 1;

struct Stmt {
  StmtKind kind = StmtKind::Pass;
  std::uint8_t flag = 0;
  std::uint32_t a = UINT32_MAX;
  std::uint32_t level = 0;              // ImportFrom; If: kBodyKnown or 0
  std::uint32_t function = UINT32_MAX;  // FunctionDef
  std::array<ExprId, 3> e;
  std::span<ExprId> list;
  std::span<std::uint32_t> extra;          // names; ClassDef: decorators as ExprId indices
  std::uint32_t type_params = UINT32_MAX;  // ClassDef, TypeAlias: index in Ast::type_param_lists
  std::span<StmtId> body, orelse, final, arms;
  Origin origin;
  std::span<std::uint32_t>
      absorbed;  // byte offsets, in the same code object, of statements that this one has replaced
};

enum class ParamKind : std::uint8_t {
  PositionalOnly,
  Positional,
  VarArgs,
  KeywordOnly,
  VarKeywords
};

struct Parameter {
  StrId name;
  ParamKind kind = ParamKind::Positional;
  ExprId annotation, default_value;
};

enum class TypeParamKind : std::uint8_t { TypeVar, ParamSpec, TypeVarTuple };

struct TypeParam {
  StrId name;
  TypeParamKind kind = TypeParamKind::TypeVar;
  ExprId bound, default_value;
};

/// What FunctionDef and Lambda share.
struct Function {
  CodeId code;
  std::vector<Parameter> parameters;
  std::vector<TypeParam> type_params;
  // Where the source had the defaults of positional parameters, as far as the bytecode tells (3.10
  // to 3.13; where all are constants).
  std::uint32_t default_rows = kUnknownRows;  // lines that they were on; 0: on the line of `def`
  bool defaults_begin_with_def = false;       // the first of several is on that line
  static constexpr std::uint32_t kUnknownRows = UINT32_MAX;
};

/// Sets of node kinds, as masks.
struct NodeKinds {
  std::uint64_t exprs = 0, stmts = 0;
  constexpr bool has(ExprKind kind) const { return exprs >> static_cast<unsigned>(kind) & 1; }
  constexpr bool has(StmtKind kind) const { return stmts >> static_cast<unsigned>(kind) & 1; }
};
constexpr std::uint64_t mask(ExprKind kind) {
  return std::uint64_t{1} << static_cast<unsigned>(kind);
}
constexpr std::uint64_t mask(StmtKind kind) {
  return std::uint64_t{1} << static_cast<unsigned>(kind);
}

/// What a code object comes to when it is written out, with what is defined in it.
struct Written {
  std::uint64_t literals = 0, definitions = 0;

  void add(const Written& part) {
    constexpr std::uint64_t kCeiling = std::uint64_t{1} << 40;  // sums of it do not wrap
    literals = std::min(literals + part.literals, kCeiling);
    definitions = std::min(definitions + part.definitions, kCeiling);
  }
};

/// How much is written out at most, see pipeline/written_size.h.
struct WrittenBounds {
  Written most{UINT64_MAX, UINT64_MAX};
  std::uint64_t literals_of_unit = 0;  // so many at most for a code unit
  std::vector<std::uint64_t> own;      // by code object: literals without what is defined in it;
                                       // empty: literals_of_unit tells

  Written own_of(const Module& module, CodeId code) const {
    return {own.empty() ? literals_of_unit * (module[code].code.size() / 2) : own[code.index], 1};
  }
  /// Why that is too much, or nothing.
  std::string exceeded_by(const Written& written) const;
};

/// The body of one code object, after structure/ (raw) and after rewrite/ (final).
struct Body {
  CodeId code;
  std::span<StmtId> stmts;
  bool done = false;     // rewritten
  bool rebuilt = false;  // from its marshalled form (L6): an async generator's body returns one
  // What structure/ made for it: from these ids on,
  std::uint32_t first_expr = 0, first_stmt = 0;
  // up to these; none: up to where rewriting begins.
  std::uint32_t end_expr = UINT32_MAX, end_stmt = UINT32_MAX;
  std::vector<StrId> outer_globals, outer_nonlocals;  // what the nearest enclosing `def` has to
                                                      // declare for a lambda or comprehension
  Written written;
  std::vector<StrId> unread;  // free variables of a lambda or comprehension that nothing reads
  // Locals that its inlined comprehensions alone have, once somebody asked.
  std::optional<std::vector<StrId>> in_comprehensions;
};

struct Diagnostic {
  enum Kind : std::uint8_t { Ladder, BrokenCode, Note } kind = Note;
  std::uint8_t level = 0;  // Ladder: 1 … 6; BrokenCode: 6 where code around it can be rebuilt
  CodeId code;
  std::uint32_t offset = 0;
  std::string message;
};

/// A name in the text, what the bytecode has, and whether that is a global.
struct ReadableName {
  StrId given, real;
  bool global = false;
};

struct Ast {
  Module* module = nullptr;
  Arena arena;
  CheckedVector<Expr> exprs;
  CheckedVector<Stmt> stmts;
  CheckedVector<Function> functions;
  CheckedVector<std::vector<TypeParam>> type_param_lists;  // see Stmt::type_params
  CheckedVector<Body> bodies;                              // by CodeId
  std::vector<Diagnostic> diagnostics;
  WrittenBounds bounds;
  std::string too_large;  // what count_written() said of the last body that it refused
  std::string function_prefix = "__function_";  // of functions that only the output has
  /// Locals that share their name with a global of the same code: what they are called here, and
  /// their name.
  std::vector<std::pair<StrId, StrId>> separated;
  /// Names that stand for those which Dynamo gave (rewrite/dynamo_names.h).
  std::vector<ReadableName> readable;
  /// Names that no source can hold are left to the printer, which renames them.
  bool renames = false;
  std::unordered_set<std::uint32_t> bound_names;  // of all code objects; for builtin()
  std::optional<std::unordered_set<std::uint32_t>> plain_classes;  // the same
  std::unordered_set<std::uint32_t> first_names;  // find_first_names(), where it was asked for

  Expr& operator[](ExprId id) { return exprs[id.index]; }
  const Expr& operator[](ExprId id) const { return exprs[id.index]; }
  Stmt& operator[](StmtId id) { return stmts[id.index]; }
  const Stmt& operator[](StmtId id) const { return stmts[id.index]; }

  ExprId add(Expr e) {
    e.nesting = 0;  // it may be a changed copy
    append(exprs) = e;
    return ExprId(static_cast<std::uint32_t>(exprs.size() - 1));
  }
  StmtId add(const Stmt& s) {
    stmts.push_back(s);
    return StmtId(static_cast<std::uint32_t>(stmts.size() - 1));
  }
  /// Over operands that lie in the arena. The node is made where it stays.
  ExprId expr_over(ExprKind kind, std::span<ExprId> kids, std::uint32_t a = UINT32_MAX,
                   std::uint8_t op = 0, Origin origin = {}) {
    Expr& e = append(exprs);
    e.kind = kind;
    e.op = op;
    e.a = a;
    e.kids = kids;
    e.origin = origin;
    return ExprId(static_cast<std::uint32_t>(exprs.size() - 1));
  }
  ExprId expr(ExprKind kind, std::span<const ExprId> kids, std::uint32_t a = UINT32_MAX,
              std::uint8_t op = 0, Origin origin = {}) {
    return expr_over(kind, arena.copy(kids), a, op, origin);
  }
  ExprId expr(ExprKind kind, std::initializer_list<ExprId> kids, std::uint32_t a = UINT32_MAX,
              std::uint8_t op = 0, Origin origin = {}) {
    return expr_over(kind, arena.copy(kids), a, op, origin);
  }
  StmtId stmt(StmtKind kind, Origin origin = {}) {
    Stmt& s = append(stmts);
    s.kind = kind;
    s.origin = origin;
    return StmtId(static_cast<std::uint32_t>(stmts.size() - 1));
  }
  StmtId assign(std::span<const ExprId> targets, ExprId value, Origin origin = {}) {
    const StmtId id = stmt(StmtKind::Assign, origin);
    stmts.back().list = arena.copy(targets);
    stmts.back().e[0] = value;
    return id;
  }
  StmtId assign(ExprId target, ExprId value, Origin origin = {}) {
    return assign(std::span<const ExprId>(&target, 1), value, origin);
  }
  ExprId compare(CompareOp op, ExprId a, ExprId b, Origin origin = {}) {
    const ExprId id = expr(ExprKind::Compare, {a, b}, UINT32_MAX, 0, origin);
    const std::uint32_t ops[] = {static_cast<std::uint32_t>(op)};
    exprs.back().extra = arena.copy(ops);
    return id;
  }
  ExprId name(StrId id, Origin origin = {}) {
    return expr(ExprKind::Name, {}, id.index, 0, origin);
  }
  ExprId constant(ConstId id, Origin origin = {}) {
    return expr(ExprKind::Constant, {}, id.index, 0, origin);
  }
};

}  // namespace depyf
