// A last look at what structure/ made.
#include <algorithm>
#include <unordered_set>

#include "ast/walk.h"
#include "opcode/op_set.h"
#include "structure/graph.h"
#include "support/error.h"

namespace depyf {

namespace {

bool is_hole(const Expr& e) { return e.kind == ExprKind::Raw && e.a == UINT32_MAX; }

/// A local that has a temporary's name.
bool named_like_temporary(const Module& module, const Expr& e, std::string_view prefix) {
  return e.kind == ExprKind::Name && static_cast<NameScope>(e.op) == NameScope::Fast && module[StrId(e.a)].starts_with(prefix);
}

}  // namespace

void check_temporaries(const Ast& ast, CodeId code, std::string_view prefix) {
  const Module& module = *ast.module;
  const std::span<const StmtId> body = ast.bodies[code.index].stmts;
  if (std::none_of(ast.exprs.begin() + ast.bodies[code.index].first_expr, ast.exprs.end(),
                   [&](const Expr& e) { return is_hole(e) || named_like_temporary(module, e, prefix); }))
    return;
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
  const ExprIds all = collect_expressions(ast, body);
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
    if (is_hole(e)) throw Error("structure: a hole was left in an expression");
    if (!named_like_temporary(module, e, prefix) || stored.count(e.a)) continue;
    throw Error("structure: the temporary " + std::string(module[StrId(e.a)]) + " is read and never assigned");
  }
}

void check_nesting(const Ast& ast, CodeId code, std::uint32_t indentation) {
  constexpr std::uint32_t kBlocks = 20;  // CO_MAXBLOCKS
  struct Nested {
    std::span<const StmtId> list;
    std::uint32_t depth, blocks;
  };
  std::vector<Nested> work{{ast.bodies[code.index].stmts, 1, 0}};
  while (!work.empty()) {
    const Nested at = work.back();
    work.pop_back();
    if (at.depth > indentation) throw Error("structure: statements are nested more than " + std::to_string(indentation) + " deep");
    if (at.blocks > kBlocks) throw Error("structure: more than 20 loops, with and try statements are nested");
    for (StmtId id : at.list) {
      const Stmt& s = ast[id];
      auto add = [&](std::span<const StmtId> list, std::uint32_t depth, std::uint32_t blocks) {
        if (!list.empty()) work.push_back({list, depth, blocks});
      };
      const std::uint32_t in = at.depth + 1;
      switch (s.kind) {
        case StmtKind::If: {
          add(s.body, in, at.blocks);
          const bool elif = s.orelse.size() == 1 && ast[s.orelse[0]].kind == StmtKind::If;
          add(s.orelse, elif ? at.depth : in, at.blocks);
          break;
        }
        case StmtKind::For: case StmtKind::While:
          add(s.body, in, at.blocks + 1);
          add(s.orelse, in, at.blocks);
          break;
        case StmtKind::With: add(s.body, in, at.blocks + static_cast<std::uint32_t>(s.list.size() / 2)); break;
        case StmtKind::Match:
          for (StmtId arm : s.arms) add(ast[arm].body, in + 1, at.blocks);
          break;
        case StmtKind::Try: {
          const std::uint32_t outer = at.blocks + (s.final.empty() ? 0 : 1);
          add(s.body, in, outer + (s.arms.empty() ? 0 : 1));
          add(s.orelse, in, outer);
          add(s.final, in, at.blocks + 1);
          for (StmtId arm : s.arms) add(ast[arm].body, in, outer + (ast[arm].a != UINT32_MAX ? 2 : 1));
          break;
        }
        case StmtKind::FunctionDef: case StmtKind::ClassDef: add(s.body, in, 0); break;
        case StmtKind::Return: case StmtKind::Delete: case StmtKind::Assign: case StmtKind::AugAssign: case StmtKind::AnnAssign: case StmtKind::TypeAlias:
        case StmtKind::Raise: case StmtKind::Assert: case StmtKind::Import: case StmtKind::ImportFrom: case StmtKind::Global: case StmtKind::Nonlocal:
        case StmtKind::Expr: case StmtKind::Pass: case StmtKind::Break: case StmtKind::Continue: case StmtKind::Comment: case StmtKind::Handler:
        case StmtKind::Case: case StmtKind::Append: case StmtKind::ImportStar: break;
      }
    }
  }
}

void Structurer::check_effects() {
  static constexpr OpSet effects{Op::CALL, Op::CALL_KW, Op::CALL_EX, Op::YIELD_VALUE, Op::RAISE, Op::RETURN_VALUE};
  const std::span<const StmtId> body = ast.bodies[lifted.code.index].stmts;
  std::vector<std::uint8_t> found(module[lifted.code].code.size() + 1, 0);  // by offset
  auto find = [&](const Origin& origin) { found[std::min<std::size_t>(origin.offset, found.size() - 1)] = 1; };
  std::vector<StmtId> statements;
  collect_statements(ast, body, statements);
  std::size_t managers = 0;
  for (StmtId id : statements) {
    find(ast[id].origin);
    if (ast[id].kind == StmtKind::With && ast[id].flag == 0) managers += ast[id].list.size() / 2;
  }
  std::vector<ExprId> expressions;
  for (StmtId id : statements) append_roots(ast, id, expressions);
  collect_below(ast, expressions);
  for (ExprId id : expressions) find(ast[id].origin);
  for (BlockId b : reverse_postorder_blocks())
    for (ValueId v : nodes[b.index].body) {
      const Value& value = at(v);
      if (value.kind != ValueKind::Operation) continue;
      if (value.op == Op::WITH_ENTER && managers-- == 0) throw Error("structure: WITH_ENTER at offset " + std::to_string(value.offset) + " was lost");
      if (effects[value.op] && !found[value.offset]) throw Error("structure: " + std::string(op_name(value.op)) + " at offset " + std::to_string(value.offset) + " was lost");
    }
}

}  // namespace depyf
