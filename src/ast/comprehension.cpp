#include "ast/comprehension.h"

#include <algorithm>
#include <vector>

#include "ast/negate.h"

namespace depyf {
namespace {

bool only(const Ast& ast, std::span<const StmtId> list, StmtKind kind) {
  return list.size() == 1 && ast[list[0]].kind == kind;
}

bool empty(const Ast& ast, std::span<const StmtId> list) {
  return list.empty() || only(ast, list, StmtKind::Pass);
}

/// The statements without a `continue` at their end, which says nothing there.
std::span<const StmtId> trimmed(const Ast& ast, std::span<const StmtId> list) {
  while (!list.empty() &&
         (ast[list.back()].kind == StmtKind::Continue || ast[list.back()].kind == StmtKind::Pass))
    list = list.first(list.size() - 1);
  return list;
}

struct Matcher {
  Ast& ast;
  ExprKind kind;
  std::vector<ExprId> clauses;  // Comprehension
  std::vector<ExprId> current;  // target, iter, conditions
  bool async = false;
  Origin origin;

  void flush() {
    if (current.empty()) return;
    clauses.push_back(ast.expr(ExprKind::Comprehension, current, UINT32_MAX,
                               static_cast<std::uint8_t>(async), origin));
    current.clear();
    async = false;
  }

  /// Element of an innermost statement: one expression, or key and value. Empty: no such statement.
  std::vector<ExprId> element(StmtId id) {
    const Stmt s = ast[id];
    if (kind == ExprKind::GeneratorExp) {
      if (s.kind != StmtKind::Expr) return {};
      const Expr e = ast[s.e[0]];
      if (e.kind == ExprKind::YieldFrom)
        return {ast.expr(ExprKind::Starred, {e.kids[0]}, UINT32_MAX, 0, e.origin)};
      if (e.kind != ExprKind::Yield) return {};
      if (!e.kids.empty() && e.kids[0]) return {e.kids[0]};
      return {ast.constant(ast.module->add(Const{}), e.origin)};
    }
    if (s.kind != StmtKind::Append) return {};
    static constexpr ExprKind kinds[] = {ExprKind::ListComp, ExprKind::SetComp, ExprKind::DictComp,
                                         ExprKind::ListComp, ExprKind::SetComp, ExprKind::DictComp};
    if (s.flag >= std::size(kinds) || kinds[s.flag] != kind) return {};
    if (s.flag == 5) return {ExprId::none(), s.list[0]};
    if (s.flag >= 3) return {ast.expr(ExprKind::Starred, {s.list[0]}, UINT32_MAX, 0, s.origin)};
    return {s.list.begin(), s.list.end()};
  }

  /// The element `*items` of a generator, where a loop yields what it takes from them and binds no
  /// variable of the code to it. Empty: another loop.
  std::vector<ExprId> unpacked_element(StmtId loop) const {
    const Stmt& s = ast[loop];
    const auto body = trimmed(ast, s.body);
    if (kind != ExprKind::GeneratorExp || !unpacks_in_comprehensions(*ast.module) || s.flag != 0 ||
        current.empty() || !only(ast, body, StmtKind::Expr))
      return {};
    const Expr &target = ast[s.e[0]], &yield = ast[ast[body[0]].e[0]];
    if (target.kind != ExprKind::Name || yield.kind != ExprKind::Yield || yield.kids.empty() ||
        !yield.kids[0])
      return {};
    const Expr& value = ast[yield.kids[0]];
    const auto slots = (*ast.module)[yield.origin.code].slots;
    const bool bound = std::any_of(slots.begin(), slots.end(),
                                   [&](const Slot& slot) { return slot.name.index == target.a; });
    if (bound || value.kind != ExprKind::Name || value.a != target.a) return {};
    return {ast.expr(ExprKind::Starred, {s.e[1]}, UINT32_MAX, 0, s.origin)};
  }

  /// An If whose arms are innermost statements: the element is a conditional expression.
  std::vector<ExprId> conditional_element(StmtId id) {
    std::vector<std::pair<ExprId, ExprId>> arms;  // test, value
    std::span<const StmtId> rest(&id, 1);
    while (rest.size() == 1 && ast[rest[0]].kind == StmtKind::If) {
      const Stmt s = ast[rest[0]];
      const auto body = trimmed(ast, s.body);
      if (body.size() != 1) return {};
      const std::vector<ExprId> value = element(body[0]);
      if (value.size() != 1) return {};
      arms.emplace_back(s.e[0], value[0]);
      rest = trimmed(ast, s.orelse);
    }
    if (rest.size() != 1 || arms.empty()) return {};
    std::vector<ExprId> value = element(rest[0]);
    if (value.size() != 1) return {};
    ExprId out = value[0];
    for (std::size_t i = arms.size(); i-- > 0;)
      out = ast.expr(ExprKind::IfExp, {arms[i].first, arms[i].second, out}, UINT32_MAX, 0,
                     ast[id].origin);
    return {out};
  }

  ExprId truth(bool value) {
    Const c;
    c.kind = value ? ConstKind::True : ConstKind::False;
    return ast.constant(ast.module->add(c), origin);
  }

  /// The condition under which an If with more after it goes on there: its arms, and those of If
  /// statements in them, end in `continue` or fall off their end, and do nothing else. Arms with a
  /// known end become constants.
  ExprId decision(StmtId root) {
    struct Arm {
      StmtId statement;
      ExprId then;
    };
    std::vector<Arm> open;
    std::span<const StmtId> list(&root, 1);
    for (;;) {
      ExprId value;
      if (empty(ast, list)) {
        value = truth(true);
      } else if (ast[list[0]].kind == StmtKind::Continue) {
        value = truth(false);
      } else if (list.size() == 1 && ast[list[0]].kind == StmtKind::If) {
        open.push_back({list[0], ExprId::none()});
        list = ast[list[0]].body;
        continue;
      } else {
        return ExprId::none();
      }
      while (!open.empty() && open.back().then) {
        const Stmt s = ast[open.back().statement];
        value = choice(s.e[0], open.back().then, value, s.origin);
        open.pop_back();
      }
      if (open.empty()) return value;
      open.back().then = value;
      list = ast[open.back().statement].orelse;
    }
  }

  bool is_truth(ExprId id, ConstKind kind) const {
    return ast[id].kind == ExprKind::Constant && (*ast.module)[ConstId(ast[id].a)].kind == kind;
  }

  ExprId choice(ExprId test, ExprId then, ExprId other, Origin at) {
    const bool same = is_truth(then, ConstKind::True)    ? is_truth(other, ConstKind::True)
                      : is_truth(then, ConstKind::False) ? is_truth(other, ConstKind::False)
                                                         : false;
    if (same && ast[test].kind == ExprKind::Unary &&
        ast[test].op == static_cast<std::uint8_t>(UnaryOp::Not))
      test = ast[test].kids[0];
    if (same)  // `test or True`, `test and False`
      return ast.expr(ExprKind::BoolOp, {test, then}, UINT32_MAX, is_truth(then, ConstKind::True),
                      at);
    if (is_truth(then, ConstKind::True) && is_truth(other, ConstKind::False)) return test;
    if (is_truth(then, ConstKind::False) && is_truth(other, ConstKind::True))
      return negation_is_free(ast, test) ? negate(ast, test) : with_not(ast, test);
    return ast.expr(ExprKind::IfExp, {test, then, other}, UINT32_MAX, 0, at);
  }

  /// A condition that is never met left nothing of itself and the element: any will do.
  std::vector<ExprId> never() {
    Const condition;
    condition.kind = ConstKind::False;
    current.push_back(ast.constant(ast.module->add(condition), origin));
    const Expr target = ast[current[0]];
    const ExprId any = target.kind == ExprKind::Name
                           ? ast.add(target)
                           : ast.constant(ast.module->add(Const{}), origin);
    if (kind == ExprKind::DictComp) return {any, any};
    return {any};
  }

  ExprId match(std::span<const StmtId> loop, ExprId first_iter) {
    std::span<const StmtId> list = trimmed(ast, loop);
    std::vector<ExprId> leaf;
    while (!list.empty() && leaf.empty()) {
      const StmtId id = list[0];
      const Stmt s = ast[id];
      const bool last = list.size() == 1;
      if (s.kind == StmtKind::For) {
        if (!last || !empty(ast, s.orelse)) return ExprId::none();
        leaf = unpacked_element(id);
        if (!leaf.empty()) break;
        flush();
        current = {s.e[0], clauses.empty() && first_iter ? first_iter : s.e[1]};
        async = s.flag & 1;
        origin = s.origin;
        list = trimmed(ast, s.body);
        continue;
      }
      if (current.empty()) return ExprId::none();
      if (s.kind == StmtKind::If) {
        const bool skips = only(ast, s.body, StmtKind::Continue) || (last && empty(ast, s.body));
        if (skips && (!last || !empty(ast, s.orelse))) {
          if (!last && !empty(ast, s.orelse)) return ExprId::none();
          current.push_back(negation_is_free(ast, s.e[0]) ? negate(ast, s.e[0])
                                                          : with_not(ast, s.e[0]));
          list = last ? trimmed(ast, s.orelse) : list.subspan(1);
          continue;
        }
        if (!last) {
          const ExprId condition = decision(id);
          if (!condition) return ExprId::none();
          current.push_back(condition);
          list = list.subspan(1);
          continue;
        }
        if (empty(ast, s.orelse) || only(ast, s.orelse, StmtKind::Continue)) {
          current.push_back(s.e[0]);
          list = trimmed(ast, s.body);
          continue;
        }
        leaf = conditional_element(id);
        if (leaf.empty()) return ExprId::none();
      } else if (s.kind == StmtKind::Assign && s.list.size() == 1) {
        flush();
        current = {s.list[0], ast.expr(ExprKind::List, {s.e[0]}, UINT32_MAX, 0, s.origin)};
        origin = s.origin;
        list = list.subspan(1);
      } else {
        if (!last) return ExprId::none();
        leaf = element(id);
        if (leaf.empty()) return ExprId::none();
      }
    }
    if (leaf.empty()) {
      if (current.empty()) return ExprId::none();
      leaf = never();
    }
    flush();
    leaf.insert(leaf.end(), clauses.begin(), clauses.end());
    return ast.expr(kind, leaf, UINT32_MAX, 0, origin);
  }
};

}  // namespace

ExprId comprehension_from_loop(Ast& ast, ExprKind kind, std::span<const StmtId> loop,
                               ExprId first_iter) {
  return Matcher{ast, kind, {}, {}, false, {}}.match(loop, first_iter);
}

}  // namespace depyf
