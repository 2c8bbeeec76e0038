// `assert` from the test and raise it is compiled to.
#include <algorithm>
#include <cstdint>

#include "ast/walk.h"
#include "rewrite/rewriter.h"
#include "rewrite/source_columns.h"

namespace depyf {
namespace {

enum class Certainty : std::uint8_t { No, Likely, Sure };

/// What a `raise` raises, without the call that makes it.
ExprId raised_type(const Ast& ast, StmtId raise) {
  const ExprId raised = ast[raise].e[0];
  return ast[raised].kind == ExprKind::Call ? ast[raised].kids[0] : raised;
}

/// Of the operations in an expression; beyond all lines where none has one.
std::int32_t last_line(const Ast& ast, ExprId root) {
  ExprIds all{root};
  collect_below(ast, all);
  std::int32_t last = 0;
  for (ExprId e : all) last = std::max(last, ast[e].origin.line);
  return last > 0 ? last : INT32_MAX;
}

/// `raise AssertionError` as `assert` compiles it: the exception itself, not what the name means
/// (or, in old versions, a global). `test` is that of the `if` that may have been an `assert`: its
/// exception is loaded in a line of the test, one below an `if` is not. Where only a global of that
/// name tells (up to 3.8), the difference matters with -O; elsewhere that is `assert False`.
Certainty assertion(const Rewriter& r, StmtId id, ExprId& message, ExprId test = ExprId::none()) {
  if (!id || r.ast[id].kind != StmtKind::Raise) return Certainty::No;
  const Stmt& s = r.ast[id];
  if (!s.e[0] || s.e[1]) return Certainty::No;
  ExprId type = s.e[0];
  message = ExprId::none();
  if (const Expr& e = r.ast[type]; e.kind == ExprKind::Call) {
    if (e.kids.size() != 2 || r.ast[e.kids[1]].kind == ExprKind::Starred ||
        r.ast[e.kids[1]].kind == ExprKind::Keyword)
      return Certainty::No;
    type = e.kids[0];
    message = e.kids[1];
  }
  const Expr& e = r.ast[type];
  const bool sure = e.kind == ExprKind::Common &&
                    static_cast<CommonConstant>(e.op) == CommonConstant::AssertionError;
  // A table row tells whether the version has an operation for it; the name means the statement
  // only where there is none.
  const bool likely = e.kind == ExprKind::Name &&
                      static_cast<NameScope>(e.op) == NameScope::Global &&
                      r.is_name(type, "AssertionError") && !has_assertion_constant(*r.ast.module);
  if ((!sure && !likely) || (test && e.origin.line > last_line(r.ast, test))) return Certainty::No;
  return sure ? Certainty::Sure : Certainty::Likely;
}

/// The statement that an arm consists of, without the jumps behind it that its raise never reaches.
StmtId only_statement(const Ast& ast, std::span<const StmtId> arm) {
  const auto jumps = [&](StmtId id) {
    return ast[id].kind == StmtKind::Break || ast[id].kind == StmtKind::Continue;
  };
  const bool alone = !arm.empty() && std::all_of(arm.begin() + 1, arm.end(), jumps);
  return alone ? arm[0] : StmtId::none();
}

/// What must hold where `test` leads to the error: `not (a and b)` rather than `not a or not b`.
ExprId opposite(Rewriter& r, ExprId test) {
  const Expr& e = r.ast[test];
  const bool plain =
      e.kind == ExprKind::BoolOp &&
      std::none_of(e.kids.begin(), e.kids.end(), [&](ExprId kid) { return is_not(r.ast[kid]); });
  return plain ? with_not(r.ast, test) : negate(r.ast, test);
}

/// Some operands of a BoolOp that follow one another, as a condition of their own.
ExprId part_of(Rewriter& r, ExprId whole, std::size_t first, std::size_t count) {
  const Expr& e = r.ast[whole];
  const std::span<const ExprId> kids = std::span(e.kids).subspan(first, count);
  if (count == 1) return kids[0];
  return r.ast.expr(ExprKind::BoolOp, kids, UINT32_MAX, e.op, r.ast[kids[0]].origin);
}

/// How many of the conditions `a and b`, with which a test begins, are those of an `if` around the
/// `assert`: they stand on rows before that of the statement, which the exception has. Up to 3.11
/// it may have that of a comparison or another operand instead; `assert a or b` over two rows is
/// then more likely than `if not a: assert b`.
std::size_t conditions_around(Rewriter& r, ExprId test, StmtId raise) {
  const Expr& e = r.ast[test];
  if (e.kind != ExprKind::BoolOp || e.op != 0) return 0;  // not `and`
  const Origin raised = r.ast[raised_type(r.ast, raise)].origin;
  const std::int32_t row = raised.line;
  std::size_t count = 0;
  while (count < e.kids.size() && last_line(r.ast, e.kids[count]) < row) ++count;
  if (row <= 0 || count == 0 || count == e.kids.size()) return 0;
  const SourceSpan statement = r.columns().at(raised);
  const SourceSpan own = r.columns().of(e.kids[count]);
  const bool certain =
      statement.line > 0 &&
      (statement.line < own.line || (statement.line == own.line && statement.first < own.first));
  return certain || !is_not(r.ast[e.kids[0]]) ? count : 0;
}

StmtId make_assert(Rewriter& r, StmtId at, StmtId raise, ExprId test, ExprId message) {
  Stmt s;
  s.kind = StmtKind::Assert;
  s.origin = r.ast[at].origin;
  s.absorbed = r.ast[at].absorbed;
  s.e = {test, message, ExprId::none()};
  const StmtId id = r.ast.add(s);
  r.absorb(id, raise);
  // What the statement raises is no use of the name.
  Expr& type = r.ast[raised_type(r.ast, raise)];
  type.kind = ExprKind::Common;
  type.op = static_cast<std::uint8_t>(CommonConstant::AssertionError);
  return id;
}

/// A `while True` that nothing leaves by `break`.
bool is_endless(const Ast& ast, StmtId loop) {
  const Stmt& s = ast[loop];
  if (s.kind != StmtKind::While || ast[s.e[0]].kind != ExprKind::Constant ||
      (*ast.module)[ConstId(ast[s.e[0]].a)].kind != ConstKind::True)
    return false;
  SmallVector<std::span<const StmtId>, 16> work = {s.body};
  while (!work.empty()) {
    const std::span<const StmtId> list = work.back();
    work.pop_back();
    for (StmtId id : list) {
      const Stmt& inner = ast[id];
      if (inner.kind == StmtKind::Break) return false;
      const bool is_loop = inner.kind == StmtKind::While || inner.kind == StmtKind::For;
      if (!is_loop) work.push_back(inner.body);
      for (const std::span<const StmtId> part : {inner.orelse, inner.arms, inner.final})
        work.push_back(part);
    }
  }
  return true;
}

}  // namespace

void restore_asserts(Rewriter& r) {
  if (!r.may_hold(StmtKind::Raise) || r.module.optimization > 0) return;  // -O: there is none
  const auto is_if = [&](StmtId id) { return r.ast[id].kind == StmtKind::If; };
  if (r.may_hold(StmtKind::If))
    r.edit_lists([&](std::vector<StmtId>& list) {
      if (std::none_of(list.begin(), list.end(), is_if)) return false;
      std::vector<StmtId> out;
      bool changed = false;
      for (std::size_t i = 0; i < list.size(); ++i) {
        const StmtId id = list[i];
        if (r.ast[id].kind != StmtKind::If) {
          out.push_back(id);
          continue;
        }
        const Stmt s = r.ast[id];
        ExprId message;
        const StmtId body = only_statement(r.ast, s.body), orelse = only_statement(r.ast, s.orelse);
        const Certainty in_body = assertion(r, body, message, s.e[0]);
        const std::size_t around =
            in_body != Certainty::No && s.orelse.empty() ? conditions_around(r, s.e[0], body) : 0;
        const ExprId own = around > 0
                               ? part_of(r, s.e[0], around, r.ast[s.e[0]].kids.size() - around)
                               : ExprId::none();
        if (around > 0 && negation_is_free(r.ast, own)) {
          const StmtId check = make_assert(r, body, body, opposite(r, own), message);
          const ExprId outer = part_of(r, s.e[0], 0, around);
          r.ast[id].e[0] = outer;
          r.ast[id].body = r.one(check);
          out.push_back(id);
          changed = true;
          continue;
        }
        // Where the negated test would be another operation the source was `if test: assert False`.
        if (in_body != Certainty::No && negation_is_free(r.ast, s.e[0])) {
          out.push_back(make_assert(r, id, body, opposite(r, s.e[0]), message));
          out.insert(out.end(), s.orelse.begin(), s.orelse.end());
          changed = true;
        } else if (assertion(r, orelse, message, s.e[0]) != Certainty::No) {
          out.push_back(make_assert(r, id, orelse, s.e[0], message));
          for (StmtId inner : s.body)
            if (r.ast[inner].kind != StmtKind::Pass) out.push_back(inner);
          changed = true;
        } else if (s.orelse.empty() && i + 1 < list.size() &&
                   assertion(r, list[i + 1], message, s.e[0]) != Certainty::No && !s.body.empty() &&
                   (never_ends(r.ast, s.body) ||
                    is_endless(r.ast,
                               s.body.back()))) {  // all of the rest of the list went into the `if`
          out.push_back(make_assert(r, id, list[i + 1], s.e[0], message));
          out.insert(out.end(), s.body.begin(), s.body.end());
          changed = true;
          ++i;
        } else {
          out.push_back(id);
        }
      }
      if (changed) list.swap(out);
      return changed;
    });
  // Without an `if` the test was a false constant. Where a name is no global by itself, up to 3.8
  // only `assert` reads a global.
  const bool scope = r.role == Role::Module || r.role == Role::Class;
  r.edit_lists([&](std::vector<StmtId>& list) {
    bool changed = false;
    for (StmtId& id : list) {
      ExprId message;
      const Certainty found = assertion(r, id, message);
      if (found == Certainty::No || (found == Certainty::Likely && !scope)) continue;
      id = make_assert(
          r, id, id, r.ast.constant(r.make_constant(ConstKind::False), r.ast[id].origin), message);
      changed = true;
    }
    return changed;
  });
}

}  // namespace depyf
