#pragma once
// The graph that statements are made from: blocks, a node for each `try` and each end of a
// `finally`, and the edges between them; its dominators and loops, and what each statement holds.
// Nothing is emitted here.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "flow/dominators.h"
#include "structure/copies.h"
#include "structure/graph.h"
#include "support/flat_map.h"
#include "support/small_vector.h"

namespace depyf {

class StatementGraph {
 public:
  StatementGraph(StructureGraph& s, BlockId entry, RegionId base, BlockId stop)
      : s_(s),
        entry_(entry),
        stop_(stop),
        base_(base),
        blocks_(static_cast<std::uint32_t>(s.nodes.size())),
        regions_(static_cast<std::uint32_t>(s.regions.size())) {}

  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Context {
    std::uint32_t follow = kNone;  // node that is reached by falling off the end
    std::uint32_t header = kNone;  // `continue`
    std::uint32_t exit = kNone;    // `break`
    bool in_finally = false;       // in the body of a `finally` that the loop holds
    RegionId region;
  };
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
  bool pushes_six_values(RegionId r) const {
    return r.index < s_.lifted.regions.size() &&
           s_.lifted.regions[r.index].entry == HandlerEntry::Six;
  }
  std::uint32_t node_of_entry() const { return wrapped(base_, entry_); }
  /// The node that an edge from region `from` to `to` leads to: the `try` of the outermost region
  /// that the edge enters.
  std::uint32_t wrapped(RegionId from, BlockId to) const;
  /// Likewise, past empty blocks. These were kept to tell a loop around a `try` from one inside it.
  std::uint32_t past_empty(RegionId from, BlockId to) const;
  std::uint32_t target(BlockId from, int k) const {
    return targets_[from.index * 2 + static_cast<std::uint32_t>(k)];
  }
  void build_graph();
  /// The entry of each region, and how often it is entered from outside.
  std::vector<std::uint32_t> find_entries();
  /// Does code that only the region leads to lead to its start, from outside of it?
  bool is_entered_again(RegionId r);
  void add_ways_of_blocks(const std::vector<std::uint32_t>& entries_from_outside);
  void add_ways_of_regions();
  /// Code that begins by dropping a loop's iterator follows the loop, reached by `break`.
  void add_ends_of_iterators();
  /// The loop that holds the statement. If the statement is part of the body of a `finally`, there
  /// may be no path from it to the loop's header.
  std::uint32_t loop_around(RegionId r) const;
  /// A loop without a back edge is no loop of the graph. If `break` leaves a `finally` or a `with`
  /// in such a loop, an endless loop around that statement takes its place.
  void find_once();
  /// The test that goes on at `exit` where it does not lead to `n`: the loop's, whose `break` leads
  /// there, too; without one `n` itself.
  std::uint32_t test_around(std::uint32_t n, std::uint32_t exit) const;
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
  /// The column, plus one, of the first statement of a node's code; 0: unknown.
  Start start_of(std::uint32_t t);
  /// The columns of one level of indentation, as the columns of `return` and `raise` tell.
  std::uint32_t indentation();
  enum class Side : std::uint8_t { Unknown, Inside, Behind };
  /// Was the code at `t`, which the loop at `h` leads out to, written in the loop?
  Side side_of(std::uint32_t t, std::uint32_t h);
  /// The least column of what each loop holds.
  void find_left();
  /// No statement ends a module or a class. Its end follows the outermost loop, also if only code
  /// in that loop leads there.
  bool add_module_end();
  /// Code that was written after a loop follows the loop and is reached by `break`, also if only a
  /// branch in the middle of the loop leads there. The header gets an edge to it.
  bool add_breaks();
  /// The last line of each loop, into last_, and of what each node dominates.
  std::vector<std::int32_t> find_last_lines();
  /// Of the nodes that `way` dominates, the only one that begins after the line; else `way`.
  std::uint32_t after_lines(std::uint32_t way, std::int32_t line) const;
  /// Does `p`, which is no loop's test, lead to `t` by a `break` or `continue`?
  bool written_jump(std::uint32_t p, std::uint32_t t) const;
  /// By lines: was the code at `t`, a successor of the header `h`, written inside the loop?
  bool written_in_lines(std::uint32_t t, std::uint32_t h,
                        const std::vector<std::int32_t>& last) const;
  /// Where the loop's test fails, is there an `else` before the code that `break` leads to?
  bool else_stands_before(std::uint32_t h, std::uint32_t exit,
                          const std::vector<std::int32_t>& last);
  /// The target of an edge out of protected code follows the statement, unless it is a `break`,
  /// `continue` or `return` inside of it.
  void leave_regions(RegionId from, std::uint32_t t);
  /// Where `break` and `continue` at `t` lead, up to one that follows `statement`.
  std::uint32_t past_jump_statements(std::uint32_t t, RegionId statement) const;
  /// In the order of the source: does `t`, a jump or a return, follow the `except` or
  /// `finally` statement? It may leave the `finally` and `with` statements around that.
  bool follows(std::uint32_t t, RegionId statement) const;
  /// In the order of the source: the offset at which the protected code ends; for a scope, the
  /// handler's code.
  std::uint32_t end_of(RegionId r, RegionId owner) const;
  /// Does a way from the test at `n` come to a `continue` behind all that only the test leads to?
  bool is_continue_behind(std::uint32_t n, const WrittenJump& jump) const {
    return s_.source_layout_tells() && !s_.lifted.traits.source_order && jump && !jump.pass &&
           (jump.columns == 0 || has_width_of(jump.columns, {"continue"})) &&
           (jump.columns == 0 ? last_line_under(n) + 1 == jump.line
                              : last_line_under(n) < jump.line);
  }
  /// A block that is nothing but `break` or `continue`.
  bool is_jump_statement(std::uint32_t t) const;
  bool header_at(std::uint32_t t) const { return !header_.empty() && header_[t]; }
  /// Offset at which a node's code begins.
  std::uint32_t offset_of(std::uint32_t n) const {
    if (is_try(n)) n = s_.regions[n - blocks_].entry.index;
    if (!is_block(n)) return kNone;
    return s_.first_offset(BlockId(n));
  }
  /// Up to 3.8 the compiler emits a jump after a statement that never ends. Its target follows the
  /// statement, and may have no other predecessor (an empty node stands for it): it gets an edge.
  void find_phantoms();
  /// Up to 3.9 a jump over an `else` tells of it, also if one of the arms never ends.
  void find_elses();
  /// If offsets follow the source: where each loop ends, and the target of its `break`, which
  /// follows the loop.
  void find_breaks();
  struct LoopPlace {
    std::uint32_t begin, end, node;  // node: the loop's header; or a block that ends in `break`
  };
  /// How far each of `loops` reaches, outer ones first, and where its `break` leads if the
  /// bytecode tells.
  void find_loop_ends(std::vector<LoopPlace>& loops);
  /// In the order of the source: does `t` stand before the end of the loop at `h`?
  bool within(std::uint32_t t, std::uint32_t h) const {
    return !loop_end_.empty() && loop_end_[h] != 0 && offset_of(t) < loop_end_[h] &&
           offset_of(t) >= offset_of(h);
  }
  void enter(RegionId from, BlockId to, std::vector<std::uint32_t>& count);
  RegionId region_handled_by(ValueId exception) const;
  /// An edge. One that control cannot take only says what follows what.
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
  bool const_return(std::uint32_t n) const;
  /// A return that the optimiser may have copied.
  bool copied_return(std::uint32_t n) const { return !in_source_order() && const_return(n); }
  /// Was the return at `t`, a successor of `from`, written? An implicit one has the line and
  /// columns of what precedes it. Without columns (3.10) the line decides.
  bool is_written_return(std::uint32_t from, std::uint32_t t) const;
  /// Of n's children in the dominator tree: those that no branch of n holds.
  std::vector<std::uint32_t> not_inline(std::uint32_t n,
                                        std::span<const std::uint32_t> nodes) const;
  bool is_inline(std::uint32_t parent, std::uint32_t c) const;
  /// Throws where code would be protected by another statement.
  void check_place(std::uint32_t n, const Context& ctx) const;
  /// Statements that are there already stand once.
  bool holds_part(const Node& node) const {
    return std::any_of(node.body.begin(), node.body.end(),
                       [&](ValueId v) { return s_.at(v).kind == ValueKind::Statements; });
  }
  /// A short end: `return` or `raise`.
  bool copyable(std::uint32_t t, const Context& ctx) const;
  bool ends_at_once(std::uint32_t t) const;
  bool is_next_case(std::uint32_t t) const {
    return is_block(t) && s_.nodes[t].match != kNone && !s_.cases[s_.nodes[t].match].first &&
           !header_[t];
  }
  std::int32_t first_line(std::uint32_t t) const;
  /// The last line of the node's own code; 0: none.
  std::int32_t last_line(std::uint32_t t) const;
  std::int32_t last_line_under(std::uint32_t t) const;
  /// Does code that only `t` leads to return?
  bool returns_under(std::uint32_t t) const;
  /// Nodes that the loop's statement holds: the loop itself and what only leads out of it.
  struct LoopShape {
    std::vector<std::uint32_t> inside,
        after;  // children of the header in the dominator tree: in the body, after the loop
    std::uint32_t exit = kNone;  // what `break` reaches
    bool else_needed = false;
    bool endless =
        false;  // no way leads to the exit: after the loop the compiler continues all the same
  };
  /// Is t the end of a `finally` body that the loop of h stands in?
  bool ends_body_around(std::uint32_t h, std::uint32_t t) const;
  LoopShape shape_of(std::uint32_t h, std::uint32_t natural_exit);
  /// The same for a `for` without a back edge: every way through its body leaves it.
  LoopShape shape_of_once(std::uint32_t h, std::uint32_t body, std::uint32_t exit);
  /// The targets of edges out of the loop, but for the end of its test; once for each edge.
  std::vector<std::uint32_t> ways_out_of(std::uint32_t h, std::uint32_t natural_exit,
                                         const LoopShape& shape) const;
  /// Is `n` the `else` of the loop of `h`, and never runs into `exit`?
  bool ends_apart(std::uint32_t h, std::uint32_t n, std::uint32_t exit) const;
  /// Does what follows the loop of `h`, from `n` on, end or lead to `t`, and nowhere else?
  bool goes_only_to(std::uint32_t n, std::uint32_t h, std::uint32_t t) const;
  /// Nodes that control reaches from `roots` without passing `h`, as far as h dominates them.
  std::unordered_set<std::uint32_t> reachable(std::vector<std::uint32_t> roots,
                                              std::uint32_t h) const;
  /// The protected code and the handlers of the `try` that a loop consists of, also where they only
  /// lead out of the loop.
  bool part_of_try(std::uint32_t h, std::uint32_t c) const;
  /// A `case` that is not the first of its statement.
  bool later_case(std::uint32_t c) const;
  bool is_single_return(std::uint32_t t) const { return forward_in_[t] == 1; }
  bool real_edge(std::uint32_t u, std::uint32_t t) const {
    return std::find(preds(t).begin(), preds(t).end(), u) != preds(t).end();
  }
  /// The node of the highest rank is reached by `break`: what follows the loop, the last of it.
  std::uint64_t rank(std::uint32_t t, const LoopShape& shape) const;
  /// One node, or two copies of one end.
  bool same_end(std::uint32_t a, std::uint32_t b) {
    return a == b || (is_block(a) && is_block(b) && same_exit(s_, BlockId(a), BlockId(b)));
  }
  /// Where control continues when the exit function of a `with` swallows the exception, or when the
  /// clauses of `except*` took all of it; none for other statements.
  std::uint32_t resume_of(RegionId r) const;
  /// Up to 3.10 the code after the statement directly follows its last re-raise. A short return
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
  bool only_from(std::uint32_t m, RegionId r) const;
  /// Does any node that n dominates fit?
  template <class Fits>
  bool any_under(std::uint32_t n, const Fits& fits) const {
    SmallVector<std::uint32_t, 32> stack{n};
    while (!stack.empty()) {
      const std::uint32_t u = stack.back();
      stack.pop_back();
      if (fits(u)) return true;
      for (std::uint32_t c : children(u)) stack.push_back(c);
    }
    return false;
  }
  /// Does anything that n dominates go to `follow` by itself?
  bool subtree_reaches(std::uint32_t n, std::uint32_t follow) const;
  /// Does a handler run into `follow` by itself?
  bool handlers_reach(const std::vector<BlockId>& tests, std::uint32_t follow, bool around) const;
  ValueId with_result(const StructRegion& region) const;
  /// What a `try` or `with` statement holds, and what follows it.
  struct TryShape {
    std::uint32_t node = kNone,
                  entry = kNone;        // the statement's node; where the protected code begins
    std::vector<BlockId> tests;         // the chain of `except` tests
    std::uint32_t bare = kNone;         // after it a bare `except` that begins with a `try`
    std::vector<std::uint32_t> merges;  // what follows the statement
    std::uint32_t otherwise = kNone;    // `else`
    std::uint32_t resume = kNone;       // where control continues, if anything tells
    std::uint32_t next = kNone;         // where the end of the body and of the handlers leads
    bool goes_on = false;               // the compiler continues after code that never ends
  };
  /// `only`: the nodes that the loop holds whose body the statement is.
  TryShape try_shape(RegionId r, const Context& ctx, const std::vector<std::uint32_t>* only);
  void find_clauses(RegionId r, TryShape& shape);
  /// What no branch of the statement holds, in the order of the graph.
  void find_merges(RegionId r, const std::vector<std::uint32_t>* only, TryShape& shape);
  /// Takes the returns that stand inside of the statement off the merges.
  void drop_returns_inside(RegionId r, const Context& ctx, TryShape& shape);
  /// Of several returns that only the statement leads to: the one that follows it; none where the
  /// rows tell that each stands inside.
  std::uint32_t return_behind(RegionId r, std::span<const std::uint32_t> returns) const;
  /// `else`: reached from the protected code alone, while the handlers go elsewhere.
  void find_else(RegionId r, const Context& ctx, TryShape& shape);
  void find_next(RegionId r, const Context& ctx, TryShape& shape);

 protected:
  StructureGraph& s_;
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
  std::vector<std::uint8_t> header_;         // by node: of a loop
  std::vector<std::uint32_t> loop_, outer_;  // by node and by header: the innermost loop around it
  FlatMap<RegionId> finally_of_;             // by the handler's block
  /// By the header of a loop without a back edge: where `break` leads; see find_once.
  FlatMap<std::uint32_t> once_;
  std::vector<std::optional<bool>> entered_again_;  // by region, as far as it was asked for
  // ---- up to 3.9, by offsets; empty where the order of the source is lost
  /// By block that ends in a test: the edge that leads to a written `else`, or -1; see find_elses.
  std::vector<std::int8_t> else_of_;
  std::vector<std::uint32_t> phantom_;                     // by region, see find_phantoms
  std::vector<std::uint32_t> loop_end_, break_by_offset_;  // by header, see find_breaks
  // ---- from 3.10 on, by lines and columns
  std::vector<std::int32_t> last_;            // by header: the last line of the loop
  std::vector<std::uint32_t> left_;           // by header: the least column, see find_left
  std::vector<std::uint32_t> break_by_line_;  // by header: where `break` leads, if add_breaks knows
  std::uint32_t step_ = 0;                    // see indentation
};

}  // namespace depyf
