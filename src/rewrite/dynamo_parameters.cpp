#include "rewrite/dynamo_parameters.h"

#include <vector>

#include "ast/walk.h"

namespace depyf {
namespace {

bool is_fast(const Expr& e) {
  return e.kind == ExprKind::Name && static_cast<NameScope>(e.op) == NameScope::Fast;
}

/// `p = p`
bool keeps(const Ast& ast, const Stmt& s) {
  return s.list.size() == 1 && is_fast(ast[s.list[0]]) && is_fast(ast[s.e[0]]) &&
         ast[s.list[0]].a == ast[s.e[0]].a;
}

/// Adds the names that a statement binds or deletes; false where it binds names in a way that
/// Dynamo's own code does not need.
bool add_changed(const Ast& ast, const Stmt& s, std::unordered_set<std::uint32_t>& changed) {
  switch (s.kind) {
    case StmtKind::Assign:
      if (!keeps(ast, s))
        for (ExprId target : s.list) add_bound_names(ast, target, changed);
      return true;
    case StmtKind::Delete:
      for (ExprId target : s.list) add_bound_names(ast, target, changed);
      return true;
    case StmtKind::For:
    case StmtKind::AugAssign:
    case StmtKind::AnnAssign:
      add_bound_names(ast, s.e[0], changed);
      return true;
    case StmtKind::With:
      for (std::size_t i = 1; i < s.list.size(); i += 2) add_bound_names(ast, s.list[i], changed);
      return true;
    case StmtKind::Handler:
    case StmtKind::FunctionDef:
    case StmtKind::ClassDef:
      changed.insert(s.a);
      return true;
    case StmtKind::Return:
    case StmtKind::Raise:
    case StmtKind::Assert:
    case StmtKind::Nonlocal:
    case StmtKind::Expr:
    case StmtKind::Pass:
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Comment:
    case StmtKind::While:
    case StmtKind::If:
    case StmtKind::Try:
      return true;
    case StmtKind::TypeAlias:
    case StmtKind::Import:
    case StmtKind::ImportFrom:
    case StmtKind::ImportStar:
    case StmtKind::Global:
    case StmtKind::Append:
    case StmtKind::Match:
    case StmtKind::Case:
      return false;
  }
  return false;
}

}  // namespace

void add_bound_names(const Ast& ast, ExprId target, std::unordered_set<std::uint32_t>& names) {
  std::vector<ExprId> work{target};
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (!id) continue;
    const Expr& e = ast[id];
    if (e.kind == ExprKind::Name) names.insert(e.a);
    if (e.kind == ExprKind::Tuple || e.kind == ExprKind::List || e.kind == ExprKind::Starred)
      work.insert(work.end(), e.kids.begin(), e.kids.end());
  }
}

std::unordered_set<std::uint32_t> settled_parameters(const Ast& ast, CodeId code) {
  std::unordered_set<std::uint32_t> changed, found;
  const std::span<const StmtId> body = ast.bodies[code.index].stmts;
  StmtIds statements;
  collect_statements(ast, body, statements);
  for (StmtId id : statements)
    if (!add_changed(ast, ast[id], changed)) return {};
  for (ExprId id : collect_expressions(ast, body))
    if (ast[id].kind == ExprKind::NamedExpr || ast[id].kind == ExprKind::Comprehension)
      add_bound_names(ast, ast[id].kids[0], changed);
  const CodeObject& object = (*ast.module)[code];
  const auto arguments = static_cast<std::uint32_t>(object.parameter_count());
  for (std::uint32_t i = 0; i < object.slots.size() && i < arguments; ++i) {
    const Slot& slot = object.slots[i];
    if (slot.kind == kLocal && !changed.count(slot.name.index)) found.insert(slot.name.index);
  }
  return found;
}

}  // namespace depyf
