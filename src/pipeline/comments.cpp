#include "pipeline/comments.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ast/walk.h"
#include "pipeline/front.h"

namespace depyf {

namespace {

/// Puts a comment at the top of a body, after its docstring.
void add_comment(Ast& ast, CodeId code, std::span<StmtId>& body, const std::string& text) {
  Module& module = *ast.module;
  const std::string_view name = module[module[code].name];
  if (name == "__annotate__" || (name.starts_with('<') && name != "<module>")) return;
  Stmt comment;
  comment.kind = StmtKind::Comment;
  comment.a = module.intern(text).index;
  std::vector<StmtId> stmts(body.begin(), body.end());
  const bool docstring = !stmts.empty() && ast[stmts[0]].kind == StmtKind::Expr &&
                         ast[ast[stmts[0]].e[0]].kind == ExprKind::Constant &&
                         module[ConstId(ast[ast[stmts[0]].e[0]].a)].kind == ConstKind::Str;
  stmts.insert(stmts.begin() + docstring, ast.add(comment));
  body = ast.arena.copy(stmts);
}

}  // namespace

void place_failure(Ast& ast, CodeId code, const std::string& reason) {
  Module& module = *ast.module;
  Stmt comment;
  comment.kind = StmtKind::Comment;
  comment.a =
      module.intern("depyf could not decompile " + code_path(module, code) + ":\n" + reason).index;
  Const text;
  text.kind = ConstKind::Str;
  text.text = module.arena.copy_string("depyf could not decompile this code: " + reason);
  ExprId message = ast.constant(module.add(text));
  ExprId call = ast.expr(ExprKind::Call, {ast.name(module.intern("NotImplementedError")), message});
  Stmt raise;
  raise.kind = StmtKind::Raise;
  raise.e[0] = call;
  StmtId stmts[] = {ast.add(comment), ast.add(raise)};
  Body body;
  body.code = code;
  body.stmts = ast.arena.copy(stmts);
  body.done = true;
  ast.bodies[code.index] = body;
}

void place_comment(Ast& ast, CodeId code, const std::string& text) {
  std::span<StmtId> body = ast.bodies[code.index].stmts;
  add_comment(ast, code, body, text);
  ast.bodies[code.index].stmts = body;
}

void tell_own_names(Ast& ast, std::string_view temporaries, const DecompileOptions& options,
                    std::size_t given) {
  const Module& module = *ast.module;
  const auto is_own_name = [&](std::string_view name) {
    const auto begins = [&](std::string_view prefix) {
      return !prefix.empty() && name[0] == prefix[0] && name.starts_with(prefix);
    };
    return !name.empty() && (begins(temporaries) || begins(ast.function_prefix));
  };
  const auto is_own = [&](const Expr& e) {
    return e.kind == ExprKind::Name && is_own_name(module[StrId(e.a)]);
  };
  // Most modules have no such name at all.
  if (std::none_of(module.strings.begin() + static_cast<std::ptrdiff_t>(given),
                   module.strings.end(), is_own_name))
    return;
  // What was made for a code object is printed there or in what is around it.
  std::vector<std::uint8_t> may_have(module.codes.size(), false);
  bool any = false;
  for (const Expr& e : ast.exprs) {
    if (!is_own(e)) continue;
    any = true;
    if (!e.origin.code) may_have.assign(may_have.size(), true);
    for (CodeId at = e.origin.code; at && !may_have[at.index]; at = module[at].parent)
      may_have[at.index] = true;
  }
  if (!any) return;
  std::vector<std::uint8_t> told(module.codes.size(), false);
  for (const Diagnostic& diagnostic : ast.diagnostics)
    if (diagnostic.kind != Diagnostic::Note && diagnostic.code) told[diagnostic.code.index] = true;
  struct Printed {
    CodeId code;
    StmtId definition;  // the statement that holds the body; none: the root
  };
  std::vector<Printed> work{{module.root, StmtId::none()}};
  StmtIds statements;
  while (!work.empty()) {
    const auto [code, definition] = work.back();
    work.pop_back();
    if (code.index >= ast.bodies.size() || !may_have[code.index]) continue;
    std::span<StmtId> body = definition ? ast[definition].body : ast.bodies[code.index].stmts;
    statements.clear();
    collect_statements(ast, body, statements);
    for (StmtId id : statements) {
      const Stmt& s = ast[id];
      if ((s.kind == StmtKind::FunctionDef || s.kind == StmtKind::ClassDef) &&
          s.function < ast.functions.size())
        work.push_back({ast.functions[s.function].code, id});
    }
    if (told[code.index] || is_dynamos(module, code, options)) continue;
    told[code.index] = true;
    std::set<std::string> names;
    for (ExprId id : collect_expressions(ast, body))
      if (is_own(ast[id])) names.emplace(module[StrId(ast[id].a)]);
    if (names.empty()) continue;
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    const std::string what = "names that the source had not: " + all;
    add_comment(ast, code, body, "depyf found no expression for a value: " + what);
    (definition ? ast[definition].body : ast.bodies[code.index].stmts) = body;
    ast.diagnostics.push_back({Diagnostic::Note, kOwnNames, code, 0, what});
  }
}

}  // namespace depyf
