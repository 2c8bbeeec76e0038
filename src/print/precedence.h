#pragma once
// How tightly expressions bind: the one table that decides where parentheses stand. It follows the
// grammar in CPython's documentation (Doc/reference/expressions.rst, "Operator precedence").
#include <cstdint>
#include <string_view>

#include "ast/ast.h"

namespace depyf {

enum class Prec : std::uint8_t {
  Lowest,  // tuple without parentheses, yield, walrus: allowed only where the grammar names them,
           // see Allow
  Test,    // lambda, x if c else y
  Or,
  And,
  Not,
  Compare,
  BitOr,
  BitXor,
  BitAnd,
  Shift,
  Arith,
  Term,
  Factor,  // -x +x ~x
  Power,
  Await,
  Primary,  // attribute, subscript, call
  Atom,
};

/// What a place in the grammar takes without parentheses beside ordinary expressions.
enum Allow : std::uint8_t {
  kAllowNothing = 0,
  kAllowTuple = 1,         // a, b
  kAllowStarredTuple = 2,  // *a, b  (needs kAllowTuple)
  kAllowYield = 4,
  kAllowWalrus = 8,
  kAllowSlices = 16,  // inside a subscript: a:b, and tuples of them
};

constexpr Prec tighter(Prec prec) { return static_cast<Prec>(static_cast<std::uint8_t>(prec) + 1); }

struct Operator {
  std::string_view text;  // with the spaces around it
  Prec prec;
};

Operator binary_operator(BinaryOp op);
Operator unary_operator(UnaryOp op);
std::string_view compare_operator(CompareOp op);

/// How tightly an expression binds as it is printed. Constants: a negative number is a Factor, an
/// integer (before a dot) an Atom.
Prec precedence(const Ast& ast, ExprId expr);
Prec precedence(const Const& value);

}  // namespace depyf
