#pragma once
// Walks without recursion. None enters what belongs to another code object: bodies of FunctionDef
// and ClassDef, the expression of a Lambda.
#include <span>
#include <vector>

#include "ast/ast.h"
#include "support/small_vector.h"

namespace depyf {

/// One list of statements: of a statement, or (owner none) the one a walk started from.
struct ListRef {
  enum Which : std::uint8_t { Body, Orelse, Final, Arms };
  StmtId owner;
  Which which = Body;
};

/// The list itself; `owner` must not be none.
inline std::span<StmtId>& list_of(Ast& ast, ListRef ref) {
  Stmt& s = ast[ref.owner];
  switch (ref.which) {
    case ListRef::Body:
      return s.body;
    case ListRef::Orelse:
      return s.orelse;
    case ListRef::Final:
      return s.final;
    case ListRef::Arms:
      return s.arms;
  }
  return s.body;
}

// What walks fill: for bodies of usual length without an allocation.
using ListRefs = SmallVector<ListRef, 32>;
using StmtIds = SmallVector<StmtId, 64>;
using ExprIds = SmallVector<ExprId, 256>;

/// Those in which a walk looks for lists of statements.
inline constexpr NodeKinds kHoldLists = {.stmts = mask(StmtKind::For) | mask(StmtKind::While) |
                                                  mask(StmtKind::If) | mask(StmtKind::With) |
                                                  mask(StmtKind::Match) | mask(StmtKind::Try) |
                                                  mask(StmtKind::Handler) | mask(StmtKind::Case)};

/// Every list of statements below `body`, itself first; a list comes before those inside it.
void collect_lists(const Ast& ast, std::span<const StmtId> body, ListRefs& out);

/// Every statement below `body` (arms of Try and Match too), each before those inside it. Ids:
/// StmtIds or a vector, as below.
template <class Ids>
void collect_statements(const Ast& ast, std::span<const StmtId> body, Ids& out);

/// The expressions that one statement holds itself, in the order of ast.def; none of them is
/// ExprId::none().
template <class Ids>
void append_roots(const Ast& ast, StmtId statement, Ids& out);

/// Adds to `order` everything below the expressions already in it, each before what is inside it: a
/// walk back meets operands first.
template <class Ids>
void collect_below(const Ast& ast, Ids& order);

/// Every expression below `body`, each before what is inside it.
ExprIds collect_expressions(const Ast& ast, std::span<const StmtId> body);

/// Does no statement behind one of this kind run?
constexpr bool is_jump(StmtKind kind) {
  return kind == StmtKind::Return || kind == StmtKind::Raise || kind == StmtKind::Break ||
         kind == StmtKind::Continue;
}

/// Does control never reach the end of the list? False where only a look at values could tell.
bool never_ends(const Ast& ast, std::span<const StmtId> list);

}  // namespace depyf
