// A last look at what structure/ made.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ast/walk.h"
#include "opcode/op_set.h"
#include "structure/check.h"
#include "structure/graph.h"
#include "support/error.h"

namespace depyf {

namespace {

bool is_hole(const Expr& e) { return e.kind == ExprKind::Raw && e.a == UINT32_MAX; }

/// A local that has a temporary's name.
bool named_like_temporary(const Module& module, const Expr& e, std::string_view prefix) {
  return e.kind == ExprKind::Name && static_cast<NameScope>(e.op) == NameScope::Fast &&
         module[StrId(e.a)].starts_with(prefix);
}

}  // namespace

void check_temporaries(StructureGraph& s) {
  if (!s.temporaries.made) return;
  const std::span<const StmtId> body = s.ast.bodies[s.lifted.code.index].stmts;
  StmtIds statements;
  collect_statements(s.ast, body, statements);
  std::vector<ExprId> targets;
  auto add = [&](ExprId id) {
    if (id) targets.push_back(id);
  };
  for (StmtId id : statements) {
    const Stmt& statement = s.ast[id];
    if (statement.kind == StmtKind::Assign)
      targets.insert(targets.end(), statement.list.begin(), statement.list.end());
    else if (statement.kind == StmtKind::For || statement.kind == StmtKind::AugAssign ||
             statement.kind == StmtKind::AnnAssign)
      add(statement.e[0]);
    else if (statement.kind == StmtKind::With)
      for (std::size_t i = 1; i < statement.list.size(); i += 2) add(statement.list[i]);
  }
  const ExprIds all = collect_expressions(s.ast, body);
  for (ExprId id : all)
    if (s.ast[id].kind == ExprKind::NamedExpr || s.ast[id].kind == ExprKind::Comprehension)
      add(s.ast[id].kids[0]);
  std::unordered_set<std::uint32_t> stored;
  while (!targets.empty()) {
    const Expr& e = s.ast[targets.back()];
    targets.pop_back();
    if (e.kind == ExprKind::Name)
      stored.insert(e.a);
    else if (e.kind == ExprKind::Tuple || e.kind == ExprKind::List || e.kind == ExprKind::Starred)
      targets.insert(targets.end(), e.kids.begin(), e.kids.end());
  }
  for (StmtId id : statements)
    if (s.ast[id].kind == StmtKind::Handler && s.ast[id].a != UINT32_MAX)
      stored.insert(s.ast[id].a);
  for (const Slot& slot : s.module[s.lifted.code].slots) stored.insert(slot.name.index);
  for (ExprId id : all) {
    const Expr& e = s.ast[id];
    if (!named_like_temporary(s.module, e, s.options.temp_prefix) || stored.count(e.a)) continue;
    throw Error("structure: the temporary " + std::string(s.module[StrId(e.a)]) +
                " is read and never assigned");
  }
}

void check_graph(StructureGraph& s, std::string_view step) {
  const auto wrong = [&](std::size_t node, const char* what) {
    throw Error("structure: after the step " + std::string(step) + " node " + std::to_string(node) +
                " " + what);
  };
  std::vector<std::uint8_t> held(s.lifted.values.size(), 0);
  std::vector<std::uint32_t> ways(s.nodes.size(), 0);
  ++ways[s.entry.index];
  for (const StructRegion& region : s.regions)
    if (region.catches()) ++ways[region.handler.index];
  for (BlockId b : s.reverse_postorder_blocks()) {
    const Node& node = s.nodes[b.index];
    if (!node.alive) wrong(b.index, "is reached, and was removed");
    if (node.region && node.region.index >= s.regions.size()) wrong(b.index, "has no such region");
    for (ValueId v : node.body) {
      if (!v || std::exchange(held[v.index], 1) != 0)
        wrong(b.index, "has an operation that another place has, too");
      if (s.at(v).block != b) wrong(b.index, "has an operation of another block");
    }
    for (int k = 0; k < node.edge_count(); ++k) {
      const Edge& edge = node.edges[k];
      if (!edge.to || edge.to.index >= s.nodes.size()) wrong(b.index, "leads nowhere");
      if (edge.args.size() != s.nodes[edge.to.index].params.size())
        wrong(b.index, "hands on another number of values than the next one takes");
    }
  }
  for (std::size_t i = 0; i < s.nodes.size(); ++i)
    for (int k = 0; s.nodes[i].alive && k < s.nodes[i].edge_count(); ++k)
      ++ways[s.nodes[i].edges[k].to.index];
  for (std::size_t i = 0; s.counted() && i < s.nodes.size(); ++i)
    if (s.nodes[i].alive && s.nodes[i].pred_count != ways[i])
      wrong(i, "has another number of ways in than was counted");
}

void check_nesting(const Ast& ast, CodeId code, std::uint32_t indentation) {
  constexpr std::uint32_t kBlocks = 20;  // CO_MAXBLOCKS
  struct Nested {
    std::span<const StmtId> list;
    std::uint32_t depth, blocks;
  };
  SmallVector<Nested, 32> work{{ast.bodies[code.index].stmts, 1, 0}};
  while (!work.empty()) {
    const Nested at = work.back();
    work.pop_back();
    if (at.depth > indentation)
      throw Error("structure: statements are nested more than " + std::to_string(indentation) +
                  " deep");
    if (at.blocks > kBlocks)
      throw Error("structure: more than 20 loops, with and try statements are nested");
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
        case StmtKind::For:
        case StmtKind::While:
          add(s.body, in, at.blocks + 1);
          add(s.orelse, in, at.blocks);
          break;
        case StmtKind::With:
          add(s.body, in, at.blocks + static_cast<std::uint32_t>(s.list.size() / 2));
          break;
        case StmtKind::Match:
          for (StmtId arm : s.arms) add(ast[arm].body, in + 1, at.blocks);
          break;
        case StmtKind::Try: {
          const std::uint32_t outer = at.blocks + (s.final.empty() ? 0 : 1);
          add(s.body, in, outer + (s.arms.empty() ? 0 : 1));
          add(s.orelse, in, outer);
          add(s.final, in, at.blocks + 1);
          for (StmtId arm : s.arms)
            add(ast[arm].body, in, outer + (ast[arm].a != UINT32_MAX ? 2 : 1));
          break;
        }
        case StmtKind::FunctionDef:
        case StmtKind::ClassDef:
          add(s.body, in, 0);
          break;
#define STMT(name) case StmtKind::name:
#define STMT_GROUPS (STMT_SIMPLE | STMT_PARTS)
#include "ast/ast.def"
          break;  // a part is looked into with its statement
      }
    }
  }
}

void check_effects(StructureGraph& s) {
  static constexpr OpSet effects{Op::CALL,  Op::CALL_KW,      Op::CALL_EX,   Op::YIELD_VALUE,
                                 Op::RAISE, Op::RETURN_VALUE, Op::WITH_ENTER};
  SmallVector<bool, 1024> found(s.module[s.lifted.code].code.size() + 1);  // by offset
  const auto find = [found = found.data(), last = found.size() - 1](const Origin& origin) {
    found[std::min<std::size_t>(origin.offset, last)] = true;
  };
  std::size_t managers = 0;
  bool holes = false;
  SmallVector<std::span<const ExprId>, 64> inner;  // still to be looked into
  const Expr* const exprs = s.ast.exprs.data();
  const auto visit = [&](std::span<const ExprId> ids) {
    for (ExprId id : ids) {
      if (!id) continue;
      const Expr& e = exprs[id.index];
      if (e.kind == ExprKind::Name || e.kind == ExprKind::Constant) continue;
      find(e.origin);
      if (!e.kids.empty())
        inner.push_back(e.kids);
      else
        holes |= is_hole(e);
    }
  };
  SmallVector<std::span<const StmtId>, 32> lists{s.ast.bodies[s.lifted.code.index].stmts};
  while (!lists.empty()) {
    const std::span<const StmtId> list = lists.back();
    lists.pop_back();
    for (StmtId id : list) {
      const Stmt& statement = s.ast[id];
      find(statement.origin);
      if ((statement.kind == StmtKind::Break || statement.kind == StmtKind::Continue) &&
          id != list.back())
        throw Error("structure: code that is reached follows a jump");
      if (statement.kind == StmtKind::With && statement.flag == 0)
        managers += statement.list.size() / 2;
      visit(statement.e);
      visit(statement.list);
      while (!inner.empty()) {
        const std::span<const ExprId> kids = inner.back();
        inner.pop_back();
        visit(kids);
      }
      if (!kHoldLists.has(statement.kind)) continue;
      for (const std::span<const StmtId> held :
           {statement.body, statement.orelse, statement.final, statement.arms})
        if (!held.empty()) lists.push_back(held);
    }
  }
  // The first operation of a body that is missing in the statements, or none.
  const auto lost = [&](const Node& node) {
    for (ValueId v : node.body) {
      const Value& value = s.at(v);
      const bool is_part = value.kind == ValueKind::Statements;
      if (!is_part && (!effects[value.op] || value.kind != ValueKind::Operation)) continue;
      if (value.op == Op::WITH_ENTER ? managers-- == 0 : !found[value.offset]) return v;
    }
    return ValueId();
  };
  const std::size_t written = managers;
  if (std::any_of(s.nodes.begin(), s.nodes.end(), [&](const Node& node) {
        return node.alive && lost(node);
      })) {  // perhaps where nothing leads to
    managers = written;
    for (BlockId b : s.reverse_postorder_blocks())
      if (const ValueId v = lost(s.nodes[b.index]))
        throw Error("structure: " + std::string(op_name(s.at(v).op)) + " at offset " +
                    std::to_string(s.at(v).offset) + " was lost");
  }
  if (holes) throw Error("structure: a hole was left in an expression");
}

}  // namespace depyf
