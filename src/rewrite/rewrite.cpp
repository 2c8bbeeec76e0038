#include "rewrite/rewrite.h"

#include "rewrite/rewriter.h"
#include "rewrite/source_columns.h"
#include "support/error.h"

namespace depyf {
namespace {

struct Pass {
  const char* name;
  void (*run)(Rewriter&);
};

/// In this order: names and scopes are read from the raw body, but for the global that `assert`
/// raises up to 3.8; then definitions swallow what made them, then the rest is tidied.
constexpr Pass kPasses[] = {
    {"restore asserts", restore_asserts},
    {"separate locals", separate_locals},
    {"unmangle names", unmangle_names},
    {"find declarations", find_declarations},
    {"count written", count_written},
    {"restore annotations", restore_annotations},
    {"restore definitions", restore_definitions},
    {"restore imports", restore_imports},
    {"restore strings", restore_strings},
    {"restore numbers", restore_numbers},
    {"restore walruses", restore_walruses},
    {"clean scope body", clean_scope_body},
    {"drop implied jumps", drop_implied_jumps},
    {"tidy conditions", tidy_conditions},
    {"drop implied jumps", drop_implied_jumps},  // of what has come to the end of a list
    {"place negations", place_negations},
    {"order annotations", order_annotations},
    {"refuse returns", refuse_returns},
    {"reach odd names", reach_odd_names},
    {"insert declarations", insert_declarations},
    {"insert docstring", insert_docstring},
};

}  // namespace

Role role_of(const Module& module, CodeId id) {
  const CodeObject& code = module[id];
  if (!(code.flags & kOptimized))
    return code.parent || module[code.name] != "<module>" ? Role::Class : Role::Module;
  const std::string_view name = module[code.name];
  if (name.empty() || name[0] != '<') return Role::Function;
  if (name == "<lambda>") return Role::Lambda;
  if (name == "<listcomp>" || name == "<setcomp>" || name == "<dictcomp>" || name == "<genexpr>")
    return Role::Comprehension;
  if (name.starts_with("<generic parameters of ")) return Role::GenericScope;
  return Role::Function;
}

Rewriter::Rewriter(Ast& tree, CodeId id)
    : ast(tree),
      module(*tree.module),
      code(id),
      object((*tree.module)[id]),
      role(role_of(*tree.module, id)),
      body(tree.bodies[id.index].stmts),
      next_expr(static_cast<std::uint32_t>(tree.exprs.size())),
      next_stmt(static_cast<std::uint32_t>(tree.stmts.size())),
      added_expr(next_expr),
      added_stmt(next_stmt) {
  const std::span<const Expr> exprs = own_exprs()[0];
  const std::span<const Stmt> stmts = own_stmts()[0];
  for (const Expr& e : exprs) kinds.exprs |= mask(e.kind);
  for (const Stmt& s : stmts) kinds.stmts |= mask(s.kind);
}

void Rewriter::add_kinds() {
  for (const Expr& e : std::span(ast.exprs).subspan(next_expr)) kinds.exprs |= mask(e.kind);
  for (const Stmt& s : std::span(ast.stmts).subspan(next_stmt)) kinds.stmts |= mask(s.kind);
  next_expr = static_cast<std::uint32_t>(ast.exprs.size());
  next_stmt = static_cast<std::uint32_t>(ast.stmts.size());
}

Rewriter::~Rewriter() = default;

const SourceColumns& Rewriter::columns() {
  if (!columns_) columns_ = std::make_unique<SourceColumns>(*this);
  return *columns_;
}

void Rewriter::absorb(StmtId into, StmtId from) {
  Stmt& a = ast[into];
  const Stmt& b = ast[from];
  const bool elsewhere = b.origin.offset == UINT32_MAX || b.origin.code != a.origin.code;
  if (into == from || (elsewhere && b.absorbed.empty())) return;
  SmallVector<std::uint32_t, 16> all;
  all.append(a.absorbed);
  if (!elsewhere) all.push_back(b.origin.offset);
  all.append(b.absorbed);
  a.absorbed = ast.arena.copy(all);
}

std::string WrittenBounds::exceeded_by(const Written& written) const {
  constexpr const char* kEnd = " when they are written out";
  if (written.definitions > most.definitions)
    return "more than " + std::to_string(most.definitions) + " code objects" + kEnd;
  if (written.literals > most.literals)
    return "constants of more than " + std::to_string(most.literals) + " elements" + kEnd;
  return {};
}

void count_written(Rewriter& r) {
  const WrittenBounds& bounds = r.ast.bounds;
  Written out = bounds.own_of(r.module, r.code);
  for (ExprId maker : r.makers)
    if (const CodeId code = r.function_code(maker)) out.add(r.ast.bodies[code.index].written);
  r.ast.bodies[r.code.index].written = out;
  const std::string reason = bounds.exceeded_by(out);
  if (reason.empty()) return;
  r.ast.too_large = reason;  // also where a lower rung comes to less
  throw Error(reason);
}

void rewrite(Ast& ast, CodeId code) {
  if (ast.bodies[code.index].done) return;
  Rewriter r(ast, code);
  for (const Pass& pass : kPasses) pass.run(r);
  Body& body = ast.bodies[code.index];
  body.stmts = r.body;
  body.done = true;
}

}  // namespace depyf
