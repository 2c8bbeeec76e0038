// f-strings: a formatted value is part of one, and constant parts that touch are one part. What was
// `'%s' % (a,)` is so again (3.11+).
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "ast/percent_format.h"
#include "rewrite/rewriter.h"
#include "rewrite/source_columns.h"

namespace depyf {
namespace {

/// Number of values that CPython's optimiser takes when it makes an f-string of `format % (…)`; -1
/// where it leaves the operation alone. (Python/ast_opt.c, optimize_format)
std::ptrdiff_t foldable_fields(std::string_view format) {
  constexpr int kMaxDigits = 3;
  std::ptrdiff_t fields = 0;
  std::size_t at = 0;
  auto digits = [&] {
    int count = 0;
    for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at) ++count;
    return count < kMaxDigits;
  };
  while (at < format.size()) {
    if (format[at++] != '%') continue;
    if (at < format.size() && format[at] == '%') {
      ++at;
      continue;
    }
    while (at < format.size() &&
           std::string_view("-+ #0").find(format[at]) != std::string_view::npos)
      ++at;
    if (!digits()) return -1;
    if (at < format.size() && format[at] == '.') {
      ++at;
      if (!digits()) return -1;
    }
    if (at == format.size() || (format[at] != 's' && format[at] != 'r' && format[at] != 'a'))
      return -1;
    ++at;
    ++fields;
  }
  return fields;
}

bool is_small_number(const Const* c) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 31;
  return c &&
         (c->kind == ConstKind::Float || c->kind == ConstKind::Complex ||
          (c->kind == ConstKind::Int && !c->big && c->integer < kSmall && c->integer > -kSmall));
}

/// An operation on numbers, or `not` of any constant, that the compiler folds: what it does not
/// fold, since it may fail or is large, is none.
bool folds_numbers(const Rewriter& r, const Expr& e) {
  const Const* first = r.constant(e.kids[0]);
  if (e.kind == ExprKind::Unary) {
    const auto op = static_cast<UnaryOp>(e.op);
    // There a `+` may stay, and a display becomes a constant after its `not` was looked at.
    if (folds_in_graph(r.module) &&
        (op == UnaryOp::Plus || (first && first->kind == ConstKind::Tuple)))
      return false;
    return op == UnaryOp::Not
               ? first != nullptr
               : is_small_number(first) && (op != UnaryOp::Invert || first->kind == ConstKind::Int);
  }
  const auto op = static_cast<BinaryOp>(e.op);
  return (op == BinaryOp::Add || op == BinaryOp::Subtract || op == BinaryOp::Multiply) &&
         is_small_number(first) && is_small_number(r.constant(e.kids[1]));
}

/// An operation on constants that the compiler left alone although it folds such: its last
/// operand was chosen by a constant, `'a' + ('z' if True else b)`, `not (0j and b)`.
bool was_chosen_by_constant(const Rewriter& r, const Expr& e) {
  if ((e.kind == ExprKind::Unary || e.kind == ExprKind::Binary) && folds_in_walruses(r.module) &&
      folds_numbers(r, e))
    return true;
  if (e.kind == ExprKind::Subscript)
    return (r.is_constant(e.kids[0], ConstKind::Str) ||
            r.is_constant(e.kids[0], ConstKind::Bytes)) &&
           r.is_constant(e.kids[1], ConstKind::Int);
  return folds_in_graph(r.module) && e.kind == ExprKind::Binary &&
         static_cast<BinaryOp>(e.op) == BinaryOp::Add && r.is_constant(e.kids[0], ConstKind::Str) &&
         r.is_constant(e.kids[1], ConstKind::Str);
}

/// The left side of a `%` or `+` that the compiler left alone although it folds such: it was an
/// f-string without fields.
bool was_plain_fstring(const Rewriter& r, const Expr& e) {
  if (e.kind == ExprKind::Binary && static_cast<BinaryOp>(e.op) == BinaryOp::Add)
    return r.is_constant(e.kids[0], ConstKind::Str) && r.is_constant(e.kids[1], ConstKind::Str);
  if (e.kind != ExprKind::Binary || static_cast<BinaryOp>(e.op) != BinaryOp::Remainder ||
      !folds_percent_format(r.object))
    return false;
  const Expr& values = r.ast[e.kids[1]];
  if (!r.is_constant(e.kids[0], ConstKind::Str) || values.kind != ExprKind::Tuple) return false;
  for (ExprId value : values.kids)
    if (r.ast[value].kind == ExprKind::Starred) return false;
  return foldable_fields(r.constant(e.kids[0])->text) ==
         static_cast<std::ptrdiff_t>(values.kids.size());
}

/// Did the compiler make this f-string of `'…' % (…)`? A field of that lies where its value does,
/// which in an f-string cannot be. Without columns:
/// `%s` is often written, `!s` hardly ever.
bool was_percent_format(Rewriter& r, const Expr& e) {
  bool placed = false, as_str = false;
  for (ExprId kid : e.kids) {
    const Expr& part = r.ast[kid];
    if (part.kind != ExprKind::FormattedValue) continue;
    as_str |= part.op == 1;
    const SourceSpan field = r.columns().at(part.origin),
                     value = r.columns().at(r.ast[part.kids[0]].origin);
    placed |= field.line != 0 && value.line != 0;
    if (field.line != 0 && field == value) return true;
  }
  return !placed && as_str;
}

void restore_percent_format(Rewriter& r, ExprId id) {
  const Expr e = r.ast[id];
  const std::optional<std::string> format = percent_format(r.ast, e);
  if (!format || !was_percent_format(r, e)) return;
  std::vector<ExprId> values;
  for (ExprId kid : e.kids)
    if (r.ast[kid].kind == ExprKind::FormattedValue) values.push_back(r.ast[kid].kids[0]);
  Const text;
  text.kind = ConstKind::Str;
  text.text = r.module.arena.copy_string(*format);
  const ExprId left = r.ast.constant(r.module.add(text), e.origin);
  const ExprId right = r.ast.expr(ExprKind::Tuple, values, UINT32_MAX, 0, e.origin);
  const ExprId operands[] = {left, right};
  r.ast[id] = Expr{ExprKind::Binary,
                   static_cast<std::uint8_t>(BinaryOp::Remainder),
                   0,
                   UINT32_MAX,
                   r.ast.arena.copy(operands),
                   {},
                   e.origin};
}

/// What converts a value and does not format it (3.13+, around a graph break) is no f-string, which
/// would ask a text of a class of its own for its `__format__`: the builtin does the same. That of
/// `!s` would call `__init__` of such a class.
bool restore_conversion(Rewriter& r, ExprId id) {
  const Expr e = r.ast[id];
  constexpr std::uint8_t kRepr = 2, kAscii = 3;
  if (e.a == UINT32_MAX || (e.op != kRepr && e.op != kAscii)) return false;
  const ExprId function = r.ast.name(r.module.intern(e.op == kRepr ? "repr" : "ascii"), e.origin);
  r.ast[function].op = static_cast<std::uint8_t>(NameScope::Global);
  const ExprId kids[] = {function, e.kids[0]};
  r.ast[id] = Expr{ExprKind::Call, 0, 0, UINT32_MAX, r.ast.arena.copy(kids), {}, e.origin};
  return true;
}

}  // namespace

void restore_strings(Rewriter& r) {
  bool plain = false;
  if (r.may_hold(ExprKind::Binary) || r.may_hold(ExprKind::Subscript) ||
      r.may_hold(ExprKind::Unary))
    for (const std::span<const Expr> own : r.own_exprs())
      plain = plain || std::any_of(own.begin(), own.end(), [&](const Expr& e) {
                return was_plain_fstring(r, e) || was_chosen_by_constant(r, e);
              });
  if (!plain && !r.may_hold(ExprKind::FormattedValue) && !r.may_hold(ExprKind::JoinedStr)) return;
  std::vector<ExprId> order;
  for (ExprId id : collect_expressions(
           r.ast, r.body))  // comprehensions have been through this as bodies of their own
    if (!r.ast[id].origin.code || r.ast[id].origin.code == r.code) order.push_back(id);
  std::unordered_set<std::uint32_t> inside, specifications;
  for (ExprId id : order)
    if (const Expr& e = r.ast[id];
        e.kind == ExprKind::FormattedValue && e.kids.size() > 1 && e.kids[1])
      specifications.insert(e.kids[1].index);
  for (ExprId id : order)
    if (r.ast[id].kind == ExprKind::JoinedStr)
      for (ExprId kid : r.ast[id].kids) inside.insert(kid.index);
  for (ExprId id : order) {
    const ExprKind kind = r.ast[id].kind;
    if (kind != ExprKind::FormattedValue && kind != ExprKind::JoinedStr &&
        kind != ExprKind::Binary && kind != ExprKind::Subscript && kind != ExprKind::Unary)
      continue;
    const Expr e = r.ast[id];
    if (e.kind == ExprKind::FormattedValue && !inside.contains(id.index)) {
      if (restore_conversion(r, id)) continue;
      const ExprId part = r.ast.add(e);
      r.ast[id] = Expr{ExprKind::JoinedStr, 0, 0, UINT32_MAX, {}, {}, e.origin};
      const ExprId kids[] = {part};
      r.ast[id].kids = r.ast.arena.copy(kids);
      inside.insert(part.index);
      continue;
    }
    if (was_chosen_by_constant(r, e)) {
      ExprId& chosen = e.kids[e.kids.size() - 1];
      chosen = r.always(chosen);
      continue;
    }
    if (was_plain_fstring(r, e)) {
      e.kids[0] =
          r.ast.expr(ExprKind::JoinedStr, {e.kids[0]}, UINT32_MAX, 0, r.ast[e.kids[0]].origin);
      continue;
    }
    if (e.kind != ExprKind::JoinedStr) continue;
    std::vector<ExprId> parts;
    bool changed = false;
    for (std::size_t i = 0; i < e.kids.size(); ++i) {
      std::size_t end = i;
      while (end < e.kids.size() && r.is_constant(e.kids[end], ConstKind::Str)) ++end;
      if (end < i + 2) {
        parts.push_back(e.kids[i]);
        continue;
      }
      std::string text;
      for (std::size_t j = i; j < end; ++j) text += r.constant(e.kids[j])->text;
      Const joined;
      joined.kind = ConstKind::Str;
      joined.text = r.module.arena.copy_string(text);
      parts.push_back(r.ast.constant(r.module.add(joined), r.ast[e.kids[i]].origin));
      i = end - 1;
      changed = true;
    }
    if (changed) r.ast[id].kids = r.ast.arena.copy(parts);
  }
  if (!folds_percent_format(r.object)) return;
  for (ExprId id : order)
    if (r.ast[id].kind == ExprKind::JoinedStr && !specifications.contains(id.index))
      restore_percent_format(r, id);
}

}  // namespace depyf
