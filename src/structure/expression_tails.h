#pragma once
// Copies of what follows an expression with control flow in it, which the compiler gives each of
// the expression's ends: they become one block again, with the expression's value as its parameter.
// What leads to that block is then an operand (fold.cpp).
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "structure/arm.h"
#include "structure/graph.h"

namespace depyf {

/// But for join_copied_tail(), these are asked of tests both of whose ways lead to arms.
class ExpressionTails : Arms {
 public:
  explicit ExpressionTails(StructureGraph& s) : Arms(s) {}

  /// `return f(x if c else y)`, where what follows the conditional expression was copied to both
  /// arms with the exit: the copies become one block again, with the value that differs as its
  /// parameter. Columns tell which operations are copies; without them, the shortest tail is taken.
  /// `hands_over`: of arms that hand a value over, as `c < (x if d else y)` at the end of a chain,
  /// where the tail takes what was computed before the test.
  bool join_tails(BlockId a, bool hands_over = false);

  /// `x = a or b < c < d; return x`, where what follows the value was copied to the way that
  /// computes its last operand: the copy becomes a jump to the block that the other way leads to,
  /// with the operand as that block's parameter.
  bool join_copied_tail(BlockId a);

  /// `return a or (b if c else d)`: up to 3.9 a jump to the return at an expression's end is a
  /// return itself, on whatever row the operand stands. What only the end of an expression leads to
  /// is no statement: an arm that returns beside one that goes there goes there too.
  bool join_returning_arm(BlockId a);

  /// `return x if c else y` in a handler, which ends before the `return` that was copied to both
  /// arms: the copies of one statement become one block, with the value as its parameter.
  bool join_returns_of_arms(BlockId a);

 private:
  /// Up to 3.9 only the return itself is copied, to the end of the first arm and on its row. The
  /// other one is of the row where the statement begins: of a statement of its own, that would be
  /// after the test's.
  bool ends_expression(BlockId test, const Node& b, const Node& c) const;

  /// `finally: if c: return x` at the end of a function, on one row: where the handler's copy
  /// raises again, the other one returns None, of that row too. That is no `return x if c else
  /// None`.
  bool ends_function_behind_finally(BlockId a);

  /// Is it an operator whose operands are all constants?
  bool works_on_constants(ValueId v) const;

  /// `return (p if c else q) + r` of constants: 3.14 and later fold one of the two copies of the
  /// sum. It becomes a sum again, of a constant that gives the same.
  void unfold_copy(BlockId a);

  /// Does one of the last `length` operations take what the block did not compute?
  bool takes_from_before(BlockId block, std::size_t length);

  /// Does what stands in front of the last `length` operations bind a name to the value?
  bool is_stored_before(const Node& node, std::size_t length, ValueId v) const;

  /// Does one of the last `length` operations put the value into a longer f-string?
  bool is_part_of_string(const Node& node, std::size_t length, ValueId part) const;

  /// Where v stands, counted from the end of the block; SIZE_MAX when it stands elsewhere.
  static std::size_t from_end(const Node& node, ValueId v, std::size_t length);

  /// Do the last `length` operations of two blocks, and what the blocks end in, differ in one value
  /// only, which each block computes for them?
  bool one_difference(BlockId x, BlockId y, std::size_t length,
                      const std::vector<std::pair<ValueId, ValueId>>& ends, ValueId tested,
                      ValueId& p, ValueId& q);

  /// Up to 3.12 `(f if c else g)(x)` has the NULL for its call below the condition, `f(x) if c else
  /// g(x)` in the arms.
  bool is_callee_where_null_is(BlockId arm, std::size_t length, ValueId p);

  /// Is what stands before the tail nothing but the evaluation of `root`?
  bool arm_is_expression(BlockId block, std::size_t length, ValueId root, ValueId tested = {});

  void share_tail(BlockId x, BlockId y, std::size_t length, ValueId p, ValueId q);

  /// Of the tests one way from which raises an exception again.
  std::optional<std::unordered_set<std::int32_t>> rows_that_raise_again_;
};

}  // namespace depyf
