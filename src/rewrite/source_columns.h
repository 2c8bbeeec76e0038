#pragma once
// How the source was laid out, as far as the columns of its bytecode tell (CPython 3.11 and later,
// see Objects/locations.md).
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rewrite/rewriter.h"

namespace depyf {

/// A stretch of one line of the source; line 0: unknown. Columns count bytes, from 0.
struct SourceSpan {
  std::int32_t line = 0;
  std::uint32_t first = 0, end = 0;
  std::uint32_t width() const { return end - first; }  // 0: unknown
  bool operator==(const SourceSpan&) const = default;
};

/// From 1 on; 0: unknown.
struct SourceRows {
  std::int32_t first = 0, last = 0;
  void add(std::int32_t row);
};

class SourceColumns {
 public:
  explicit SourceColumns(const Rewriter& r);

  /// False where the bytecode has no columns; then everything is unknown.
  bool known() const { return known_; }
  /// Does the compiler copy the end of a function to each way that leads there, with the line of
  /// what comes before (3.10+)?
  bool copies_ends() const { return copies_ends_; }
  /// Are rows all that tells, and exact (3.10)?
  bool only_rows() const { return !known_ && copies_ends_; }
  /// The rows from the first of a statement's code to the last, with what is nested in it. A row
  /// that holds a comment, `else:` or a bracket alone has no code.
  SourceRows rows(StmtId statement) const;
  /// Of the instruction that made a node.
  SourceSpan at(const Origin& origin) const {
    if (origin.code != r_.code || origin.line <= 0 || origin.columns == 0) return {};
    return {origin.line, (origin.columns >> 16) - 1, (origin.columns & 0xFFFF) - 1};
  }
  /// Of what an expression has on its first line.
  SourceSpan of(ExprId expression) const;
  /// The line on which what a statement evaluates begins; 0: unknown.
  std::int32_t line(StmtId statement) const;
  /// The column at which a statement begins.
  std::optional<std::uint32_t> start(StmtId statement) const;
  /// The least column at which one of the statements begins: that of their list, unless all known
  /// ones are in an `else` that is not there yet.
  std::optional<std::uint32_t> start(std::span<const StmtId> list) const;
  /// By how much one level is indented.
  std::uint32_t step() const;
  /// Is this `return`, `return None` or `continue` written there? False for the end of a function
  /// or loop, and for copies of one statement.
  bool writes_jump(StmtId statement) const;
  /// Is no other jump at the place of this one, which would be a copy of the same statement?
  bool is_single(StmtId jump) const;
  /// Is this `return None`, which stands where a `break` would do the same, a `break`? From 3.10 on
  /// the compiler copies the end of the function to it. Rows alone do not tell: in loops at the end
  /// of functions, some packages have more of the one and some more of the other.
  bool writes_break(StmtId statement) const;
  /// Without columns: does this `return None` have a row of its own? One that the compiler adds has
  /// the row of what comes before it. `leaves`: it may leave a handler first.
  bool has_own_row(StmtId statement, bool leaves) const;
  /// Without columns, whose instructions each `try` has one of: do the two that begin with this
  /// statement stand on one row, as those of `try … except … finally` do?
  std::optional<bool> begins_one_try(StmtId first) const;
  /// Is this `return None` written as `return`? Unknown where leaving a handler or a `with` comes
  /// before it.
  std::optional<bool> bare_return(StmtId statement) const;

 private:
  SourceSpan of(StmtId statement) const;  // of the expressions that it holds itself
  SourceSpan of_roots() const;            // of what work_ holds, which is empty afterwards
  std::optional<std::uint32_t> simple_start(StmtId statement) const;
  std::optional<std::uint32_t> start_of_roots(
      const Stmt& s) const;  // of a statement that is nothing but expressions

  SourceSpan place_of_jump(StmtId statement) const;  // without columns: the row alone
  bool begins_return(const SourceSpan& none) const;
  std::uint32_t header_width() const;
  std::uint32_t depth() const;
  std::uint32_t widest_step(std::span<const StmtId> all, std::uint32_t least) const;
  std::optional<std::uint32_t> keyword_at(StmtId statement) const;
  std::vector<std::uint32_t> on_rows_of_heads(std::span<const StmtId> all) const;
  SourceSpan of_or_at(StmtId statement) const;
  void find_jumps() const;
  void find_others() const;
  void find_rows() const;
  void find_tries() const;

  const Rewriter& r_;
  bool known_, copies_ends_;
  mutable ExprIds work_;
  // Found when first asked for.
  mutable bool jumps_found_ = false, others_found_ = false, rows_found_ = false,
               tries_found_ = false;
  mutable std::vector<SourceSpan> jumps_,
      others_;  // of each `return None` and `continue`, and of expressions as wide as those, sorted
  mutable std::vector<std::int32_t> busy_rows_;  // where more than a `return` of a constant stands
  mutable std::vector<std::int32_t> leaving_rows_;  // where a handler or a `with` is left, too
  mutable std::vector<std::pair<std::int32_t, bool>>
      tries_;  // the row behind two `try`, and are these on one row? Sorted
  mutable std::uint32_t step_ = 0, first_ = 0;  // of indentation; the least column of a statement
  struct Start {
    bool looked = false;
    std::optional<std::uint32_t> column;
  };
  mutable std::vector<Start> starts_;  // by statement of the body: start_of_roots(), which nothing
                                       // changes any more where starts are asked for
};

}  // namespace depyf
