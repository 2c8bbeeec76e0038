// What the compiler adds to the bodies of classes and modules, and docstrings.
#include <algorithm>

#include "bytecode/class_end.h"
#include "rewrite/rewriter.h"
#include "support/error.h"

namespace depyf {
namespace {

/// A statement at the start of a class body that no source has. The line is the compiler's whatever
/// line the code object says it has.
bool class_prologue(const Rewriter& r, const Stmt& s) {
  const StrId name = r.assigned_name(s);
  if (!name) return false;
  const std::string_view text = r.text(name);
  const Expr& value = r.ast[s.e[0]];
  if (text == "__module__") return r.is_name(s.e[0], "__name__");
  if (text == "__qualname__") return r.is_constant(s.e[0], ConstKind::Str);
  if (text == "__firstlineno__")
    return r.object.version.has_class_lines() && r.is_constant(s.e[0], ConstKind::Int);
  if (text == "__type_params__") return r.is_name(s.e[0], ".type_params");
  if (text == "__classdict__") return value.kind == ExprKind::LocalsDict;
  if (text == "__conditional_annotations__")
    return value.kind == ExprKind::Set && value.kids.empty();
  return false;
}

/// A statement that no source has, wherever it stands: one at the end of a class body, which may
/// have copies after `break` and the like, or what makes the namespace a cell, which a loop over
/// the blocks of the body has inside.
bool no_source_has(Rewriter& r, const Stmt& s) {
  if (s.kind != StmtKind::Assign) return false;
  for (ExprId target : s.list)
    if ((r.ast[s.e[0]].kind == ExprKind::CellRef && r.ast[target].kind == ExprKind::Name &&
         names_class_cell(r.module[StrId(r.ast[target].a)])) ||
        (r.ast[s.e[0]].kind == ExprKind::LocalsDict && r.is_name(target, "__classdict__")))
      return true;
  return lists_attributes(r, s);
}

void take_docstring(Rewriter& r) {
  if (r.body.empty() || r.module.optimization > 1) return;  // -OO: there is none
  const Stmt& s = r.ast[r.body[0]];
  if (!r.assigns(s, "__doc__") || !r.is_constant(s.e[0], ConstKind::Str)) return;
  // An assignment begins left of its value (3.11+). With -OO it is no docstring, which would go.
  const Origin &store = r.ast[s.list[0]].origin, &value = r.ast[s.e[0]].origin;
  if (store.columns != 0 && value.columns != 0 && store.line == value.line &&
      store.columns >> 16 < value.columns >> 16)
    return;
  r.docstring = s.e[0];
  r.body = r.body.subspan(1);
}

bool imports_future(const Rewriter& r, const Stmt& s) {
  return s.kind == StmtKind::ImportFrom && r.text(StrId(s.a)) == "__future__";
}

/// `from __future__` stands above everything but the docstring, also in a module that is a loop
/// over its blocks: what such a module begins with comes in front of the loop. Nothing that ran
/// before it there can be told from outside.
void hoist_future_imports(Rewriter& r) {
  const bool loop = r.role == Role::Module && r.body.size() > 1 && r.may_hold(StmtKind::While) &&
                    r.may_hold(StmtKind::ImportFrom) && r.ast[r.body[0]].kind == StmtKind::Assign;
  if (!loop) return;
  std::vector<StmtId> first;
  r.edit_lists([&](std::vector<StmtId>& list) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Stmt& s = r.ast[list[i]];
      if (imports_future(r, s))
        count = i + 1;
      else if (i != 0 || !r.assigns(s, "__doc__") || !r.is_constant(s.e[0], ConstKind::Str))
        break;
    }
    // The module's own list is as the compiler wants it.
    if (count == 0 || !first.empty() || list[0] == r.body[0]) return false;
    first.assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    if (list.empty()) list.push_back(r.add_statement(StmtKind::Pass));
    return true;
  });
  first.insert(first.end(), r.body.begin(), r.body.end());
  if (first.size() != r.body.size()) r.body = r.ast.arena.copy(first);
}

}  // namespace

bool lists_attributes(Rewriter& r, const Stmt& s) {
  constexpr std::string_view name = "__static_attributes__";
  if (!r.assigns(s, name) ||
      (!r.is_constant(s.e[0], ConstKind::Tuple) && r.ast[s.e[0]].kind != ExprKind::Tuple))
    return false;
  if (!r.attribute_lists) r.attribute_lists = attribute_lists(r.module, r.code);
  return std::ranges::find(*r.attribute_lists, r.ast[s.list[0]].origin.offset) !=
         r.attribute_lists->end();
}

void clean_scope_body(Rewriter& r) {
  if (r.role != Role::Class && r.role != Role::Module) return;
  hoist_future_imports(r);
  if (r.role == Role::Class) {
    // Each once: a second `__qualname__ = …` is the source's own.
    std::vector<StrId> seen;
    while (!r.body.empty() && class_prologue(r, r.ast[r.body[0]])) {
      const StrId name = r.assigned_name(r.ast[r.body[0]]);
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) break;
      seen.push_back(name);
      r.body = r.body.subspan(1);
    }
    r.edit_lists([&](std::vector<StmtId>& list) {
      return std::erase_if(list, [&](StmtId id) { return no_source_has(r, r.ast[id]); }) > 0;
    });
  }
  take_docstring(r);
  // Neither has a `return`; code that compile(…, "eval") made returns its value.
  r.edit_lists([&](std::vector<StmtId>& list) {
    for (StmtId id : list) {
      Stmt& s = r.ast[id];
      if (s.kind != StmtKind::Return || !s.e[0]) continue;
      if (r.role == Role::Class || r.is_none(s.e[0])) {
        s.e[0] = ExprId::none();
      } else {
        s.kind = StmtKind::Expr;
      }
    }
    return false;
  });
}

void refuse_returns(Rewriter& r) {
  if ((r.role != Role::Class && r.role != Role::Module) || !r.may_hold(StmtKind::Return)) return;
  StmtIds statements;
  collect_statements(r.ast, r.body, statements);
  for (StmtId id : statements)
    if (r.ast[id].kind == StmtKind::Return)
      throw Error("rewrite: a module or class ends, at offset " +
                  std::to_string(r.ast[id].origin.offset) + ", where only a function may return");
}

void insert_docstring(Rewriter& r) {
  ExprId text = r.docstring;
  if (r.role == Role::Function)
    if (const ConstId id = docstring(r.module, r.object)) text = r.ast.constant(id);
  if (!text) return;
  const StmtId statement = r.add_statement(StmtKind::Expr, r.ast[text].origin);
  r.ast[statement].e[0] = text;
  std::vector<StmtId> all = {statement};
  all.insert(all.end(), r.body.begin(), r.body.end());
  r.body = r.ast.arena.copy(all);
}

}  // namespace depyf
