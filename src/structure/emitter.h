#pragma once
// The graph -> raw statements, by its dominator tree. The class of emit*.cpp, which are this
// stage's own.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "flow/dominators.h"
#include "structure/build.h"
#include "structure/graph.h"
#include "support/flat_map.h"

namespace depyf {

class Emitter {
 public:
  Emitter(Structurer& s, BlockId entry, RegionId base, BlockId stop)
      : s_(s),
        entry_(entry),
        stop_(stop),
        base_(base),
        blocks_(static_cast<std::uint32_t>(s.nodes.size())),
        regions_(static_cast<std::uint32_t>(s.regions.size())),
        first_stmt_(static_cast<std::uint32_t>(s.ast.stmts.size())) {}
  std::span<StmtId> run();

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Context {
    std::uint32_t follow = kNone;  // node that is reached by falling off the end
    std::uint32_t header = kNone;  // `continue`
    std::uint32_t exit = kNone;    // `break`
    bool in_finally = false;       // in the body of a `finally` that the loop holds
    RegionId region;
  };

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
    bool ends = false;     // control never comes to what stands behind the statement
    bool goes_on = false;  // it never ends, but the compiler goes on behind it
  };

  /// The function ends in a statement of several ways: what follows the last `if` whose body, or
  /// `try` whose handlers never go on was its `else`.
  std::span<StmtId> end_in_else(std::span<StmtId> list);
  /// Does the order of offsets tell how it was written?
  bool in_source_order() const { return s_.lifted.traits.source_order && s_.options.layout_tells; }

  /// One block, as most functions are.
  bool is_straight() const {
    if (blocks_ != 1 || regions_ != 0) return false;
    const TermKind term = s_.nodes[0].term;
    return term == TermKind::Return || term == TermKind::Raise || term == TermKind::Unreachable;
  }
  std::uint32_t try_node(RegionId r) const { return blocks_ + r.index; }
  std::uint32_t end_node(RegionId r) const { return blocks_ + regions_ + r.index; }
  bool is_block(std::uint32_t n) const { return n < blocks_; }
  bool is_try(std::uint32_t n) const { return n >= blocks_ && n < blocks_ + regions_; }

  RegionId region_of(std::uint32_t n) const {
    if (is_block(n)) return s_.nodes[n].region;
    if (is_try(n)) return s_.regions[n - blocks_].parent;
    return region_of(s_.regions[n - blocks_ - regions_].handler.index);
  }

  bool six(RegionId r) const {
    return r.index < s_.lifted.regions.size() &&
           s_.lifted.regions[r.index].entry == HandlerEntry::Six;
  }
  std::uint32_t node_of_entry() const { return wrapped(base_, entry_); }
  /// The node that an edge from region `from` to `to` leads to: the `try` of the outermost region
  /// that the edge enters.
  std::uint32_t wrapped(RegionId from, BlockId to) const;
  /// Likewise, past blocks that do nothing: those that were kept to tell a loop around a `try` from
  /// a loop inside it have done so.
  std::uint32_t past_empty(RegionId from, BlockId to) const;

  std::uint32_t target(BlockId from, int k) const {
    return targets_[from.index * 2 + static_cast<std::uint32_t>(k)];
  }
  void build_graph();
  /// The loop that holds the statement, also where no way leads from the body of a `finally` that
  /// it stands in to the loop's header.
  std::uint32_t loop_around(RegionId r) const;
  /// A `finally` or a `with` that control leaves by `break`, in a loop that never comes around and
  /// so is none in the graph: an endless loop around the statement stands for it.
  void find_once();
  /// In the order of the source: is the code at `offset` part of the body of the `for` at `h`?
  bool written_in_loop(std::uint32_t h, std::uint32_t offset) const;
  /// Dominators, in-edges and loop headers.
  void analyse();
  std::span<const std::uint32_t> preds(std::uint32_t n) const { return preds_.successors(n); }
  std::span<const std::uint32_t> children(std::uint32_t n) const { return children_.successors(n); }

  static std::uint32_t column(std::uint32_t columns) {
    return columns >> 16;
  }  // plus one; 0: unknown

  struct Start {
    std::uint32_t least = 0, most = 0;
  };
  /// The column, plus one, at which the statement begins that a node's code begins with; 0:
  /// unknown.
  Start start_of(std::uint32_t t);
  /// By how much one level is indented, as far as `return` and `raise` tell.
  std::uint32_t indentation();
  enum class Side : std::uint8_t { Unknown, Inside, Behind };
  /// Was the code at `t`, which the loop at `h` leads out to, written in the loop?
  Side side_of(std::uint32_t t, std::uint32_t h);
  /// The least column of what each loop holds.
  void find_left();
  /// No statement ends a module or a class: its end stands behind all of its statements, also where
  /// only code in a loop leads there, which is then a way out of the loop.
  bool add_module_end();
  /// What is written behind a loop stands behind it, reached by `break`, also where only a branch
  /// in the middle of the loop leads there: a loop's header gets an edge to the code that the loop
  /// leaves to, if that is written behind all of the loop.
  bool add_breaks();
  /// By lines: does the code at `t`, which the test at the header `h` leads to, stand in the loop?
  bool written_in_lines(std::uint32_t t, std::uint32_t h,
                        const std::vector<std::int32_t>& last) const;
  /// What follows the test of a loop that has one stands before the code that `break` leads to, as
  /// the loop's `else`.
  bool else_stands_before(std::uint32_t h, std::uint32_t exit,
                          const std::vector<std::int32_t>& last);
  /// What an edge out of protected code leads to stands behind the statement; but not `break`,
  /// `continue` and returns that stand inside of it.
  void leave_regions(RegionId from, std::uint32_t t);
  /// In the order of the source: does `t`, a jump or a return, stand behind the `except` or
  /// `finally` statement? It may leave the `finally` and `with` statements around that.
  bool stands_behind(std::uint32_t t, RegionId statement) const;
  /// In the order of the source: an offset that the protected code (a handler's code, for a scope)
  /// lies before.
  std::uint32_t end_of(RegionId r, RegionId owner) const;
  /// A block that is nothing but `break` or `continue`.
  bool is_jump_statement(std::uint32_t t) const;
  bool header_at(std::uint32_t t) const { return !header_.empty() && header_[t]; }

  /// Offset at which a node's code begins.
  std::uint32_t place(std::uint32_t n) const {
    if (is_try(n)) n = s_.regions[n - blocks_].entry.index;
    if (!is_block(n)) return kNone;
    const Node& node = s_.nodes[n];
    return node.body.empty() ? node.term_offset : s_.at(node.body.front()).offset;
  }
  /// Up to 3.8 the compiler lets control go on behind a statement that never ends, and its code
  /// shows where: at a place that may be reached from nowhere else (an empty node stands for it).
  /// An edge says so, as other code stands before or behind that place.
  void find_phantoms();
  /// Up to 3.9 a jump over it tells of an `else`; what stands behind the statement is not in it,
  /// also where one of the arms never ends.
  void find_elses();
  /// Where the offsets follow the source: how far each loop reaches, and what its `break` leads to.
  /// That stands behind the loop's statement.
  void find_breaks();

  /// In the order of the source: does `t` stand before the end of the loop at `h`?
  bool within(std::uint32_t t, std::uint32_t h) const {
    return !loop_end_.empty() && loop_end_[h] != 0 && place(t) < loop_end_[h] &&
           place(t) >= place(h);
  }
  void enter(RegionId from, BlockId to, std::vector<std::uint32_t>& count);
  RegionId region_handled_by(ValueId exception) const;

  /// An edge. Those that control cannot take only tell what stands before what.
  struct Way {
    std::uint32_t from, to;
    bool real;
  };
  void add_way(std::uint32_t from, std::uint32_t to) { ways_.push_back({from, to, true}); }
  void add_order(std::uint32_t from, std::uint32_t to) { ways_.push_back({from, to, false}); }

  Graph graph_of_ways(std::uint32_t n) const {
    return adjacency(n, ways_.size(), [&](auto add) {
      for (const Way& way : ways_) add(way.from, way.to);
    });
  }

  /// Of at most `most` edges, which `each` hands over, in the same order each time it is called;
  /// those of one node stay in their order.
  template <class Each>
  static Graph adjacency(std::uint32_t n, std::size_t most, const Each& each) {
    Graph g;
    g.offsets.assign(n + 2, 0);
    g.edges.resize(most);
    std::uint32_t* const behind = g.offsets.data() + 2;
    each([&](std::uint32_t from, std::uint32_t) { ++behind[from]; });
    for (std::uint32_t i = 2; i < n + 2; ++i) g.offsets[i] += g.offsets[i - 1];
    std::uint32_t *const next = g.offsets.data() + 1, *const edges = g.edges.data();
    each([&](std::uint32_t from, std::uint32_t to) { edges[next[from]++] = to; });
    g.offsets.pop_back();
    return g;
  }
  /// Innermost loop of each node (Havlak's walk from the latches, inner loops first).
  void find_loops();
  std::uint32_t outermost_loop(std::uint32_t u) const;

  bool in_loop(std::uint32_t u, std::uint32_t h) const {
    for (std::uint32_t l = loop_[u]; l != kNone; l = outer_[l])
      if (l == h) return true;
    return false;
  }

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
    return {node.term_offset, node.term_line, s_.lifted.code, node.term_columns};
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
  bool const_return(std::uint32_t n) const;
  /// A return that the optimiser may have copied.
  bool copied_return(std::uint32_t n) const { return !in_source_order() && const_return(n); }
  /// Is the return at t, where `from` leads, no copy of an implicit one, which has the place of
  /// what comes before it? Without columns (3.10) the row tells.
  bool is_written_return(std::uint32_t from, std::uint32_t t) const;
  /// Children in the dominator tree that stand after n's statement.
  std::vector<std::uint32_t> merges_of(std::uint32_t n) const;
  bool is_inline(std::uint32_t parent, std::uint32_t c) const;
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
  /// Code stands only where the same statements protect it.
  void check_place(std::uint32_t n, const Context& ctx) const;
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

  /// Statements that are there already stand once.
  bool holds_part(const Node& node) const {
    return std::any_of(node.body.begin(), node.body.end(),
                       [&](ValueId v) { return s_.at(v).kind == ValueKind::Statements; });
  }
  /// A short straight tail that ends in return, raise, or a place that can be reached by a
  /// statement.
  bool copyable(std::uint32_t t, const Context& ctx) const;
  void copy(std::uint32_t t, std::uint32_t l, const Context& ctx, int depth);
  bool ends_at_once(std::uint32_t t, const Context& ctx) const;
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

  bool is_next_case(std::uint32_t t) const {
    return is_block(t) && s_.nodes[t].match != kNone && !s_.cases[s_.nodes[t].match].first &&
           !header_[t];
  }
  std::int32_t first_line(std::uint32_t t) const;
  std::int32_t last_line_under(std::uint32_t t) const;
  /// A block's operations as the one expression that it branches on.
  ExprId probe_condition(std::uint32_t b);
  /// Does code that only `t` leads to return?
  bool returns_under(std::uint32_t t);
  /// The guard of the case at `head`: a condition right behind the pattern which, when it does not
  /// hold, leads where a failed test leads.
  std::uint32_t find_guard(std::uint32_t head, CasePart& part);
  /// The cases from `n` on, like the arms of an `if`; what several bodies lead to stands after the
  /// statement.
  void gen_match(std::uint32_t n, std::uint32_t l, const Context& ctx,
                 std::vector<std::uint32_t> merges);
  void go_from_match(std::uint32_t from, std::uint32_t t, std::uint32_t l, const Context& ctx);

  /// Nodes that the loop's statement holds: the loop itself and what only leads out of it.
  struct LoopShape {
    std::vector<std::uint32_t> inside,
        after;  // children of the header in the dominator tree: in the body, after the loop
    std::uint32_t exit = kNone;  // what `break` reaches
    bool else_needed = false;
    bool endless =
        false;  // no way leads to the exit: behind the loop the compiler goes on all the same
  };
  /// Is t the end of a `finally` body that the loop of h stands in?
  bool ends_body_around(std::uint32_t h, std::uint32_t t) const;
  LoopShape shape_of(std::uint32_t h, std::uint32_t natural_exit);
  /// Is `n` the `else` of the loop of `h`, and never runs into `exit`?
  bool ends_apart(std::uint32_t h, std::uint32_t n, std::uint32_t exit) const;
  /// Does what stands behind the loop of `h`, from `n` on, end or lead to `t`, and nowhere else?
  bool goes_only_to(std::uint32_t n, std::uint32_t h, std::uint32_t t) const;
  /// Nodes that control reaches from `roots` without passing `h`, as far as h dominates them.
  std::unordered_set<std::uint32_t> reachable(std::vector<std::uint32_t> roots,
                                              std::uint32_t h) const;
  /// The protected code and the handlers of the `try` that a loop consists of, also where they only
  /// lead out of the loop.
  bool part_of_try(std::uint32_t h, std::uint32_t c) const;
  /// A `case` that is not its statement's first: it stands where that stands.
  bool later_case(std::uint32_t c) const;
  bool is_single_return(std::uint32_t t) const { return forward_in_[t] == 1; }

  bool real_edge(std::uint32_t u, std::uint32_t t) const {
    return std::find(preds(t).begin(), preds(t).end(), u) != preds(t).end();
  }
  /// What is best reached by `break`: code that follows the loop, the later the better.
  std::uint64_t rank(std::uint32_t t, const LoopShape& shape) const;
  void gen_loop(std::uint32_t h, std::uint32_t l, const Context& ctx);
  /// After a loop: what `break` reaches, and what else stands behind.
  void leave_loop(std::uint32_t h, std::uint32_t exit, std::vector<std::uint32_t> after,
                  std::uint32_t l, const Context& ctx);
  /// The same for the statement of a loop that `break` alone leaves; behind one that nothing
  /// leaves, nothing is gone to.
  void leave_by_break(StmtId st, std::uint32_t h, const LoopShape& shape,
                      const std::vector<std::uint32_t>& after, std::uint32_t l, const Context& ctx);
  void go_outer(std::uint32_t from, std::uint32_t t, std::uint32_t l, const Context& ctx);

  ExprId constant(ConstKind kind) {
    Const c;
    c.kind = kind;
    return s_.ast.constant(s_.module.add(c));
  }
  bool gen_while(std::uint32_t h, std::uint32_t l, const Context& ctx);
  /// The body, the `else` and what follows of a `for` or a `while` with a test.
  void gen_loop_rest(StmtId st, std::uint32_t h, int stay, int leave, LoopShape shape,
                     std::uint32_t exit, std::uint32_t l, const Context& ctx);
  void gen_for(std::uint32_t h, std::uint32_t l, const Context& ctx);

  struct Arm {
    StmtId handler;
    std::uint32_t list;
  };
  void gen_try(RegionId r, std::uint32_t l, const Context& ctx,
               const std::vector<std::uint32_t>* only = nullptr);
  /// `try: try: … except …  finally: …` is one statement.
  void join_with_inner_try(StmtId st);
  /// `with a: with b: …` is `with a, b: …`.
  void join_with_inner_with(StmtId st);

  /// One node, or two copies of one end.
  bool same_end(std::uint32_t a, std::uint32_t b) {
    return a == b || (is_block(a) && is_block(b) && s_.same_exit(BlockId(a), BlockId(b)));
  }
  /// Where control goes on when the exit function of a `with` swallows the exception, or when the
  /// clauses of `except*` took all of it; none for other statements.
  std::uint32_t resume_of(RegionId r) const;
  /// Up to 3.10 the code behind the statement stands right behind its last re-raise. A short return
  /// that stands elsewhere is no such code: it belongs to the handler or the body that leads to it.
  void drop_returns_before_the_end(RegionId r, const std::vector<BlockId>& tests,
                                   std::vector<std::uint32_t>& merges) const;
  /// Where no clause matches: the implicit end of a chain of tests.
  bool raises_again(std::uint32_t t, const StructRegion& region) const;

  bool is_inline_arm(std::uint32_t parent, std::uint32_t c) const {
    return is_block(parent) && is_inline(parent, c);
  }
  bool is_test(BlockId b, BlockId handler) const;
  /// After the last test: raises again (the implicit end), or is a bare `except`.
  bool falls_through_chain(BlockId b, BlockId handler) const;
  void gen_handler(RegionId r, BlockId t, std::vector<Arm>& arms, const Context& ctx);
  bool only_from(std::uint32_t m, RegionId r) const;
  /// Does anything that n dominates go to `follow` by itself?
  bool subtree_reaches(std::uint32_t n, std::uint32_t follow) const;
  /// Does a handler run into `follow` by itself?
  bool handlers_reach(const std::vector<BlockId>& tests, std::uint32_t follow) const;
  ValueId with_result(const StructRegion& region) const;
  Structurer& s_;
  const BlockId entry_, stop_;
  const RegionId base_;
  const std::uint32_t blocks_, regions_;
  std::vector<Way> ways_;
  Graph graph_, preds_, children_;
  Dominators dom_;

  struct Exit {
    RegionId region;
    std::uint32_t to;
  };
  std::vector<Exit> exits_;
  std::vector<std::uint32_t> targets_, forward_in_;
  std::vector<std::int8_t> else_of_;  // by block that ends in a test: which edge leads to a written

  // `else`, or -1; see find_elses
  std::vector<std::uint32_t> phantom_;  // by region, see find_phantoms

  std::vector<std::uint32_t> loop_end_,
      break_;  // by header, see find_breaks; empty where the order of the source is lost
  std::vector<std::uint8_t> header_;
  std::vector<std::uint32_t> loop_, outer_;

  FlatMap<std::uint32_t>
      once_;  // by the header of a loop that never comes around: where `break` leads, see find_once

  std::vector<std::int32_t>
      last_;  // by header: the last line of the loop; up to 3.9 offsets tell more
  std::vector<std::uint32_t> left_;    // by header, see find_left
  std::uint32_t step_ = 0;             // see indentation
  std::vector<std::uint32_t> breaks_;  // by header: where `break` leads, if add_breaks knows
  SmallVector<List, 32> lists_;
  std::vector<Fate> fates_;  // by statement, from first_stmt_ on
  const std::uint32_t first_stmt_;
  SmallVector<Task, 32> work_;
  std::vector<std::function<void()>> others_;
  FlatMap<Seed> seeds_;           // by the block that takes the value
  FlatMap<RegionId> finally_of_;  // by the handler's block
  FlatMap<std::uint8_t> open_;    // headers of the loops that are being made
};

}  // namespace depyf
