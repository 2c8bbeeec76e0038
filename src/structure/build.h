#pragma once
// One block's operations -> statements and the expressions that are left over. Stack order is kept:
// a value becomes part of the expression that consumes it only when nothing was evaluated in
// between that could tell; otherwise it gets a temporary.
#include <vector>

#include "structure/graph.h"
#include "support/small_vector.h"

namespace depyf {

/// Does the operation only do something? Then no expression holds it.
bool yields_no_value(Op op, std::uint32_t aux);

class BlockBuilder {
 public:
  using Operands = SmallVector<ExprId, 8>;

  /// `expression_only`: nothing may become a statement; `failed`, which else is never set, tells
  /// that something had to.
  BlockBuilder(StructureGraph& s, bool expression_only)
      : s_(s), expression_only_(expression_only) {}

  /// A value that is there at entry and whose first use says what it is: a loop's item, a context
  /// manager's result, a caught exception.
  void seed(ValueId v, ExprId placeholder, bool once = false);
  void run(const std::vector<ValueId>& body);
  /// The expression of a value that the block's end uses (condition, returned value, edge
  /// argument).
  ExprId take(ValueId v);
  /// Likewise, of the condition of a statement.
  ExprId take_test(ValueId v);
  /// Several at once, in order of evaluation.
  Operands take_all(std::span<const ValueId> values);
  /// Gives every value still pending a temporary (context managers, and iterators of a loop that
  /// follows the node `from`, are left in StructureGraph::built).
  void finish(BlockId from);
  /// Likewise, and leaves nothing in StructureGraph::built.
  void finish_all();
  void emit(StmtId statement);

  SmallVector<StmtId, 16> out;
  bool failed = false;
  std::size_t pending_count() const { return pending_.size(); }
  ValueId external;  // expression_only: the value from outside that was used, if any

 private:
  static constexpr std::uint32_t kNoLocal = UINT32_MAX;
  struct Pending {
    ValueId value;
    ExprId expr;
    std::uint32_t remaining;  // uses not yet seen
    std::uint32_t targets =
        0;  // stores seen so far, in targets_: a chained assignment, or a walrus
    std::uint32_t local = kNoLocal;  // it is there, too, and read from there
    bool is_once() const { return remaining == 1 && targets == 0; }
  };
  struct Target {
    ValueId value;
    ExprId expr;
  };
  struct OpenUnpack {
    ValueId op;
    std::uint32_t count, star;  // star: element with `*`, UINT32_MAX
    std::vector<ExprId> elements;
    bool on_rows;  // see kOnRows
    void add_up_to(std::size_t end, ExprId target, Ast& ast);
  };
  void operation(ValueId v, std::size_t position);
  /// The operations from `position` on, up to where they make a statement; the position behind it.
  std::size_t run_to_statement(std::size_t position);
  void shaped_operation(ValueId v, const Value& value, std::size_t position);
  ExprId plain_operation(ValueId v, const Value& value, std::span<const ExprId> kids);
  bool part_of_a_shape(ValueId v, const Value& value, std::size_t position);
  ExprId select_expression(ValueId v, ExprId operand);
  void push(ValueId v, ExprId e);
  bool operand_ready(ValueId v, ExprId& out);
  /// What comes back is overwritten when the next operands are taken.
  std::span<const ExprId> take_operands(std::span<const ValueId> operands);
  void take_scattered(std::span<const ValueId> operands);
  ExprId take_one(ValueId v);
  ExprId use(const Pending& entry);
  ExprId written(ValueId v, ExprId e);
  ExprId use_written(const Pending& entry);
  bool loop_follows(ValueId iterator, BlockId from) const;
  Operands take_targets(const Pending& entry);
  bool movable(const Pending& entry) const;
  bool names_alone(const Pending& entry) const;
  bool unseen(ExprId e) const;
  void spill_through(std::size_t index);
  void spill_for_statement();
  void spill_loads_of(std::uint32_t slot);
  bool loads(const Pending& entry, std::uint32_t slot) const;
  bool forced(const Pending& entry) const;
  void spill_at_end();
  bool made_anew(const Pending& entry) const;
  ExprId load_again(const Pending& entry);
  bool stands_for(ValueId store_op) const;
  void store_first(ExprId target, ValueId store_op);
  void store(std::size_t position);
  bool repeats_store(std::size_t position) const;
  void assign_target(ValueId value, ExprId target, ValueId store_op);
  bool parallel_assignment(std::size_t position);
  bool parallel_targets(std::size_t position);
  bool is_whole_value(const Pending& entry) const;
  PyVersion version() const { return s_.module[s_.lifted.code].version; }
  /// One assignment of several values, of the operations from `position` up to `end`.
  void emit_parallel(std::span<const ExprId> targets, std::span<const ExprId> values,
                     std::size_t position, std::size_t end, bool on_rows = false);
  bool unpack(std::size_t position);
  bool unpack_overwritten(std::size_t position);
  void close_unpack(ExprId target);
  void unpack_to_temporaries(ValueId op);
  bool unpack_is_regular(std::size_t position) const;
  bool augmented_load(std::size_t position);
  void inplace(std::size_t position);
  /// To the targets seen so far and this one.
  StmtId assign_statement(const Pending& entry, ExprId last);
  void name_expressions(StmtId statement);
  Origin origin(ValueId v) const { return s_.origin(v); }
  static bool is_store(Op op);
  bool simple_store(ValueId v) const;

  StructureGraph& s_;
  bool expression_only_;
  bool compares_ = false;  // the operands that are taken are those of a comparison
  const std::vector<ValueId>* body_ = nullptr;
  SmallVector<Pending, 16> pending_;
  Operands taken_;
  std::vector<Target> targets_;
  std::vector<OpenUnpack> unpacks_;
  bool repeats_store_ = false;  // the store that runs does, see repeats_store()
  std::size_t skip_until_ = 0;
  bool ends_ = false;                 // all that is pending is spilled
  std::uint32_t changed_ = kNoLocal;  // the local that is about to be stored or deleted
  struct AugStore {
    ValueId store;
    ExprId target;
  };
  std::vector<AugStore> augmented_;
};

}  // namespace depyf
