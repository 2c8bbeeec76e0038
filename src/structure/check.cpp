// A last look at what structure/ made.
#include <unordered_set>

#include "ast/walk.h"
#include "structure/graph.h"
#include "support/error.h"

namespace depyf {

void check_temporaries(const Ast& ast, CodeId code, std::string_view prefix) {
  const Module& module = *ast.module;
  const std::span<const StmtId> body = ast.bodies[code.index].stmts;
  std::vector<StmtId> statements;
  collect_statements(ast, body, statements);
  std::vector<ExprId> targets;
  auto add = [&](ExprId id) {
    if (id) targets.push_back(id);
  };
  for (StmtId id : statements) {
    const Stmt& s = ast[id];
    if (s.kind == StmtKind::Assign) targets.insert(targets.end(), s.list.begin(), s.list.end());
    else if (s.kind == StmtKind::For || s.kind == StmtKind::AugAssign || s.kind == StmtKind::AnnAssign) add(s.e[0]);
    else if (s.kind == StmtKind::With)
      for (std::size_t i = 1; i < s.list.size(); i += 2) add(s.list[i]);
  }
  const std::vector<ExprId> all = collect_expressions(ast, body);
  for (ExprId id : all)
    if (ast[id].kind == ExprKind::NamedExpr || ast[id].kind == ExprKind::Comprehension) add(ast[id].kids[0]);
  std::unordered_set<std::uint32_t> stored;
  while (!targets.empty()) {
    const Expr& e = ast[targets.back()];
    targets.pop_back();
    if (e.kind == ExprKind::Name) stored.insert(e.a);
    else if (e.kind == ExprKind::Tuple || e.kind == ExprKind::List || e.kind == ExprKind::Starred) targets.insert(targets.end(), e.kids.begin(), e.kids.end());
  }
  for (StmtId id : statements)
    if (ast[id].kind == StmtKind::Handler && ast[id].a != UINT32_MAX) stored.insert(ast[id].a);
  for (const Slot& slot : module[code].slots) stored.insert(slot.name.index);
  for (ExprId id : all) {
    const Expr& e = ast[id];
    if (e.kind == ExprKind::Raw && e.a == UINT32_MAX) throw Error("structure: a hole was left in an expression");
    if (e.kind != ExprKind::Name || static_cast<NameScope>(e.op) != NameScope::Fast || stored.count(e.a) || !module[StrId(e.a)].starts_with(prefix)) continue;
    throw Error("structure: the temporary " + std::string(module[StrId(e.a)]) + " is read and never assigned");
  }
}

void Structurer::check_effects() {
  const std::span<const StmtId> body = ast.bodies[lifted.code.index].stmts;
  std::unordered_set<std::uint32_t> found;
  std::vector<StmtId> statements;
  collect_statements(ast, body, statements);
  std::size_t managers = 0;
  for (StmtId id : statements) {
    found.insert(ast[id].origin.offset);
    if (ast[id].kind == StmtKind::With && ast[id].flag == 0) managers += ast[id].list.size() / 2;
  }
  for (ExprId id : collect_expressions(ast, body)) found.insert(ast[id].origin.offset);
  for (BlockId b : reverse_postorder_blocks())
    for (ValueId v : nodes[b.index].body) {
      if (is_op(v, Op::WITH_ENTER) && managers-- == 0) throw Error("structure: WITH_ENTER at offset " + std::to_string(at(v).offset) + " was lost");
      if ((is_op(v, Op::CALL) || is_op(v, Op::CALL_KW) || is_op(v, Op::CALL_EX) || is_op(v, Op::YIELD_VALUE)) &&
          !found.count(at(v).offset))
        throw Error("structure: " + std::string(op_name(at(v).op)) + " at offset " + std::to_string(at(v).offset) + " was lost");
    }
}

}  // namespace depyf
