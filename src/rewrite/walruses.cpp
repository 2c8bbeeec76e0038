// Before:  y = x = [z for z in [1, 2]]     After:  x = (y := [z for z in [1, 2]])
//
// A chained assignment and a walrus that is the value of one have the same operations. Columns tell
// them apart (3.11+): targets are stored from left to right, but the name of a walrus is stored
// after what its value goes to. Before columns, up to 3.9, the compiler folds no constants in a
// walrus. What a constant chose is no constant for it, either.
#include <algorithm>
#include <tuple>
#include <vector>

#include "ast/walk.h"
#include "rewrite/rewriter.h"
#include "rewrite/source_columns.h"

namespace depyf {
namespace {

bool all_constants(const Rewriter& r, std::span<const ExprId> ids) {
  return std::all_of(ids.begin(), ids.end(), [&](ExprId id) { return r.constant(id); });
}

bool is_display_of_constants(const Rewriter& r, ExprId id) {
  const Expr& e = r.ast[id];
  return (e.kind == ExprKind::List || e.kind == ExprKind::Set) && all_constants(r, e.kids);
}

bool is_integer(const Rewriter& r, ExprId id) {
  const Const* c = r.constant(id);
  return c && c->kind == ConstKind::Int && !c->big;
}

/// A sign before a number, or `~` before an integer.
bool is_signed_number(const Rewriter& r, const Expr& e) {
  const Const* c = r.constant(e.kids[0]);
  const bool inexact = c && (c->kind == ConstKind::Float || c->kind == ConstKind::Complex);
  const auto op = static_cast<UnaryOp>(e.op);
  return is_integer(r, e.kids[0]) || (inexact && (op == UnaryOp::Minus || op == UnaryOp::Plus));
}

/// Would the compiler have folded it?
bool is_unfolded(const Rewriter& r, const Expr& e) {
  if (e.kind == ExprKind::Comprehension) return is_display_of_constants(r, e.kids[1]);
  if (e.kind == ExprKind::Unary) return is_signed_number(r, e);
  if (e.kind == ExprKind::Tuple) return !e.kids.empty() && all_constants(r, e.kids);
  if (e.kind == ExprKind::Compare) {
    const auto op = static_cast<CompareOp>(e.extra.back());
    return (op == CompareOp::In || op == CompareOp::NotIn) &&
           is_display_of_constants(r, e.kids.back());
  }
  if (e.kind != ExprKind::Binary ||
      !std::all_of(e.kids.begin(), e.kids.end(), [&](ExprId id) { return is_integer(r, id); }))
    return false;
  const auto op = static_cast<BinaryOp>(e.op);  // others may fail, or have large results
  return op == BinaryOp::Add || op == BinaryOp::Subtract || op == BinaryOp::Multiply;
}

bool holds_unfolded(const Rewriter& r, ExprId root) {
  ExprIds all{root};
  collect_below(r.ast, all);
  return std::any_of(all.begin(), all.end(), [&](ExprId id) { return is_unfolded(r, r.ast[id]); });
}

/// How many of the targets, which are in the order of their stores, are names of walruses.
std::size_t walruses(Rewriter& r, const Stmt& s) {
  const SourceColumns& columns = r.columns();
  if (!columns.known()) return !folds_in_walruses(r.module) && holds_unfolded(r, s.e[0]) ? 1 : 0;
  std::vector<std::tuple<std::int32_t, std::uint32_t>> places;
  for (ExprId target : s.list) {
    const SourceSpan span = columns.of(target);
    if (span.line == 0) return 0;
    places.emplace_back(span.line, span.first);
  }
  const auto first = std::min_element(places.begin(), places.end());
  const bool ordered = std::is_sorted(first, places.end()) &&
                       std::is_sorted(places.begin(), first, std::greater<>()) &&
                       (first == places.begin() || places.back() < *(first - 1));
  return ordered ? static_cast<std::size_t>(first - places.begin()) : 0;
}

/// Before:  for x in [y]:     After:  for x in [y] if True else None:
///
/// The compiler makes a tuple of a list that a `for` statement iterates over. One that it left was
/// chosen by a constant.
void keep_iterated_lists(Rewriter& r) {
  if (!has_walruses(r.module) || r.role == Role::Comprehension || !r.may_hold(StmtKind::For) ||
      !r.may_hold(ExprKind::List))
    return;
  constexpr std::uint8_t kAsync = 1;
  constexpr std::size_t kWidest =
      30;  // the compiler appends what is wider, and makes no tuple of it
  for (const std::span<Stmt> own : r.own_stmts())
    for (Stmt& s : own) {
      if (s.kind != StmtKind::For || (s.flag & kAsync)) continue;
      const Expr list = r.ast[s.e[1]];
      if (list.kind != ExprKind::List || list.kids.empty() ||
          (folds_in_graph(r.module) && list.kids.size() > kWidest) ||
          std::ranges::any_of(list.kids,
                              [&](ExprId kid) { return r.ast[kid].kind == ExprKind::Starred; }))
        continue;
      s.e[1] = r.always(s.e[1]);
    }
}

}  // namespace

void restore_walruses(Rewriter& r) {
  keep_iterated_lists(r);
  if (!has_walruses(r.module) || !r.may_hold(StmtKind::Assign)) return;
  for (const std::span<Stmt> own : r.own_stmts())
    for (Stmt& s : own) {
      if (s.kind != StmtKind::Assign || s.list.size() < 2) continue;
      const std::size_t count = walruses(r, s);
      const std::span<ExprId> names = s.list.first(count);
      if (!std::all_of(names.begin(), names.end(),
                       [&](ExprId id) { return r.ast[id].kind == ExprKind::Name; }))
        continue;
      for (ExprId name : names)
        s.e[0] = r.ast.expr(ExprKind::NamedExpr, {name, s.e[0]}, UINT32_MAX, 0, s.origin);
      s.list = s.list.subspan(count);
    }
}

}  // namespace depyf
