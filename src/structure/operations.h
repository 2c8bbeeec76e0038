#pragma once
// The expression or statement that one operation means, given the expressions of its operands.
// Knows nothing of order or control flow.
#include <span>

#include "ast/ast.h"
#include "ast/negate.h"
#include "lift/lifted.h"
#include "opcode/op_set.h"

namespace depyf {

/// What a chain of comparisons consists of.
inline constexpr OpSet kComparisons{Op::COMPARE, Op::IS, Op::CONTAINS};
/// What adds to a collection: a version of it, or, with kInPlace, a statement.
inline constexpr OpSet kAdds{Op::LIST_APPEND, Op::SET_ADD,     Op::MAP_ADD,   Op::LIST_EXTEND,
                             Op::SET_UPDATE,  Op::DICT_UPDATE, Op::DICT_MERGE};

/// Stmt::flag of the Pass statement that SETUP_ANNOTATIONS becomes; rewrite/ removes it.
constexpr std::uint8_t kSetupAnnotations = 1;

/// The expression of an operation over the expressions of its operands, in their order. Displays
/// grow in place of their versions: LIST_APPEND(List[…], x) is List[…, x], LIST_EXTEND(List[…], (1,
/// 2, 3)) with a constant tuple is List[…, 1, 2, 3] and else List[…, *y]; DICT_UPDATE, SET_UPDATE,
/// BUILD_MAP, BUILD_CONST_KEY_MAP, BUILD_*_UNPACK, LIST_TO_TUPLE likewise. Calls come out with
/// Keyword and Starred kids; CALL_EX over known displays is f(a, *b, k=v, **m). FORMAT is
/// FormattedValue, BUILD_STRING a JoinedStr.
ExprId make_expression(Ast& ast, const Lifted& lifted, ValueId value, std::span<const ExprId> kids);

/// Value::aux of a GET_ITER which a statement of its own writes out, so that what reads it finds an
/// iterator.
constexpr std::uint32_t kIteratorWritten = 1;

/// A call of the function `iter` itself.
ExprId call_of_iter(Ast& ast, ExprId iterable);

/// LOAD_CONST, LOAD_FAST, LOAD_DEREF, LOAD_GLOBAL and LOAD_NAME: a constant or a name.
ExprId make_load(Ast& ast, const Lifted& lifted, ValueId value);

/// The statement of an operation with an effect and no result (deletes, IMPORT_STAR, PRINT_EXPR
/// …); of one with a result an Expr statement.
StmtId make_statement(Ast& ast, const Lifted& lifted, ValueId value, std::span<const ExprId> kids);

/// The assignment target of a store operation (STORE_FAST, STORE_ATTR, STORE_SUBSCR, STORE_SLICE
/// …); `kids` are its operands without the stored value.
ExprId make_target(Ast& ast, const Lifted& lifted, ValueId store, std::span<const ExprId> kids);

}  // namespace depyf
