#pragma once
// What statement each handler region is, and the removal of what the compiler copied to every way
// out of it: the class of regions*.cpp and cleanups.cpp.
#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "structure/finally_copy.h"
#include "structure/graph.h"

namespace depyf {

class Regions {
 public:
  explicit Regions(StructureGraph& s) : s_(s) {}
  void erase(RegionId r);
  /// Regions that only restore the interpreter's exception state: their handler pops it and raises
  /// again.
  void erase_implicit();
  /// A handler that begins with a loop which begins with `try`: up to 3.10 the empty block at its
  /// entry counts as protected by that `try`, which the loop's other rounds enter after it.
  void leave_empty_entries();
  void erase_all(const std::vector<std::uint8_t>& gone);
  bool inside(BlockId b, RegionId r) const { return s_.is_ancestor(r, s_.nodes[b.index].region); }
  /// Unreachable blocks go, so that they count nowhere.
  void sweep();
  void classify(RegionId r);
  /// Does the block end in a test of what the handler caught?
  bool tests_exception_of(BlockId b, BlockId handler) const;
  /// `except tuple([E for E in b])`: from 3.12 on the loop of the comprehension stands between the
  /// handler's begin and the test.
  bool computes_type_first(BlockId handler) const;
  // ---------------------------------------------------------------- except*
  struct StarClause {
    BlockId first, test, body;  // `first`: where the type is computed
    ValueId type;
    BlockId next;  // the following clause; of the last one, where what is left is raised again
    std::vector<BlockId> ends;        // of the body: they jump to `next`
    std::vector<BlockId> collectors;  // handlers that put what the body raised into the list
  };
  /// `except*` (3.11+) splits the exception with each test, puts what the clauses raise and what
  /// none of them took into a list, and at the end raises what is in it again. Brought to the form
  /// of `except`: a chain of tests, clauses that leave the handler, a last node. Any other layout
  /// is left alone.
  void recognise_star(RegionId r);
  struct Star {
    RegionId region;
    ValueId list;                                           // of what the clauses raise,
    std::unordered_map<std::uint32_t, std::uint8_t> lists;  // and what else it is called
    std::vector<StarClause> clauses;
    BlockId end;  // raises again what no clause took
  };
  bool read_star(Star& star);
  /// The block that ends the computing of a clause's type, from `first` on, with its test; or that
  /// raises again what no clause took. The type may have control flow inside.
  BlockId star_test(const Star& star, BlockId first, FlatMap<std::uint8_t>& seen);
  bool read_star_clause(Star& star, BlockId first, BlockId test, ValueId type);
  bool is_list(const Star& star, ValueId v);
  bool is_append(const Star& star, ValueId v);
  void note_appends(Star& star, BlockId b);
  /// What the block's edge hands on are versions of the list, and nothing else.
  bool hands_on_lists(const Star& star, BlockId b);
  void forget_list(const Star& star, BlockId b);
  void rewrite_star_clause(const Star& star, const StarClause& clause, ValueId exception,
                           BlockId behind);
  void rewrite_star_end(const Star& star, ValueId prepared, ValueId exception, BlockId again);
  /// The exception that the handler at `b` caught: what its first append puts into the list.
  ValueId caught_by(BlockId b) { return caught_[b.index]; }
  /// A handler that only unbinds the clause's name and puts the exception into the list.
  bool is_collector(BlockId b, const std::unordered_map<std::uint32_t, std::uint8_t>& lists);
  /// The blocks of a clause's body that lead to what follows it. False when something else leads
  /// there.
  bool find_ends(StarClause& clause, BlockId miss, RegionId out);
  /// Does the handler at `b` put what it caught into a list?
  bool catches(BlockId b) {
    for (ValueId v : s_.nodes[b.index].body)
      if (s_.is_op(v, Op::LIST_APPEND) && s_.is_exception_of(s_.resolve(s_.at(v).operands[1]), b))
        return true;
    return false;
  }
  /// `except E as name: pass` protects nothing: the name is stored and unbound in one go. The
  /// unbinding is implied by the `as`.
  void forget_name(BlockId b, BlockId handler);
  /// A constant that is returned from within: loaded before the exception state is popped at
  /// body[pop] (3.14+ folds `return 0, 0` after that order is settled), or at the place in the
  /// source where it is popped. An implicit `return None` takes that place too.
  bool returns_value_before(const Node& node, std::size_t pop) const;
  bool is_quiet(ValueId v) const { return is_quiet_in_handler(s_, v); }
  /// A way out of a handler, from the operation that pops the exception state on: does it only
  /// return what is there already, or raise again?
  bool only_ends(BlockId b, std::size_t at) const;
  /// The code of each `except` handler becomes a region (kind Scope), so that what follows the
  /// statement is told from it: control leaves the handler where the exception state is popped. A
  /// handler inside pops its own. So does that of a `finally` which control leaves by `break` or
  /// `continue`: where the loop has no back edge, nothing else tells its body from what the jump
  /// leads to.
  void scope_handlers();
  // ---------------------------------------------------------------- with
  /// Takes away the calls of the exit function; what control does after them is what the program
  /// does after the statement.
  bool leads_elsewhere(const Node& node, RegionId r) const;
  void strip_with(RegionId r);
  // ---------------------------------------------------------------- finally
  /// The rest of a block from `at` on, as a block of its own.
  BlockId split(Position p);
  /// A `return` after which the copy of `finally` never completes is not in the bytecode. Nothing
  /// takes what it returns off the stack.
  ValueId left_for_return(const Node& node) const;
  /// False when a way out has no copy: then the statement is no `finally`.
  bool strip_finally(RegionId r);
  /// A way out of the protected code: it leads to a copy of the body.
  struct WayOut {
    BlockId copy, after;     // after: what follows the copy
    bool completes;          // else nothing follows the copy
    bool handed_on = false;  // the copy's parameters are also those of `after`
  };
  /// Where `ways`, all that lead into a copy of a cleanup, hand on different values: the copy's
  /// parameters become those of the block `after` it.
  void move_differing_parameters(std::span<const BlockId> ways, WayOut& way);
  /// Where the copy stays for other ways: what is returned after it becomes a parameter there, too.
  bool hand_on_parameters(BlockId copy, BlockId after);
  /// A jump back to the start of a loop that 3.14's table leaves out belongs to the statement: what
  /// leaves a `finally` runs a copy of its body, also on the way back into it.
  bool take_in_ways_back(RegionId r, std::span<const BlockId> protects);
  /// A jump of its own out of the statement and back to its start, for a copy of the body that ends
  /// in a loop's back edge. `from` is that copy.
  BlockId jump_back(Position to, BlockId from, RegionId r);
  /// Of the protected blocks; false where one leads to no copy.
  bool find_ways_out(RegionId r, std::span<const BlockId> protects, std::vector<WayOut>& ways);
  /// Every `continue` has a copy of the body of its own, before that of the statement's end: such a
  /// way becomes a block of the statement.
  void keep_continues(RegionId r, std::span<const BlockId> protects, std::span<const WayOut> ways);
  /// Leads the edge of block `b` straight after the copy.
  void lead_past_copy(BlockId b, int k, const WayOut& way);
  /// `name = None; del name` as a region's handler: what `except … as name` leaves behind.
  bool unbinds_name(RegionId r) const;
  /// A returned value that was computed before the exit: the return belongs to the protected code.
  bool absorb_returns();
  void run();

 private:
  void tidy();
  /// Where each region's own blocks and each context manager's exit calls are.
  void index();
  StructureGraph& s_;
  std::vector<std::vector<RegionId>> children_;  // of each region
  std::vector<std::vector<BlockId>> protected_;  // of each region, without its children
  std::unordered_map<std::uint32_t, std::vector<BlockId>>
      exit_calls_;                                     // by the value that entered the context
  std::unordered_map<std::uint32_t, ValueId> caught_;  // by the handler's block
};

}  // namespace depyf
