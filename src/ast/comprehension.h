#pragma once
#include <cstdint>
#include <span>

#include "ast/ast.h"

namespace depyf {

/// Expr::op of an inlined comprehension whose value was dropped before its variables were given
/// back, as that of an annotation is on one row (3.12); a statement drops it behind them.
constexpr std::uint8_t kDroppedFirst = 2;

/// Expr::op of an inlined comprehension on the row of its target whose value is yet stored after
/// its variables were given back: when the compiler swapped such stores, a jump led to this one
/// (`x = [a for a in b] if __debug__ else c`). On a row of its own, nothing is swapped.
constexpr std::uint8_t kStoredLast = 3;

/// A list, set or dict comprehension; a generator expression is none.
constexpr bool is_comprehension(ExprKind kind) {
  return kind == ExprKind::ListComp || kind == ExprKind::SetComp || kind == ExprKind::DictComp;
}

constexpr bool is_dropped_first(const Expr& e) {
  return e.op == kDroppedFirst && is_comprehension(e.kind);
}

/// The comprehension that a loop builds: `kind` is ListComp, SetComp, DictComp or GeneratorExp,
/// `loop` its statements (a For, mostly alone). Inside may be further For, If (also as `if not c:
/// continue`), assignments (`for y in [x]` is compiled to `y = x`), and as the innermost statement
/// one Append (raw, see ast.def) or, for a generator expression, one `yield` as a statement.
/// `first_iter` replaces the iterable of the outermost loop unless none. None when the loop is no
/// such comprehension; nothing is changed then.
ExprId comprehension_from_loop(Ast& ast, ExprKind kind, std::span<const StmtId> loop,
                               ExprId first_iter = ExprId::none());

}  // namespace depyf
