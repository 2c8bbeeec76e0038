#pragma once
// The graph -> raw statements, by its dominator tree: the class of emit*.cpp.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "structure/build.h"
#include "structure/statement_graph.h"

namespace depyf {

class Emitter : StatementGraph {
 public:
  Emitter(StructureGraph& s, BlockId entry, RegionId base, BlockId stop)
      : StatementGraph(s, entry, base, stop),
        first_stmt_(static_cast<std::uint32_t>(s.ast.stmts.size())) {}
  std::span<StmtId> run();

 private:
  /// What is still to be done. Nearly all of it is one of the first three kinds.
  struct Task {
    enum Kind : std::uint8_t {
      Gen,
      Part,
      Edge,
      Other
    } kind;  // Other: the last of Emitter::others_
    bool with_args = false;
    std::uint8_t edge = 0;
    std::uint32_t node = kNone, list = kNone;
    Context context = {};
  };
  /// A list of statements that is being made: they are chained.
  struct List {
    StmtId first, last;
    std::uint32_t size = 0;
  };
  struct Fate {
    StmtId next;           // in its list
    bool ends = false;     // control never comes to what follows the statement
    bool goes_on = false;  // it never ends, and yet the compiler made code that follows it
  };
  /// If the function ends in a compound statement: code after the last `if` whose body never
  /// completes, or `try` whose handlers never do, was its `else`.
  std::span<StmtId> end_in_else(std::span<StmtId> list);
  std::uint32_t list() {
    lists_.push_back({});
    return static_cast<std::uint32_t>(lists_.size() - 1);
  }
  Fate& fate(StmtId st) {
    const std::size_t at = st.index - first_stmt_;
    if (fates_.size() <= at) [[unlikely]]
      fates_.resize(2 * at + 16);
    return fates_[at];
  }
  void add(std::uint32_t l, StmtId st) {
    List& list = lists_[l];
    if (list.size++ == 0)
      list.first = st;
    else
      fate(list.last).next = st;
    list.last = st;
  }
  std::span<StmtId> close(std::uint32_t l) {
    const std::span<StmtId> out = s_.ast.arena.array<StmtId>(lists_[l].size);
    StmtId at = lists_[l].first;
    for (StmtId& st : out)
      st = std::exchange(at, at == lists_[l].last ? at : fates_[at.index - first_stmt_].next);
    return out;
  }
  void later(std::function<void()> task) {
    others_.push_back(std::move(task));
    work_.push_back({Task::Other});
  }
  void gen_later(std::uint32_t n, std::uint32_t l, const Context& ctx) {
    work_.push_back({Task::Gen, false, 0, n, l, ctx});
  }
  void go_later(BlockId from, int k, std::uint32_t l, const Context& ctx, bool with_args = true) {
    work_.push_back({Task::Edge, with_args, static_cast<std::uint8_t>(k), from.index, l, ctx});
  }
  Origin end_origin(const Node& node) const {
    return {node.term_offset, node.term_line, s_.lifted.code, node.at_test ? 0 : node.term_columns};
  }
  std::span<StmtId> only_pass() {
    return s_.ast.arena.copy(std::initializer_list<StmtId>{statement(StmtKind::Pass)});
  }
  StmtId statement(StmtKind kind, Origin origin = {}) { return s_.ast.stmt(kind, origin); }
  bool never_goes_on(StmtId st) const {
    const std::size_t at = st.index - first_stmt_;
    return at < fates_.size() && fates_[at].ends;
  }
  bool terminates(std::uint32_t l) const {
    return lists_[l].size != 0 && never_goes_on(lists_[l].last);
  }
  void mark_end(StmtId st) { fate(st).ends = true; }
  void append_end(std::uint32_t l, StmtKind kind, Origin origin = {}) {
    StmtId st = statement(kind, origin);
    add(l, st);
    mark_end(st);
  }
  ExprId reference(ValueId v) {
    v = s_.resolve(v);
    if (s_.is_const(v)) return s_.ast.constant(ConstId(s_.at(v).arg), s_.origin(v));
    if (s_.known(v).built && !s_.known(v).named) return s_.known(v).built;
    return s_.ast.name(s_.temporary_for(v));
  }
  void assign_params(std::span<const ValueId> params, std::span<const ExprId> values,
                     std::uint32_t l);
  /// Parameters of the block that edge k leads to which somebody reads, with their arguments.
  void used_params(const Edge& edge, std::vector<ValueId>& params, std::vector<ValueId>& args);
  /// Is there one?
  bool hands_over(const Edge& edge);
  struct Seed {
    ValueId value;
    StmtId statement;  // For, With or Handler that takes the target
  };
  ExprId placeholder() { return s_.ast.expr(ExprKind::Raw, {}); }
  /// The block's own statements. The builder is left so that the terminator can take its values.
  void build(std::uint32_t b, BlockBuilder& builder);
  void plug(const Seed& seed, ExprId hole, BlockBuilder& builder);
  void flush(BlockBuilder& builder, std::uint32_t l) {
    for (StmtId st : builder.out) add(l, st);
    builder.out.clear();
  }
  /// The end of a block's own statements: what a jump hands over is evaluated last.
  void finish_and_hand_over(BlockBuilder& builder, BlockId from, const Edge& edge, std::uint32_t l);
  void gen(std::uint32_t n, std::uint32_t l, const Context& ctx);
  /// n's own part, then `merges` one after the other.
  void gen_sequence(std::uint32_t n, std::uint32_t l, const Context& ctx,
                    std::vector<std::uint32_t> merges);
  void schedule(std::span<const std::uint32_t> merges, std::uint32_t l, const Context& ctx) {
    for (std::size_t i = merges.size(); i > 0; --i) {
      Context c = ctx;
      if (i < merges.size()) c.follow = merges[i];
      std::uint32_t m = merges[i - 1];
      gen_later(m, l, c);
    }
  }
  /// The return of a constant is repeated where it is reached; other code is there once.
  void drop_copied_returns(std::vector<std::uint32_t>& merges) const {
    const auto copied = [&](std::uint32_t m) { return copied_return(m); };
    if (!std::all_of(merges.begin(), merges.end(), copied)) std::erase_if(merges, copied);
  }
  void gen_part(std::uint32_t b, std::uint32_t l, const Context& ctx);
  /// To the end of a `finally` body: falling off the end, or `break` of a loop that the body ends
  /// in.
  void go_to_end(std::uint32_t n, std::uint32_t l, const Context& ctx, Origin origin);
  void append_continue(std::uint32_t l, const Context& ctx, Origin origin);
  /// What an edge becomes: nothing (fall off the end), continue, break, the target's own code, or a
  /// copy of it.
  void go(BlockId from, int k, std::uint32_t l, const Context& ctx, bool with_args = true);
  /// `break` or `continue` that stands in the source, also where falling off the end would lead
  /// there.
  bool jump_statement(JumpRole role, std::uint32_t t, std::uint32_t l, const Context& ctx,
                      Origin origin);
  void go_to(std::uint32_t from, std::uint32_t t, std::uint32_t l, const Context& ctx,
             Origin origin);
  /// Adds to StructureOptions::loops the one around all that stands before `t` where `t` is placed.
  void ask_for_loop(std::uint32_t from, std::uint32_t t);
  void gen_if(std::uint32_t b, ExprId test, std::uint32_t l, const Context& ctx);
  struct CasePart {
    std::uint32_t from =
        kNone;  // the node whose edge leads to the body: the case's own, or its guard
    int edge = 0;
    ExprId pattern, guard;
    std::uint32_t list = kNone;
    bool passes = false;  // the body is `pass`: it leads where a failed test leads
    Origin origin;
  };
  /// A block's operations as the one expression that it branches on.
  ExprId probe_condition(std::uint32_t b);
  /// The guard of the case at `head`: a condition right after the pattern which, when it does not
  /// hold, leads where a failed test leads.
  std::uint32_t find_guard(std::uint32_t head, CasePart& part);
  /// The cases from `n` on, like the arms of an `if`; what several bodies lead to stands after the
  /// statement.
  void gen_match(std::uint32_t n, std::uint32_t l, const Context& ctx,
                 std::vector<std::uint32_t> merges);
  struct MatchShape {
    std::vector<CasePart> parts;
    std::unordered_set<std::uint32_t> linked;  // the cases and their guards
    std::uint32_t last_case = kNone;
    std::uint32_t otherwise = kNone;    // where control goes when no case matches,
    bool is_default = false;            // which is the body of a `case _`
    std::vector<std::uint32_t> merges;  // what follows the statement
    bool exhaustive() const { return is_default || otherwise == kNone; }
  };
  void link_cases(std::uint32_t n, MatchShape& shape);
  CasePart default_case();  // `case _`
  void find_merges_of_cases(std::uint32_t n, MatchShape& shape);
  /// Does the body of a case continue with what follows the statement?
  bool goes_on_behind(const Context& ctx, const CasePart& part);
  /// A test of a last `case _` begins its body, and is no guard, where what the test leads to joins
  /// again before what follows the other bodies.
  void find_body_of_default(const Context& ctx, MatchShape& shape);
  void find_default(const Context& ctx, MatchShape& shape);
  /// Is what only the cases of the statement lead to when none matches the body of a `case _`, and
  /// not what follows the statement?
  bool stands_in_default(const Context& ctx, const MatchShape& shape);
  /// The statement, whose bodies are done. `complete`: one of `parts` always matches.
  void close_match(StmtId st, std::uint32_t l, const MatchShape& shape, std::vector<CasePart> parts,
                   bool complete);
  void go_from_match(std::uint32_t from, std::uint32_t t, std::uint32_t l, const Context& ctx);
  static Context in_loop_body(std::uint32_t h, std::uint32_t exit, const Context& around) {
    return {h, h, exit, false, around.region};
  }
  void gen_loop(std::uint32_t h, std::uint32_t l, const Context& ctx);
  /// After a loop: what `break` reaches, and what else follows.
  void leave_loop(std::uint32_t h, std::uint32_t exit, std::vector<std::uint32_t> after,
                  std::uint32_t l, const Context& ctx);
  /// The same for the statement of a loop that `break` alone leaves; after one that nothing
  /// leaves, nothing is gone to.
  void leave_by_break(StmtId st, std::uint32_t h, const LoopShape& shape,
                      const std::vector<std::uint32_t>& after, std::uint32_t l, const Context& ctx);
  bool gen_while(std::uint32_t h, std::uint32_t l, const Context& ctx);
  /// The body, the `else` and what follows of a `for` or a `while` with a test.
  void gen_loop_rest(StmtId st, std::uint32_t h, int stay, int leave, const LoopShape& shape,
                     std::uint32_t exit, std::uint32_t l, const Context& ctx);
  void gen_for(std::uint32_t h, std::uint32_t l, const Context& ctx);
  struct Arm {
    StmtId handler;
    std::uint32_t list;
  };
  void gen_try(RegionId r, std::uint32_t l, const Context& ctx,
               const std::vector<std::uint32_t>* only = nullptr);
  void gen_with(RegionId r, std::uint32_t l, const std::shared_ptr<const TryShape>& shape,
                const Context& inner);
  struct TryParts {
    std::uint32_t body, orelse, final;
    std::vector<Arm> arms;
  };
  /// The statement, whose parts are done.
  void close_try(StmtId st, RegionId r, std::uint32_t l, const TryShape& shape,
                 const TryParts& parts);
  void gen_clauses(RegionId r, const std::shared_ptr<TryParts>& parts, const TryShape& shape,
                   const Context& arm);
  void gen_handler(RegionId r, BlockId t, std::vector<Arm>& arms, const Context& ctx);
  SmallVector<List, 32> lists_;
  std::vector<Fate> fates_;  // by statement, from first_stmt_ on
  const std::uint32_t first_stmt_;
  SmallVector<Task, 32> work_;
  std::vector<std::function<void()>> others_;
  FlatMap<Seed> seeds_;         // by the block that takes the value
  FlatMap<std::uint8_t> open_;  // headers of the loops that are being made
};

}  // namespace depyf
