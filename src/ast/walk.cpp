#include "ast/walk.h"

namespace depyf {
namespace {

template <class Ids>
void push(Ids& out, ExprId id) {
  if (id) out.push_back(id);
}

template <class Ids>
void push_parameters(const Ast& ast, std::uint32_t function, Ids& out) {
  if (function >= ast.functions.size()) return;
  const Function& f = ast.functions[function];
  for (const Parameter& p : f.parameters) {
    push(out, p.default_value);
    push(out, p.annotation);
  }
  for (const TypeParam& p : f.type_params) {
    push(out, p.bound);
    push(out, p.default_value);
  }
}

/// Those that hold expressions elsewhere than in `e` and `list`.
constexpr NodeKinds kHoldMore = {.stmts = mask(StmtKind::FunctionDef) | mask(StmtKind::ClassDef) |
                                          mask(StmtKind::TypeAlias)};

std::span<const StmtId> lists_of(const Stmt& s, ListRef::Which which) {
  switch (which) {
    case ListRef::Body:
      return s.body;
    case ListRef::Orelse:
      return s.orelse;
    case ListRef::Final:
      return s.final;
    case ListRef::Arms:
      return s.arms;
  }
  return {};
}

constexpr ListRef::Which kLists[] = {ListRef::Body, ListRef::Arms, ListRef::Orelse, ListRef::Final};

}  // namespace

void collect_lists(const Ast& ast, std::span<const StmtId> body, ListRefs& out) {
  std::size_t next = out.size();
  auto visit = [&](std::span<const StmtId> list) {
    for (StmtId id : list) {
      const Stmt& s = ast[id];
      if (!kHoldLists.has(s.kind)) continue;
      for (ListRef::Which which : kLists)
        if (!lists_of(s, which).empty()) out.push_back({id, which});
    }
  };
  out.push_back({});
  visit(body);
  for (++next; next < out.size(); ++next) visit(lists_of(ast[out[next].owner], out[next].which));
}

template <class Ids>
void collect_statements(const Ast& ast, std::span<const StmtId> body, Ids& out) {
  SmallVector<std::span<const StmtId>, 32> work = {body};  // what is left of each list
  while (!work.empty()) {
    const std::span<const StmtId> left = work.back();
    work.pop_back();
    for (std::size_t i = 0; i < left.size(); ++i) {
      out.push_back(left[i]);
      const Stmt& s = ast[left[i]];
      if (!kHoldLists.has(s.kind)) continue;
      if (i + 1 < left.size()) work.push_back(left.subspan(i + 1));
      for (const std::span<const StmtId> list : {s.final, s.orelse, s.arms, s.body})
        if (!list.empty()) work.push_back(list);
      break;
    }
  }
}

template <class Ids>
void append_roots(const Ast& ast, StmtId statement, Ids& out) {
  const Stmt& s = ast[statement];
  for (ExprId id : s.e) push(out, id);
  for (ExprId id : s.list) push(out, id);
  if (!kHoldMore.has(s.kind)) return;
  if (s.kind == StmtKind::ClassDef)
    for (std::uint32_t decorator : s.extra) push(out, ExprId(decorator));
  if (s.kind == StmtKind::FunctionDef) push_parameters(ast, s.function, out);
  if (s.type_params < ast.type_param_lists.size())
    for (const TypeParam& p : ast.type_param_lists[s.type_params]) {
      push(out, p.bound);
      push(out, p.default_value);
    }
}

template <class Ids>
void collect_below(const Ast& ast, Ids& order) {
  for (std::size_t next = 0; next < order.size(); ++next) {
    const Expr& e = ast[order[next]];
    if (e.kind == ExprKind::Lambda) {
      push_parameters(ast, e.a, order);
    } else {
      for (ExprId kid : e.kids) push(order, kid);
    }
  }
}

ExprIds collect_expressions(const Ast& ast, std::span<const StmtId> body) {
  StmtIds statements;
  collect_statements(ast, body, statements);
  ExprIds order;
  for (StmtId id : statements) append_roots(ast, id, order);
  collect_below(ast, order);
  return order;
}

template void collect_statements(const Ast&, std::span<const StmtId>, StmtIds&);
template void collect_statements(const Ast&, std::span<const StmtId>, std::vector<StmtId>&);
template void append_roots(const Ast&, StmtId, ExprIds&);
template void append_roots(const Ast&, StmtId, std::vector<ExprId>&);
template void collect_below(const Ast&, ExprIds&);
template void collect_below(const Ast&, std::vector<ExprId>&);

bool never_ends(const Ast& ast, std::span<const StmtId> list) {
  SmallVector<std::span<const StmtId>, 16> work = {list};  // all of these must never end
  while (!work.empty()) {
    const auto at = work.back();
    work.pop_back();
    if (at.empty()) return false;
    const Stmt& s = ast[at.back()];
    if (is_jump(s.kind)) continue;
    if (s.kind == StmtKind::If) {
      work.push_back(s.body);
      work.push_back(s.orelse);
    } else if (s.kind == StmtKind::Try) {
      if (!s.final.empty() && is_jump(ast[s.final.back()].kind)) continue;
      work.push_back(s.orelse.empty() ? s.body : s.orelse);
      for (StmtId arm : s.arms) work.push_back(ast[arm].body);
    } else {  // goes on, or may: `with` can swallow an exception, a loop can end
      return false;
    }
  }
  return true;
}

}  // namespace depyf
