#pragma once
// What the passes of rewrite/ share: the body under work and small helpers.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ast/ast.h"
#include "ast/negate.h"
#include "ast/walk.h"

namespace depyf {

/// What kind of body a code object is.
enum class Role : std::uint8_t { Module, Class, Function, Lambda, Comprehension, GenericScope };

Role role_of(const Module& module, CodeId code);

class SourceColumns;

struct Rewriter {
  Ast& ast;
  Module& module;
  CodeId code;
  const CodeObject& object;
  Role role;
  std::span<StmtId> body;

  // What find_declarations() learns from the raw body and insert_declarations() writes.
  std::vector<StrId> globals, nonlocals;
  std::vector<StrId> unbound;       // variables of this scope that no reachable statement binds
  std::vector<StrId> unused_cells;  // captured by no reachable function
  std::vector<StrId> unread;        // type parameters that no reachable code reads
  std::vector<StrId> unset;         // attributes of `self` that no reachable code sets, of a class
  bool lacks_yield = false;         // a generator without a reachable `yield`
  bool unused_namespace = false;    // a class (3.12+) whose namespace nothing reachable looks at
  bool empty_annotations = false;   // SETUP_ANNOTATIONS without a reachable annotation
  ExprId docstring;                 // class and module: what the body stored in __doc__

  std::vector<ExprId> makers;  // function values, calls of them, and awaits, each before what is
                               // inside it: for restore_definitions()
  std::optional<std::vector<std::uint32_t>> attribute_lists;  // offsets, see lists_attributes()
  bool jumps_settled = false;  // drop_implied_jumps() has nothing more to drop

  NodeKinds kinds;  // of the nodes up to next_expr and next_stmt, see may_hold
  std::uint32_t next_expr, next_stmt;
  const std::uint32_t added_expr, added_stmt;  // what the passes make has these ids or later ones

  Rewriter(Ast& tree, CodeId id);
  ~Rewriter();

  /// How the source was laid out; found when first asked for, from the body as it is then.
  const SourceColumns& columns();

  /// False: the body holds no such node, so that a pass that looks for them has nothing to do.
  /// Nodes that came into it from nested bodies have been through the passes with those.
  bool may_hold(ExprKind kind) { return look().has(kind); }
  bool may_hold(StmtKind kind) { return look().has(kind); }
  const NodeKinds& look() {
    if (next_expr < ast.exprs.size() || next_stmt < ast.stmts.size()) add_kinds();
    return kinds;
  }

  /// What structure/ made for the body, and what the passes have added.
  std::array<std::span<Expr>, 2> own_exprs() const {
    const Body& own = ast.bodies[code.index];
    const std::span<Expr> all(ast.exprs);
    const std::uint32_t end = std::min(own.end_expr, added_expr);
    return {all.subspan(own.first_expr, end - own.first_expr), all.subspan(added_expr)};
  }
  std::array<std::span<Stmt>, 2> own_stmts() const {
    const Body& own = ast.bodies[code.index];
    const std::span<Stmt> all(ast.stmts);
    const std::uint32_t end = std::min(own.end_stmt, added_stmt);
    return {all.subspan(own.first_stmt, end - own.first_stmt), all.subspan(added_stmt)};
  }

  std::string_view text(StrId id) const { return id ? module[id] : std::string_view(); }
  bool is_name(ExprId id, std::string_view name) const {
    return id && ast[id].kind == ExprKind::Name && module[StrId(ast[id].a)] == name;
  }
  const Const* constant(ExprId id) const {
    return id && ast[id].kind == ExprKind::Constant ? &module[ConstId(ast[id].a)] : nullptr;
  }
  bool is_constant(ExprId id, ConstKind kind) const {
    const Const* c = constant(id);
    return c && c->kind == kind;
  }
  bool is_none(ExprId id) const { return is_constant(id, ConstKind::None); }
  ConstId make_constant(ConstKind kind) {
    Const c;
    c.kind = kind;
    return module.add(c);
  }
  /// `chosen if True else None`: the compiler folds nothing of it into what is around.
  ExprId always(ExprId chosen) {
    const Origin origin = ast[chosen].origin;
    const ExprId test = ast.constant(make_constant(ConstKind::True), origin),
                 never = ast.constant(make_constant(ConstKind::None), origin);
    return ast.expr(ExprKind::IfExp, {test, chosen, never}, UINT32_MAX, 0, origin);
  }
  /// `return` or `return None`
  bool returns_none(StmtId id) const {
    const Stmt& s = ast[id];
    return s.kind == StmtKind::Return && (!s.e[0] || is_none(s.e[0]));
  }
  /// The code object of a FunctionValue, none for any other expression.
  CodeId function_code(ExprId id) const {
    return id && ast[id].kind == ExprKind::FunctionValue ? CodeId(ast[id].a) : CodeId::none();
  }

  /// The name of a plain `name = value`, else none.
  StrId assigned_name(const Stmt& s) const {
    if (s.kind != StmtKind::Assign || s.list.size() != 1 || ast[s.list[0]].kind != ExprKind::Name)
      return StrId::none();
    return StrId(ast[s.list[0]].a);
  }
  bool assigns(const Stmt& s, std::string_view name) const {
    const StrId assigned = assigned_name(s);
    return assigned && module[assigned] == name;
  }

  StmtId add_statement(StmtKind kind, Origin origin = {}) {
    Stmt s;
    s.kind = kind;
    s.origin = origin;
    return ast.add(s);
  }
  std::span<StmtId> one(StmtId id) {
    const StmtId ids[] = {id};
    return ast.arena.copy(ids);
  }

  /// Calls `change` with every list of statements below the body, inner ones first; what it returns
  /// true for is written back. The arms of Try and Match are no such lists.
  template <class Change>
  void edit_lists(Change change) {
    ListRefs refs;
    collect_lists(ast, body, refs);
    edit_lists(refs, change);
  }
  /// The same where the lists are known.
  template <class Change>
  void edit_lists(const ListRefs& refs, Change change) {
    std::vector<StmtId> list;
    for (std::size_t i = refs.size(); i-- > 0;) {
      if (refs[i].which == ListRef::Arms) continue;
      const std::span<const StmtId> old = refs[i].owner ? list_of(ast, refs[i]) : body;
      list.assign(old.begin(), old.end());
      if (!change(list)) continue;
      const std::span<StmtId> made = ast.arena.copy(list);
      if (refs[i].owner) {
        list_of(ast, refs[i]) = made;
      } else {
        body = made;
      }
    }
  }

  /// `into` takes over the bytecode offsets of `from`, which it replaces.
  void absorb(StmtId into, StmtId from);

 private:
  void add_kinds();

  std::unique_ptr<SourceColumns> columns_;
};

/// Does a function or class that the body makes take the variable from it? What else is among the
/// constants is left of code that was removed (up to 3.11). After find_declarations().
bool is_taken_inside(const Rewriter& r, std::string_view name);

/// `name` as it is written inside code object `scope`: without the prefix that the class around it
/// adds to private names.
StrId unmangled(Module& module, CodeId scope, StrId name);

/// `name`, which unmangled() gave, or `spelt` where that is the same name to the compiler: a string
/// that bytecode keeps as it was written tells `def _C__x` in class C from `def __x`.
StrId as_spelt(Module& module, CodeId scope, StrId name, StrId spelt);

/// The value of a body that only returns one, with `if` statements read as conditional expressions;
/// none when it does more. A guard `if format > 2: raise NotImplementedError` of annotation
/// functions is passed over.
ExprId body_as_expression(Rewriter& r, std::span<const StmtId> body);

// The passes, in the order of rewrite.cpp.
void separate_locals(Rewriter& r);
void unmangle_names(Rewriter& r);
void find_declarations(Rewriter& r);
/// Throws where the body comes to more than Ast::bounds lets be written.
void count_written(Rewriter& r);
void restore_annotations(Rewriter& r);
void restore_definitions(Rewriter& r);
void restore_imports(Rewriter& r);
void restore_asserts(Rewriter& r);
void restore_strings(Rewriter& r);
void restore_numbers(Rewriter& r);
void restore_walruses(Rewriter& r);
void clean_scope_body(Rewriter& r);
/// Is it the compiler's own `__static_attributes__ = (…)` at the end of a class body (3.13 on)?
bool lists_attributes(Rewriter& r, const Stmt& s);
void refuse_returns(Rewriter& r);  // a `return` in a module or class
void drop_implied_jumps(Rewriter& r);
void tidy_conditions(Rewriter& r);
void place_negations(Rewriter& r);
void order_annotations(Rewriter& r);  // throws where their order cannot be kept
void reach_odd_names(Rewriter& r);
void insert_declarations(Rewriter& r);
void insert_docstring(Rewriter& r);

/// `if False: yield`, which makes a generator of a function.
StmtId never_yields(Rewriter& r);
/// `if False: name`, which makes a free variable of each name.
StmtId never_reads(Rewriter& r, std::span<const StrId> names);
/// `value if True else name`: the compiler makes a free variable of a name that it then drops.
ExprId with_unread(Rewriter& r, ExprId value, std::span<const StrId> names);
/// Adds the names of `nonlocal`, or of the names below `if False:`; is it one of these? A name is
/// declared global beside a comprehension's variable of that name, which hides it nowhere else.
bool declares(const Rewriter& r, const Stmt& s, std::vector<StrId>& unread);

}  // namespace depyf
