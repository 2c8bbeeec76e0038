// The graph -> raw statements, by its dominator tree.
//
// Ramsey, "Beyond Relooper: Recursive Translation of Unstructured Control Flow to Structured
// Control Flow" (ICFP 2022), for a language without labelled exits: a node's branches hold the
// nodes that only they reach; a node that several branches reach (a merge) stands after the
// statement of its immediate dominator, and is reached by falling off the end. A loop's exits are
// the end of its test, `break`, and the code that leads out of it. Each handler region has a node
// of its own (`try`), which dominates the protected code, the handlers and what follows. Work is
// kept on an explicit stack.
#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "flow/dominators.h"
#include "structure/build.h"
#include "structure/graph.h"
#include "structure/operations.h"
#include "support/error.h"
#include "support/flat_map.h"

namespace depyf {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

struct Context {
  std::uint32_t follow = kNone;  // node that is reached by falling off the end
  std::uint32_t header = kNone;  // `continue`
  std::uint32_t exit = kNone;    // `break`
  bool in_finally = false;       // in the body of a `finally` that the loop holds
  RegionId region;
};

/// What is still to be done. Nearly all of it is one of the first three kinds.
struct Task {
  enum Kind : std::uint8_t { Gen, Part, Edge, Other } kind;  // Other: the last of Emitter::others_
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

  std::span<StmtId> run() {
    std::uint32_t top = list();
    Context context;
    context.region = base_;
    if (stop_) context.follow = stop_.index;
    if (is_straight()) {
      gen_part(entry_.index, top, context);
    } else {
      build_graph();
      gen_later(node_of_entry(), top, context);
    }
    while (!work_.empty()) {
      const Task task = work_.back();
      work_.pop_back();
      switch (task.kind) {
        case Task::Gen:
          gen(task.node, task.list, task.context);
          break;
        case Task::Part:
          gen_part(task.node, task.list, task.context);
          break;
        case Task::Edge:
          go(BlockId(task.node), task.edge, task.list, task.context, task.with_args);
          break;
        case Task::Other: {
          const std::function<void()> other = std::move(others_.back());
          others_.pop_back();
          other();
        }
      }
    }
    const std::span<StmtId> body = close(top);
    return s_.lifted.ends_in_compound && entry_ == s_.entry ? end_in_else(body) : body;
  }

 private:
  /// The function ends in a statement of several ways: what follows the last `if` whose body, or
  /// `try` whose handlers never go on was its `else`.
  std::span<StmtId> end_in_else(std::span<StmtId> list) {
    if (list.size() < 2) return list;
    if (s_.ast[list.back()].kind != StmtKind::Return) return list;
    for (std::size_t i = list.size() - 1; i-- > 0;) {
      Stmt& st = s_.ast[list[i]];
      auto ends = [&](std::span<const StmtId> body) {
        return !body.empty() && never_goes_on(body.back());
      };
      if (!st.orelse.empty() || !st.final.empty()) continue;
      if (st.kind == StmtKind::If ? !ends(st.body) : st.kind != StmtKind::Try || ends(st.body))
        continue;
      if (std::any_of(st.arms.begin(), st.arms.end(),
                      [&](StmtId arm) { return !ends(s_.ast[arm].body); }))
        continue;
      st.orelse = list.subspan(i + 1);
      if (st.kind == StmtKind::If) st.flag = kElseWritten;
      return list.first(i + 1);
    }
    return list;
  }

  /// Does the order of offsets tell how it was written?
  bool in_source_order() const { return s_.lifted.source_order && s_.options.layout_tells; }

  /// One block, as most functions are.
  bool is_straight() const {
    if (blocks_ != 1 || regions_ != 0) return false;
    const TermKind term = s_.nodes[0].term;
    return term == TermKind::Return || term == TermKind::Raise || term == TermKind::Unreachable;
  }

  // ---------------------------------------------------------------- graph
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
  std::uint32_t wrapped(RegionId from, BlockId to) const {
    RegionId r = s_.nodes[to.index].region;
    RegionId outermost;
    while (r && !s_.is_ancestor(r, from)) {
      if (s_.regions[r.index].kind != RegionKind::Scope) outermost = r;
      r = s_.regions[r.index].parent;
    }
    return outermost ? try_node(outermost) : to.index;
  }

  /// Likewise, past blocks that do nothing: those that were kept to tell a loop around a `try` from
  /// a loop inside it have done so.
  std::uint32_t past_empty(RegionId from, BlockId to) const {
    std::uint32_t t = wrapped(from, to);
    for (int steps = 0; steps < 8 && is_block(t); ++steps) {
      const Node& node = s_.nodes[t];
      if (!node.body.empty() || node.match != kNone || node.term != TermKind::Jump ||
          node.jump != JumpRole::Plain || !node.params.empty() || !node.edges[0].args.empty() ||
          t == entry_.index || node.edges[0].to.index == t)
        break;
      t = wrapped(node.region, node.edges[0].to);
    }
    return t;
  }

  std::uint32_t target(BlockId from, int k) const {
    return targets_[from.index * 2 + static_cast<std::uint32_t>(k)];
  }

  void build_graph() {
    targets_.assign(std::size_t{blocks_} * 2, kNone);
    ways_.reserve(std::size_t{blocks_} * 2);
    for (std::uint32_t r = 0; r < regions_; ++r) {
      const StructRegion& region = s_.regions[r];
      if (region.kind == RegionKind::Finally) finally_of_[region.handler.index] = RegionId(r);
    }
    std::vector<std::uint32_t> entries_from_outside(regions_, 0);
    // entry of each region, and how often it is entered from outside
    for (std::uint32_t b = 0; b < blocks_ && regions_ != 0; ++b) {
      const Node& node = s_.nodes[b];
      if (!node.alive) continue;
      for (int k = 0; k < node.edge_count(); ++k)
        enter(node.region, node.edges[k].to, entries_from_outside);
    }
    enter(base_, entry_, entries_from_outside);
    for (const StructRegion& region : s_.regions)
      if (region.kind == RegionKind::Except || region.kind == RegionKind::Finally)
        enter(region.parent, region.handler, entries_from_outside);
    for (std::uint32_t b = 0; b < blocks_; ++b) {
      const Node& node = s_.nodes[b];
      if (!node.alive) continue;
      for (int k = 0; k < node.edge_count(); ++k) {
        std::uint32_t t = past_empty(node.region, node.edges[k].to);
        // Back to the start of a region that is also entered again from outside: the loop is around
        // the `try`. Up to 3.10 the jump back stands in or outside of the region, as its target
        // does.
        if (t < blocks_) {
          // A way out of a `finally` or a `with` does something: it leads through a block outside.
          for (RegionId r = node.region; r && !cleans_up(s_.regions[r.index].kind);
               r = s_.regions[r.index].parent)
            if (s_.regions[r.index].entry == node.edges[k].to &&
                entries_from_outside[r.index] > 1 && !six(r))
              t = try_node(r);
        }
        targets_[b * 2 + static_cast<std::uint32_t>(k)] = t;
        add_way(b, t);
        if (node.region) leave_regions(node.region, t);
      }
      if (node.term == TermKind::Reraise) {
        RegionId r = region_handled_by(node.value);
        if (r) {
          targets_[b * 2] = end_node(r);
          add_way(b, end_node(r));
        }
      }
    }
    for (std::uint32_t r = 0; r < regions_; ++r) {
      const StructRegion& region = s_.regions[r];
      if (region.kind == RegionKind::Erased || region.kind == RegionKind::Scope) continue;
      RegionId id(r);
      if (!region.entry && entry_ != s_.entry)
        continue;  // elsewhere: these are statements of one expression
      if (!region.entry) throw Error("structure: a protected region without an entry");
      add_way(try_node(id), wrapped(id, region.entry));
      if (region.kind == RegionKind::With) {
        // where control goes on when the exit function swallows the exception
        const Node& handler = s_.nodes[region.handler.index];
        if (handler.term == TermKind::Branch) add_way(try_node(id), resume_of(id));
      } else {
        add_way(try_node(id), wrapped(region.parent, region.handler));
      }
    }
    for (auto [r, t] : exits_) add_order(try_node(r), t);
    // Code that begins by dropping a loop's iterator stands behind the loop, reached by `break`.
    FlatMap<std::uint32_t> loop_of_iterator;
    for (std::uint32_t b = 0; b < blocks_; ++b)
      if (s_.nodes[b].alive && s_.nodes[b].term == TermKind::ForIter)
        loop_of_iterator[s_.resolve(s_.nodes[b].value).index] = b;
    for (std::uint32_t b = 0; b < blocks_ && !loop_of_iterator.entries().empty(); ++b) {
      const Node& node = s_.nodes[b];
      if (!node.alive || node.jump == JumpRole::Break || node.in_place) continue;
      if (in_source_order() && node.term == TermKind::Return && s_.is_function())
        continue;  // drops the iterator itself
      for (ValueId v : node.body) {
        if (s_.is_const(v)) continue;
        if (!s_.is_op(v, Op::POP_TOP)) break;
        const std::uint32_t* const loop =
            loop_of_iterator.at(s_.resolve(s_.at(v).operands[0]).index);
        if (!loop ||
            (s_.is_function() && const_return(b) && written_in_loop(*loop, s_.at(v).offset)))
          continue;
        const bool only_leaves =
            v == node.body.back() && node.term == TermKind::Jump &&
            targets_[std::size_t{b} * 2] == targets_[std::size_t{*loop} * 2 + 1];
        if (!only_leaves) add_order(*loop, b);
      }
    }
    if (in_source_order()) {
      find_elses();
      find_phantoms();
      find_breaks();
    }
    analyse();
    find_loops();
    if (add_breaks()) {
      analyse();
      find_loops();
    }
    if (add_module_end()) {
      analyse();
      find_loops();
    }
    find_once();
  }

  /// The loop that holds the statement, also where no way leads from the body of a `finally` that
  /// it stands in to the loop's header.
  std::uint32_t loop_around(RegionId r) const {
    std::uint32_t loop = loop_[try_node(r)];
    for (r = s_.regions[r.index].parent; r && loop == kNone; r = s_.regions[r.index].parent)
      if (s_.regions[r.index].kind == RegionKind::Scope)
        loop = loop_[try_node(s_.regions[r.index].owner)];
    return loop;
  }

  /// A `finally` or a `with` that control leaves by `break`, in a loop that never comes around and
  /// so is none in the graph: an endless loop around the statement stands for it.
  void find_once() {
    struct Left {
      RegionId region;
      std::uint32_t depth, to;
    };
    if (std::none_of(s_.regions.begin(), s_.regions.end(),
                     [](const StructRegion& region) { return cleans_up(region.kind); }))
      return;
    std::vector<Left> left;
    std::vector<std::uint32_t> to(regions_, kNone), behind(regions_, kNone);
    std::vector<std::uint8_t> several(regions_, 0);
    for (std::uint32_t b = 0; b < blocks_; ++b) {
      const Node& node = s_.nodes[b];
      if (!node.alive || !node.region || dom_.number[b] == kNone) continue;
      for (int k = 0; k < node.edge_count(); ++k) {
        const std::uint32_t first = target(BlockId(b), k);
        std::uint32_t t = first;
        for (int steps = 0; steps < 8 && is_jump_statement(t); ++steps)
          t = past_empty(s_.nodes[t].region, s_.nodes[t].edges[0].to);
        if (const_return(t) || (is_block(t) && s_.nodes[t].term == TermKind::Unreachable)) continue;
        for (RegionId r = node.region; r && !s_.is_ancestor(r, region_of(t));
             r = s_.regions[r.index].parent) {
          const bool scope = s_.regions[r.index].kind == RegionKind::Scope;
          const RegionId owner = scope ? s_.regions[r.index].owner : r;
          if (!cleans_up(s_.regions[owner.index].kind)) continue;
          const bool with = s_.regions[owner.index].kind == RegionKind::With;
          if (!with &&
              !s_.regions[owner.index].scope) {  // it goes on in front of where `break` leads
            std::uint32_t &near = behind[owner.index], &far = to[owner.index];
            if (dom_.dominates(t, b)) continue;
            if (near == kNone) near = t;
            if (same_end(t, near)) continue;
            several[owner.index] |= far != kNone && !same_end(t, far);
            far = t;
            if (place(far) < place(near)) std::swap(near, far);
            continue;
          }
          if (scope == with) continue;
          if (const std::uint32_t resume = resume_of(owner); first == resume || same_end(t, resume))
            continue;
          several[owner.index] |= to[owner.index] != kNone && to[owner.index] != t;
          to[owner.index] = t;
        }
      }
    }
    for (std::uint32_t r = 0; r < regions_; ++r) {
      if (to[r] == kNone || several[r] || header_[try_node(RegionId(r))]) continue;
      std::uint32_t depth = 0;
      for (RegionId p = s_.regions[r].parent; p; p = s_.regions[p.index].parent) ++depth;
      left.push_back({RegionId(r), depth, to[r]});
    }
    std::stable_sort(left.begin(), left.end(),
                     [](const Left& a, const Left& b) { return a.depth < b.depth; });
    for (const Left& l : left) {
      const std::uint32_t n = try_node(l.region), loop = loop_around(l.region);
      const std::uint32_t near = behind[l.region.index];
      if (dom_.number[n] == kNone || (loop != kNone && (l.to == loop || !in_loop(l.to, loop) ||
                                                        (near != kNone && !in_loop(near, loop)))))
        continue;
      // behind a `for` around the statement, or where a statement around this one leads to in the
      // same way
      bool leads_there = false;
      for (std::uint32_t h = dom_.idom[n]; h != kNone && !leads_there; h = dom_.idom[h])
        leads_there = is_block(h) && s_.nodes[h].term == TermKind::ForIter &&
                      (dom_.idom[l.to] == h || target(BlockId(h), 1) == l.to);
      for (RegionId p = s_.regions[l.region.index].parent; p && !leads_there;
           p = s_.regions[p.index].parent) {
        const std::uint32_t* const outer = once_.at(try_node(
            s_.regions[p.index].kind == RegionKind::Scope ? s_.regions[p.index].owner : p));
        leads_there = outer && *outer == l.to;
      }
      if (leads_there) continue;
      once_[n] = l.to;
      header_[n] = 1;
    }
  }

  /// In the order of the source: is the code at `offset` part of the body of the `for` at `h`?
  bool written_in_loop(std::uint32_t h, std::uint32_t offset) const {
    const std::vector<LoopSpan>& loops = s_.lifted.loops;
    const std::uint32_t begin = s_.nodes[h].term_offset;
    auto span =
        std::lower_bound(loops.begin(), loops.end(), begin,
                         [](const LoopSpan& l, std::uint32_t offset) { return l.begin < offset; });
    return in_source_order() && span != loops.end() && span->begin == begin && offset > begin &&
           offset <= span->end;
  }

  /// Dominators, in-edges and loop headers.
  void analyse() {
    const std::uint32_t n = blocks_ + 2 * regions_;
    graph_ = graph_of_ways(n);
    dom_ = dominators(graph_, node_of_entry());
    // in-edges that are no back edges
    forward_in_.assign(n, 0);
    header_.assign(n, 0);
    const auto is_way = [&](const Way& way) { return way.real && dom_.number[way.from] != kNone; };
    for (const Way& way : ways_) {
      if (!is_way(way)) continue;
      if (dom_.number[way.to] <= dom_.number[way.from]) {
        if (!dom_.dominates(way.to, way.from))
          throw Error("structure: the control flow is irreducible");
        header_[way.to] = 1;
      } else {
        ++forward_in_[way.to];
      }
    }
    const auto in_order = [](const Way& a, const Way& b) { return a.from < b.from; };
    if (!std::is_sorted(ways_.begin(), ways_.end(), in_order))
      std::stable_sort(ways_.begin(), ways_.end(), in_order);
    preds_ = adjacency(n, ways_.size(), [&](auto add) {
      for (const Way& way : ways_)
        if (is_way(way)) add(way.to, way.from);
    });
    children_ = adjacency(n, dom_.order.size(), [&](auto add) {
      for (std::uint32_t u : dom_.order)
        if (dom_.idom[u] != kNone) add(dom_.idom[u], u);
    });
  }

  std::span<const std::uint32_t> preds(std::uint32_t n) const { return preds_.successors(n); }
  std::span<const std::uint32_t> children(std::uint32_t n) const { return children_.successors(n); }

  // ---- columns (3.11+): how deep a statement is indented

  static std::uint32_t column(std::uint32_t columns) {
    return columns >> 16;
  }  // plus one; 0: unknown

  struct Start {
    std::uint32_t least = 0, most = 0;
  };

  /// The column, plus one, at which the statement begins that a node's code begins with; 0:
  /// unknown.
  Start start_of(std::uint32_t t) {
    constexpr std::uint32_t kBeforeValue = 7, kIf = 3;  // `return `, `if `
    if (header_[t]) return {};
    if (is_try(t)) {
      // Its body stands deeper, by a level for each `try` that it begins; `try … except … finally`
      // is two of them at one.
      const RegionId outermost(t - blocks_);
      const BlockId entry = s_.regions[outermost.index].entry;
      const Start inside = start_of(entry.index);
      std::uint32_t levels = 1;
      for (RegionId r = s_.nodes[entry.index].region; r && r != outermost;
           r = s_.regions[r.index].parent)
        ++levels;
      const auto less = [](std::uint32_t column, std::uint32_t by) {
        return column > by ? column - by : 1;
      };
      return inside.least == 0 ? inside
                               : Start{less(inside.least, levels * indentation()),
                                       less(inside.most, indentation())};
    }
    if (!is_block(t)) return {};
    const Node& node = s_.nodes[t];
    const std::int32_t line = first_line(t);
    std::uint32_t least = 0;
    bool complete = false;  // the first line holds a whole statement
    std::size_t targets = 0;
    for (ValueId v : node.body) {
      const Value& value = s_.at(v);
      if (value.line != line) break;
      if (value.kind != ValueKind::Operation || value.columns == 0) continue;
      least = least == 0 ? column(value.columns) : std::min(least, column(value.columns));
      const bool stores = value.op == Op::STORE_FAST || value.op == Op::STORE_NAME ||
                          value.op == Op::STORE_DEREF || value.op == Op::STORE_ATTR ||
                          value.op == Op::STORE_SUBSCR;
      targets += stores;
      complete |= stores || (value.op == Op::CALL && s_.uses[v.index] == 0);
    }
    if (least == 0) return {};
    if (complete)
      return {targets < 2 ? least : 1,
              least};  // stores that are one instruction have the place of one of them
    if (node.term_line != line) return {};
    if (node.term == TermKind::Return || node.term == TermKind::Raise) {
      const std::uint32_t end = column(node.term_columns);
      if (end != 0 && end < least) return {end, end};
      if (node.term == TermKind::Raise) return {};
      const bool bare =
          s_.is_const(s_.resolve(node.value)) &&
          s_.module[ConstId(s_.at(s_.resolve(node.value)).arg)].kind == ConstKind::None;
      if (bare || least <= kBeforeValue) return {};
      return {least - kBeforeValue, least - kBeforeValue};
    }
    if (node.term != TermKind::Branch || node.match != kNone || least <= kIf) return {};
    return {1, least - kIf};  // behind `elif not (` …
  }

  /// By how much one level is indented, as far as `return` and `raise` tell.
  std::uint32_t indentation() {
    if (step_ != 0) return step_;
    std::vector<std::uint32_t> starts;
    for (const Node& node : s_.nodes)
      if (node.alive && (node.term == TermKind::Return || node.term == TermKind::Raise) &&
          column(node.term_columns) != 0)
        starts.push_back(column(node.term_columns));
    for (std::uint32_t start : starts)
      step_ = std::gcd(step_, start - *std::min_element(starts.begin(), starts.end()));
    if (step_ == 0 || step_ > 4) step_ = 4;  // several levels apart
    return step_;
  }

  enum class Side : std::uint8_t { Unknown, Inside, Behind };

  /// Was the code at `t`, which the loop at `h` leads out to, written in the loop?
  Side side_of(std::uint32_t t, std::uint32_t h) {
    if (h >= left_.size() || left_[h] == 0) return Side::Unknown;
    const Start start = start_of(t);
    if (start.least == 0) return Side::Unknown;
    return start.most + indentation() <= left_[h]   ? Side::Behind
           : start.least + indentation() > left_[h] ? Side::Inside
                                                    : Side::Unknown;
  }

  /// The least column of what each loop holds.
  void find_left() {
    left_.assign(header_.size(), 0);
    auto take = [&](std::uint32_t h, std::uint32_t column) {
      if (column != 0) left_[h] = left_[h] == 0 ? column : std::min(left_[h], column);
    };
    for (std::size_t i = dom_.order.size(); i > 0; --i) {
      const std::uint32_t u = dom_.order[i - 1];
      if (loop_[u] != kNone && is_block(u)) {
        for (ValueId v : s_.nodes[u].body) take(loop_[u], column(s_.at(v).columns));
      }
      if (header_[u] && outer_[u] != kNone) take(outer_[u], left_[u]);
    }
  }

  /// No statement ends a module or a class: its end stands behind all of its statements, also where
  /// only code in a loop leads there, which is then a way out of the loop.
  bool add_module_end() {
    if (!s_.body_end || entry_ != s_.entry || in_source_order()) return false;
    const std::uint32_t b = s_.body_end.index;
    std::uint32_t outermost = kNone, below = b;
    for (std::uint32_t d = dom_.idom[b]; d != kNone; below = d, d = dom_.idom[d]) {
      const bool comes_around = header_[d] && in_loop(below, d);
      const bool once = is_block(d) && !header_[d] && s_.nodes[d].term == TermKind::ForIter &&
                        target(BlockId(d), 0) == below;
      if (comes_around || once) outermost = d;
    }
    if (outermost == kNone) return false;
    add_order(outermost, b);
    return true;
  }

  /// What is written behind a loop stands behind it, reached by `break`, also where only a branch
  /// in the middle of the loop leads there: a loop's header gets an edge to the code that the loop
  /// leaves to, if that is written behind all of the loop.
  bool add_breaks() {
    if (s_.options.made_by_dynamo || !s_.options.layout_tells || in_source_order()) return false;
    const std::uint32_t n = static_cast<std::uint32_t>(header_.size());
    if (std::none_of(header_.begin(), header_.end(), [](std::uint8_t h) { return h != 0; }))
      return false;
    find_left();
    // last lines: of the loop itself, and of what each node dominates
    std::vector<std::int32_t>& last = last_;
    last.assign(n, 0);
    std::vector<std::int32_t> under(n, 0);
    for (std::size_t i = dom_.order.size(); i > 0; --i) {
      const std::uint32_t u = dom_.order[i - 1];
      std::int32_t line = 0;
      if (is_block(u)) {
        line = s_.nodes[u].term_line;
        for (ValueId v : s_.nodes[u].body) line = std::max(line, s_.at(v).line);
      }
      under[u] = std::max(under[u], line);
      if (dom_.idom[u] != kNone) under[dom_.idom[u]] = std::max(under[dom_.idom[u]], under[u]);
      if (loop_[u] != kNone) last[loop_[u]] = std::max(last[loop_[u]], line);
      if (header_[u] && outer_[u] != kNone) last[outer_[u]] = std::max(last[outer_[u]], last[u]);
    }
    // the loop statement that holds each node where nothing stands behind a loop but what its
    // header leads to
    std::vector<std::uint32_t> holds(n, kNone), around(n, kNone);
    std::vector<std::vector<std::uint32_t>> ways_out(n);
    for (std::uint32_t t : dom_.order) {
      const std::uint32_t d = dom_.idom[t];
      std::uint32_t loop = d == kNone ? kNone : holds[d];
      if (loop != kNone && !in_loop(t, loop)) {
        if (d == loop)
          loop = around[loop];
        else if (in_loop(d, loop))
          ways_out[loop].push_back(t);
      }
      around[t] = loop;
      holds[t] = header_[t]                           ? t
                 : loop != kNone && !in_loop(t, loop) ? loop
                 : loop_[t] != kNone                  ? loop_[t]
                                                      : loop;
    }
    std::vector<std::uint8_t> is_handler(n, 0);
    for (const StructRegion& region : s_.regions)
      if (region.kind == RegionKind::Except || region.kind == RegionKind::Finally)
        is_handler[wrapped(region.parent, region.handler)] = 1;
    std::vector<std::uint32_t>& best = breaks_;
    best.assign(n, kNone);
    for (std::uint32_t h = 0; h < n; ++h) {
      if (!header_[h]) continue;
      std::uint32_t exit = kNone;
      for (std::uint32_t t : ways_out[h])
        if (t < blocks_ + regions_ && !is_handler[t] && side_of(t, h) != Side::Inside &&
            (exit == kNone || first_line(t) > first_line(exit)))
          exit = t;
      if (exit == kNone || const_return(exit) || first_line(exit) <= last[h]) continue;
      const std::uint32_t around_exit = header_[exit] ? outer_[exit] : loop_[exit],
                          outer = outer_[h];
      // out of two loops: `break` of the inner one leads to that of the outer one, past the inner
      // one's `else`
      const bool two = around_exit != outer && outer != kNone && around_exit == outer_[outer];
      bool fits = (two || around_exit == outer) && s_.is_ancestor(region_of(exit), region_of(h)) &&
                  else_stands_before(h, exit, last);
      if (two) {
        fits &= first_line(exit) > last[outer] && (best[outer] == kNone || best[outer] == exit) &&
                s_.is_ancestor(region_of(exit), region_of(outer)) &&
                else_stands_before(outer, exit, last);
        for (std::uint32_t t : ways_out[outer]) fits &= under[t] < first_line(exit);
      }
      for (std::uint32_t t : ways_out[h]) fits &= t == exit || under[t] < first_line(exit);
      for (std::uint32_t p : preds(exit))
        if (!dom_.dominates(exit, p)) fits &= holds[p] == h;
      if (fits && forward_in_[exit] == 1 && side_of(exit, h) != Side::Behind) {
        const std::uint32_t p = preds(exit)[0];
        const bool short_end = children(exit).empty() && is_block(exit);
        const bool may_hold = is_block(p) && s_.nodes[p].term == TermKind::Branch &&
                              region_of(p) == region_of(exit);  // the `if` that p ends in
        fits = !may_hold || (s_.nodes[p].term_line < last[h] && !short_end);
      }
      if (fits) best[h] = exit;
      if (fits && two) best[outer] = exit;
    }
    bool any = false;
    for (std::uint32_t h = 0; h < n; ++h)
      if (best[h] != kNone) {
        add_order(h, best[h]);
        any = true;
      }
    return any;
  }

  /// By lines: does the code at `t`, which the test at the header `h` leads to, stand in the loop?
  bool written_in_lines(std::uint32_t t, std::uint32_t h,
                        const std::vector<std::int32_t>& last) const {
    return first_line(t) > s_.nodes[h].term_line && first_line(t) < last[h];
  }

  /// What follows the test of a loop that has one stands before the code that `break` leads to, as
  /// the loop's `else`.
  bool else_stands_before(std::uint32_t h, std::uint32_t exit,
                          const std::vector<std::int32_t>& last) {
    if (!is_block(h) || (s_.nodes[h].term != TermKind::ForIter &&
                         s_.test_length(BlockId(h)) != s_.nodes[h].body.size()))
      return true;
    for (int k = 0; k < s_.nodes[h].edge_count(); ++k) {
      const std::uint32_t natural = target(BlockId(h), k);
      if (in_loop(natural, h)) continue;
      if (is_block(natural) && s_.nodes[natural].term == TermKind::Raise &&
          first_line(natural) <= last[h])
        continue;  // `assert` begins an endless loop
      if (s_.nodes[h].term == TermKind::Branch && written_in_lines(natural, h, last))
        continue;  // as an `if` does
      if (forward_in_[natural] != 1 || first_line(natural) <= last[h] ||
          first_line(natural) >= first_line(exit))
        return false;
    }
    return true;
  }

  /// What an edge out of protected code leads to stands behind the statement; but not `break`,
  /// `continue` and returns that stand inside of it.
  void leave_regions(RegionId from, std::uint32_t t) {
    for (RegionId r = from; r && !s_.is_ancestor(r, region_of(t)); r = s_.regions[r.index].parent) {
      const RegionId owner =
          s_.regions[r.index].kind == RegionKind::Scope ? s_.regions[r.index].owner : r;
      for (int steps = 0; steps < 8 && is_jump_statement(t) && !stands_behind(t, owner); ++steps)
        t = past_empty(s_.nodes[t].region, s_.nodes[t].edges[0].to);
      if (s_.is_ancestor(r, region_of(t))) break;
      if (in_source_order() && const_return(t) &&
          (s_.nodes[t].in_place || place(t) < end_of(r, owner)))
        continue;
      exits_.push_back({owner, t});
    }
  }

  /// In the order of the source: does `t`, a jump or a return, stand behind the `except` or
  /// `finally` statement? It may leave the `finally` and `with` statements around that.
  bool stands_behind(std::uint32_t t, RegionId statement) const {
    if (statement.index >= s_.lifted.regions.size()) return false;
    const std::uint32_t end = s_.lifted.regions[statement.index].end;
    if (end == kNoOffset || place(t) < end) return false;
    RegionId around = s_.regions[statement.index].parent;
    while (around && !s_.is_ancestor(around, s_.nodes[t].region) &&
           cleans_up(s_.regions[around.index].kind))
      around = s_.regions[around.index].parent;
    return s_.is_ancestor(around, s_.nodes[t].region);
  }

  /// In the order of the source: an offset that the protected code (a handler's code, for a scope)
  /// lies before.
  std::uint32_t end_of(RegionId r, RegionId owner) const {
    const std::uint32_t begin = place(s_.regions[owner.index].handler.index);
    if (r == owner) return begin;
    if (owner.index < s_.lifted.regions.size() && s_.lifted.regions[owner.index].end != kNoOffset)
      return s_.lifted.regions[owner.index].end;
    std::uint32_t t = s_.regions[owner.index].handler.index;
    for (int steps = 0; steps < 1000 && is_test(BlockId(t), s_.regions[owner.index].handler);
         ++steps)
      t = s_.nodes[t].edges[1].to.index;
    return s_.nodes[t].term == TermKind::Reraise ? s_.nodes[t].term_offset : begin;
  }

  /// A block that is nothing but `break` or `continue`.
  bool is_jump_statement(std::uint32_t t) const {
    if (!is_block(t) ||
        (s_.nodes[t].jump != JumpRole::Break && s_.nodes[t].jump != JumpRole::Continue) ||
        header_at(t))
      return false;
    const Node& node = s_.nodes[t];
    if (!node.params.empty() || !node.edges[0].args.empty()) return false;
    for (ValueId v : node.body)
      if (!s_.is_const(v) && !s_.is_op(v, Op::POP_TOP)) return false;
    return true;
  }
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
  void find_phantoms() {
    if (entry_ != s_.entry || s_.ends_behind.empty()) return;
    std::vector<std::vector<std::uint32_t>> exits(regions_);
    for (const Exit& exit : exits_) exits[exit.region.index].push_back(exit.to);
    phantom_.assign(regions_, kNone);
    for (std::uint32_t r = 0; r < regions_; ++r) {
      const StructRegion& region = s_.regions[r];
      if (!s_.ends_behind[r] ||
          (region.kind != RegionKind::Except && region.kind != RegionKind::Finally))
        continue;
      const std::uint32_t t = past_empty(region.parent, s_.ends_behind[r]);
      phantom_[r] = t;
      if (std::find(exits[r].begin(), exits[r].end(), t) != exits[r].end()) continue;
      add_way(try_node(RegionId(r)), t);
    }
  }

  /// Up to 3.9 a jump over it tells of an `else`; what stands behind the statement is not in it,
  /// also where one of the arms never ends.
  void find_elses() {
    if (s_.elses.empty() || entry_ != s_.entry) return;
    else_of_.assign(blocks_, -1);
    for (std::uint32_t b = 0; b < blocks_; ++b) {
      const Node& node = s_.nodes[b];
      if (!node.alive || node.term != TermKind::Branch || node.match != kNone) continue;
      for (int k = 0; k < 2; ++k) {
        const std::uint32_t o = target(BlockId(b), k);
        const auto written = s_.elses.find(place(o));
        if (written == s_.elses.end() || !s_.is_ancestor(node.region, region_of(o))) continue;
        const std::uint32_t t = written->second ? wrapped(node.region, written->second) : kNone;
        if (t != kNone && place(t) > node.term_offset && place(t) < place(o))
          continue;  // the end of a loop in the body
        else_of_[b] = static_cast<std::int8_t>(k);
        if (t == kNone) continue;
        if (t != o && region_of(t) == node.region) add_order(b, t);
      }
    }
  }

  /// Where the offsets follow the source: how far each loop reaches, and what its `break` leads to.
  /// That stands behind the loop's statement.
  void find_breaks() {
    struct Span {
      std::uint32_t begin, end, node;  // node: the loop's header; or a block that ends in `break`
    };
    const bool whole = entry_ == s_.entry;
    const std::uint32_t n = blocks_ + 2 * regions_;
    const Graph graph = graph_of_ways(n);
    loop_end_.assign(n, 0);
    break_.assign(n, kNone);
    std::vector<Span> loops, breaks;
    for (std::uint32_t b = 0; b < blocks_; ++b) {
      const Node& node = s_.nodes[b];
      if (!node.alive) continue;
      if (node.jump == JumpRole::Break) breaks.push_back({node.term_offset, 0, b});
      for (std::uint32_t t : graph.successors(b)) {
        if (!(is_block(t) || is_try(t)) || place(t) > node.term_offset ||
            (t != b && place(t) == node.term_offset))
          continue;
        if (loop_end_[t] == 0 && !(is_block(t) && s_.nodes[t].term == TermKind::ForIter))
          loops.push_back({place(t), 0, t});
        loop_end_[t] = std::max(loop_end_[t], node.term_offset);
      }
      if (node.term == TermKind::ForIter) loops.push_back({node.term_offset, 0, b});
    }
    // Of loops that begin at one place, each stands in a `try` that the one before it consists of:
    // outer ones first.
    auto levels = [&](std::uint32_t h) {
      std::uint32_t depth = is_block(h) ? 1 : 0;
      for (RegionId r = region_of(h); r; r = s_.regions[r.index].parent) ++depth;
      return depth;
    };
    std::sort(loops.begin(), loops.end(), [&](const Span& a, const Span& b) {
      return a.begin != b.begin ? a.begin < b.begin : levels(a.node) < levels(b.node);
    });
    std::sort(breaks.begin(), breaks.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
    // The last jump back may have been threaded away: the bytecode's loop that begins last before
    // the header tells.
    const std::vector<LoopSpan>& spans = s_.lifted.loops;
    std::vector<std::size_t> around;
    std::size_t next = 0;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      Span& loop = loops[i];
      for (; next < spans.size() && spans[next].begin <= loop.begin; ++next) {
        while (!around.empty() && spans[around.back()].end < spans[next].begin) around.pop_back();
        around.push_back(next);
      }
      while (!around.empty() && spans[around.back()].end < loop.begin) around.pop_back();
      std::size_t inner = 0;  // loops that begin here too
      while (i + inner + 1 < loops.size() && loops[i + inner + 1].begin == loop.begin) ++inner;
      if (around.size() > inner) {
        const std::size_t span = around[around.size() - 1 - inner];
        loop_end_[loop.node] = std::max(loop_end_[loop.node], spans[span].end);
        if (whole && span < s_.loops_behind.size() && s_.loops_behind[span]) {
          const std::uint32_t behind = past_empty(region_of(loop.node), s_.loops_behind[span]);
          // around a loop that never comes around nothing goes back to
          const bool comes_around =
              place(behind) > loop.begin || loop_end_[behind] != 0 ||
              (is_block(behind) && s_.nodes[behind].term == TermKind::ForIter);
          if (comes_around) {
            break_[loop.node] = behind;
            add_order(loop.node, behind);
          }
        }
      }
      loop.end = loop_end_[loop.node];
    }
    std::vector<Span> open;
    next = 0;
    for (const Span& jump : breaks) {
      for (; next < loops.size() && loops[next].begin <= jump.begin; ++next) {
        while (!open.empty() && open.back().end < loops[next].begin) open.pop_back();
        open.push_back(loops[next]);
      }
      while (!open.empty() && open.back().end < jump.begin) open.pop_back();
      if (open.empty()) continue;
      const std::uint32_t h = open.back().node, t = targets_[std::size_t{jump.node} * 2];
      if (t == kNone) continue;  // what stood behind it is gone
      if (t == h || within(t, h) || !s_.is_ancestor(region_of(t), region_of(h)))
        continue;  // out of a loop that never comes around
      add_order(h, t);
      if (break_[h] == kNone) break_[h] = t;
    }
  }

  /// In the order of the source: does `t` stand before the end of the loop at `h`?
  bool within(std::uint32_t t, std::uint32_t h) const {
    return !loop_end_.empty() && loop_end_[h] != 0 && place(t) < loop_end_[h] &&
           place(t) >= place(h);
  }

  void enter(RegionId from, BlockId to, std::vector<std::uint32_t>& count) {
    for (RegionId r = s_.nodes[to.index].region; r && !s_.is_ancestor(r, from);
         r = s_.regions[r.index].parent) {
      StructRegion& region = s_.regions[r.index];
      if (region.kind == RegionKind::Scope) continue;
      ++count[r.index];
      if (region.entry && region.entry != to)
        throw Error("structure: a protected region is entered at two places");
      region.entry = to;
    }
  }

  RegionId region_handled_by(ValueId exception) const {
    if (!exception) return {};
    const Value& v = s_.at(exception);
    if (v.kind != ValueKind::Exception && v.kind != ValueKind::ExceptionType) return {};
    const RegionId* const found = finally_of_.at(v.block.index);
    return found ? *found : RegionId();
  }

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

  // ---------------------------------------------------------------- loops

  /// Innermost loop of each node (Havlak's walk from the latches, inner loops first).
  void find_loops() {
    const std::uint32_t n = static_cast<std::uint32_t>(forward_in_.size());
    loop_.assign(n, kNone);
    outer_.assign(n, kNone);
    for (std::size_t i = dom_.order.size(); i > 0; --i) {
      std::uint32_t h = dom_.order[i - 1];
      if (!header_[h]) continue;
      std::vector<std::uint32_t> stack;
      for (std::uint32_t p : preds(h))
        if (dom_.number[p] >= dom_.number[h] && dom_.dominates(h, p)) stack.push_back(p);
      while (!stack.empty()) {
        std::uint32_t u = stack.back();
        stack.pop_back();
        std::uint32_t at = outermost_loop(u);
        if (at == h) continue;
        if (at != kNone) {
          outer_[at] = h;
          u = at;
        } else {
          loop_[u] = h;
          if (u == h) continue;
        }
        for (std::uint32_t p : preds(u))
          if (dom_.dominates(h, p) && !(dom_.number[p] >= dom_.number[u] && dom_.dominates(u, p)))
            stack.push_back(p);
      }
      loop_[h] = h;
    }
  }

  std::uint32_t outermost_loop(std::uint32_t u) const {
    std::uint32_t l = loop_[u];
    if (l == kNone) return kNone;
    while (outer_[l] != kNone) l = outer_[l];
    return l;
  }

  bool in_loop(std::uint32_t u, std::uint32_t h) const {
    for (std::uint32_t l = loop_[u]; l != kNone; l = outer_[l])
      if (l == h) return true;
    return false;
  }

  // ---------------------------------------------------------------- statements

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
                     std::uint32_t l) {
    if (params.empty()) return;
    std::vector<ExprId> targets;
    for (ValueId p : params) targets.push_back(s_.ast.name(s_.temporary_for(p)));
    auto tuple = [&](std::span<const ExprId> items) {
      if (items.size() == 1) return items[0];
      Expr e;
      e.kind = ExprKind::Tuple;
      e.kids = s_.ast.arena.copy(items);
      return s_.ast.add(e);
    };
    StmtId st = statement(StmtKind::Assign);
    s_.ast[st].list = s_.ast.arena.copy(std::initializer_list<ExprId>{tuple(targets)});
    s_.ast[st].e[0] = tuple(values);
    add(l, st);
  }

  /// Parameters of the block that edge k leads to which somebody reads, with their arguments.
  void used_params(const Edge& edge, std::vector<ValueId>& params, std::vector<ValueId>& args) {
    const Node& to = s_.nodes[edge.to.index];
    for (std::size_t i = 0; i < to.params.size() && i < edge.args.size(); ++i) {
      if (s_.uses[to.params[i].index] == 0) continue;
      if (s_.resolve(edge.args[i]) == to.params[i]) continue;
      params.push_back(to.params[i]);
      args.push_back(s_.resolve(edge.args[i]));
    }
  }

  /// Is there one?
  bool hands_over(const Edge& edge) {
    if (edge.args.empty()) return false;
    std::vector<ValueId> params, args;
    used_params(edge, params, args);
    return !params.empty();
  }

  struct Seed {
    ValueId value;
    StmtId statement;  // For, With or Handler that takes the target
  };

  ExprId placeholder() { return s_.ast.expr(ExprKind::Raw, {}); }

  /// The block's own statements. The builder is left so that the terminator can take its values.
  void build(std::uint32_t b, BlockBuilder& builder) {
    Node& node = s_.nodes[b];
    const Seed* const seed = seeds_.at(b);
    ExprId hole;
    if (seed && s_.uses[seed->value.index] > 0) {
      hole = placeholder();
      builder.seed(seed->value, hole, s_.ast[seed->statement].kind == StmtKind::Handler);
    }
    builder.run(node.body);
    if (hole) plug(*seed, hole, builder);
  }

  void plug(const Seed& seed, ExprId hole, BlockBuilder& builder) {
    ExprId found;
    if (!builder.out.empty()) {
      Stmt& first = s_.ast[builder.out.front()];
      if (first.kind == StmtKind::Assign && first.e[0] == hole && first.list.size() == 1) {
        found = first.list[0];
        builder.out.erase(0, 1);
      }
    }
    if (!found) {
      StrId name = s_.temporary_for(seed.value);
      found = s_.ast.name(name);
      s_.ast[hole] = s_.ast[found];
    }
    Stmt& st = s_.ast[seed.statement];
    if (st.kind == StmtKind::For) st.e[0] = found;
    if (st.kind == StmtKind::With) st.list[1] = found;
    if (st.kind == StmtKind::Handler) {
      st.a = s_.ast[found].a;
      st.flag = s_.ast[found].op;
    }
  }

  void flush(BlockBuilder& builder, std::uint32_t l) {
    for (StmtId st : builder.out) add(l, st);
    builder.out.clear();
  }

  /// The end of a block's own statements: what a jump hands over is evaluated last.
  void finish_and_hand_over(BlockBuilder& builder, BlockId from, const Edge& edge,
                            std::uint32_t l) {
    std::vector<ValueId> params, args;
    if (!edge.args.empty()) used_params(edge, params, args);
    BlockBuilder::Operands values;
    if (!args.empty()) values = builder.take_all(args);
    builder.finish(from);
    flush(builder, l);
    assign_params(params, values, l);
  }

  // ---------------------------------------------------------------- nodes

  bool const_return(std::uint32_t n) const {
    // a module or class body has no `return` to copy
    if (!is_block(n) || !s_.is_function()) return false;
    const Node& node = s_.nodes[n];
    if (node.term != TermKind::Return || !node.params.empty()) return false;
    for (ValueId v : node.body)
      if (!s_.is_const(v) && !s_.is_op(v, Op::POP_TOP)) return false;
    return s_.is_const(node.value);
  }

  /// A return that the optimiser may have copied.
  bool copied_return(std::uint32_t n) const { return !in_source_order() && const_return(n); }

  /// Is the return at t, where `from` leads, no copy of an implicit one, which has the place of
  /// what comes before it? Without columns (3.10) the row tells.
  bool is_written_return(std::uint32_t from, std::uint32_t t) const {
    const Node &node = s_.nodes[t], &before = s_.nodes[from];
    if (node.term_columns != 0) return s_.is_written_return(node);
    return before.term == TermKind::Branch && before.match == kNone && before.term_line > 0 &&
           node.term_line > before.term_line && !node.behind_copy;
  }

  /// Children in the dominator tree that stand after n's statement.
  std::vector<std::uint32_t> merges_of(std::uint32_t n) const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t c : children(n)) {
      if (is_inline(n, c)) continue;
      out.push_back(c);
    }
    return out;
  }

  bool is_inline(std::uint32_t parent, std::uint32_t c) const {
    if (forward_in_[c] != 1 && !(c >= blocks_ + regions_)) return false;
    for (std::uint32_t p : preds(c))
      if (p == parent) return c < blocks_ + regions_;
    return false;
  }

  void gen(std::uint32_t n, std::uint32_t l, const Context& ctx) {
    if (n >= blocks_ + regions_) {
      go_to_end(n, l, ctx, {});
      return;
    }
    if (header_[n] && !open_.at(n)) {
      gen_loop(n, l, ctx);
      return;
    }
    if (is_try(n)) {
      gen_try(RegionId(n - blocks_), l, ctx);
      return;
    }
    gen_sequence(n, l, ctx, merges_of(n));
  }

  /// n's own part, then `merges` one after the other.
  void gen_sequence(std::uint32_t n, std::uint32_t l, const Context& ctx,
                    std::vector<std::uint32_t> merges) {
    if (is_block(n) && s_.nodes[n].match != kNone) {
      gen_match(n, l, ctx, std::move(merges));
      return;
    }
    Context part = ctx;
    // The return of a constant is repeated where it is reached; other code is there once.
    if (std::any_of(merges.begin(), merges.end(),
                    [&](std::uint32_t m) { return !copied_return(m); }))
      std::erase_if(merges, [&](std::uint32_t m) { return copied_return(m); });
    schedule(merges, l, ctx);
    if (!merges.empty()) part.follow = merges.front();
    work_.push_back({Task::Part, false, 0, n, l, part});
  }

  void schedule(std::span<const std::uint32_t> merges, std::uint32_t l, const Context& ctx) {
    for (std::size_t i = merges.size(); i > 0; --i) {
      Context c = ctx;
      if (i < merges.size()) c.follow = merges[i];
      std::uint32_t m = merges[i - 1];
      gen_later(m, l, c);
    }
  }

  /// Code stands only where the same statements protect it.
  void check_place(std::uint32_t n, const Context& ctx) const {
    if (region_of(n) != ctx.region)
      throw Error("structure: code at offset " + std::to_string(place(n)) +
                  " would be protected by another statement");
  }

  void gen_part(std::uint32_t b, std::uint32_t l, const Context& ctx) {
    Node& node = s_.nodes[b];
    if (node.region != ctx.region && !const_return(b) && !is_jump_statement(b)) check_place(b, ctx);
    BlockBuilder builder(s_, false);
    build(b, builder);
    switch (node.term) {
      case TermKind::Jump: {
        finish_and_hand_over(builder, BlockId(b), node.edges[0], l);
        go(BlockId(b), 0, l, ctx, false);
        return;
      }
      case TermKind::Branch: {
        ExprId test = builder.take(node.value);
        builder.finish(BlockId(b));
        flush(builder, l);
        gen_if(b, test, l, ctx);
        return;
      }
      case TermKind::ForIter: {
        builder.finish(BlockId(b));
        flush(builder, l);
        gen_for(b, l, ctx);
        return;
      }
      case TermKind::Return: {
        ExprId value = builder.take(node.value);
        builder.finish(BlockId(b));
        flush(builder, l);
        StmtId st = statement(StmtKind::Return, end_origin(node));
        s_.ast[st].e[0] = value;
        add(l, st);
        if (s_.is_function()) mark_end(st);  // the end of a module or class is no statement
        return;
      }
      case TermKind::Raise: {
        BlockBuilder::Operands args = builder.take_all(node.raise_args);
        builder.finish(BlockId(b));
        flush(builder, l);
        StmtId st = statement(StmtKind::Raise, end_origin(node));
        for (std::size_t i = 0; i < args.size() && i < 2; ++i) s_.ast[st].e[i] = args[i];
        add(l, st);
        mark_end(st);
        return;
      }
      case TermKind::Reraise: {
        builder.finish(BlockId(b));
        flush(builder, l);
        std::uint32_t t = targets_[std::size_t{b} * 2];
        if (t != kNone) {
          go_to_end(t, l, ctx, end_origin(node));
          return;
        }
        append_end(l, StmtKind::Raise, end_origin(node));
        return;
      }
      case TermKind::Unreachable:
        builder.finish(BlockId(b));
        flush(builder, l);
        return;
      case TermKind::Send:
        throw Error("structure: a SEND loop of an unknown shape");
    }
  }

  // ---------------------------------------------------------------- edges

  /// To the end of a `finally` body: falling off the end, or `break` of a loop that the body ends
  /// in.
  void go_to_end(std::uint32_t n, std::uint32_t l, const Context& ctx, Origin origin) {
    if (n == ctx.follow) return;
    if (n != ctx.exit) throw Error("structure: the end of a finally body is reached from within");
    append_end(l, StmtKind::Break, origin);
  }

  void append_continue(std::uint32_t l, const Context& ctx, Origin origin) {
    if (ctx.in_finally && !s_.lifted.continue_in_finally)
      throw Error("structure: continue in the body of a finally, which this version does not take");
    append_end(l, StmtKind::Continue, origin);
  }

  /// What an edge becomes: nothing (fall off the end), continue, break, the target's own code, or a
  /// copy of it.
  void go(BlockId from, int k, std::uint32_t l, const Context& ctx, bool with_args = true) {
    const Edge& edge = s_.nodes[from.index].edges[k];
    std::uint32_t t = target(from, k);
    if (with_args && !edge.args.empty()) {
      std::vector<ValueId> params, args;
      used_params(edge, params, args);
      std::vector<ExprId> values;
      for (ValueId v : args) values.push_back(reference(v));
      assign_params(params, values, l);
    }
    Origin origin = end_origin(s_.nodes[from.index]);
    const JumpRole role = s_.nodes[from.index].jump;
    if (role != JumpRole::Plain && jump_statement(role, t, l, ctx, origin)) return;
    go_to(from.index, t, l, ctx, origin);
  }

  /// `break` or `continue` that stands in the source, also where falling off the end would lead
  /// there.
  bool jump_statement(JumpRole role, std::uint32_t t, std::uint32_t l, const Context& ctx,
                      Origin origin) {
    if (role == JumpRole::Break && t == ctx.exit) {
      append_end(l, StmtKind::Break, origin);
      return true;
    }
    if (role == JumpRole::Continue && t == ctx.header) {
      append_continue(l, ctx, origin);
      s_.ast[lists_[l].last].flag = kJumpWritten;
      return true;
    }
    return false;
  }

  void go_to(std::uint32_t from, std::uint32_t t, std::uint32_t l, const Context& ctx,
             Origin origin) {
    if (t == ctx.follow) return;
    if (is_jump_statement(t)) {
      const std::uint32_t next = targets_[std::size_t{t} * 2];
      if (!jump_statement(s_.nodes[t].jump, next, l, ctx, end_origin(s_.nodes[t])))
        go_to(t, next, l, ctx, end_origin(s_.nodes[t]));
      return;
    }
    if (is_block(t) && ctx.follow < blocks_ && copied_return(t) &&
        s_.same_exit(BlockId(t), BlockId(ctx.follow)) && !is_written_return(from, t))
      return;
    if (t == ctx.header) {
      append_continue(l, ctx, origin);
      return;
    }
    if (t == ctx.exit) {
      append_end(l, StmtKind::Break, origin);
      return;
    }
    if (is_block(t) && s_.nodes[t].term == TermKind::Unreachable && s_.is_function() &&
        !holds_part(s_.nodes[t])) {
      append_end(l, StmtKind::Return,
                 origin);  // into a `finally` that never completes: every way out is as good
      return;
    }
    const bool leaves_region = !s_.is_ancestor(ctx.region, region_of(t));
    if (!leaves_region && forward_in_[t] == 1 && dom_.idom[t] == from) {
      gen(t, l, ctx);
      return;
    }
    if (const_return(t)) {
      gen_part(t, l, ctx);
      return;
    }
    if (!leaves_region && copyable(t, ctx)) {
      copy(t, l, ctx, 0);
      return;
    }
    throw Error("structure: a jump that no statement expresses, from offset " +
                std::to_string(origin.offset));
  }

  /// Statements that are there already stand once.
  bool holds_part(const Node& node) const {
    return std::any_of(node.body.begin(), node.body.end(),
                       [&](ValueId v) { return s_.at(v).kind == ValueKind::Statements; });
  }

  /// A short straight tail that ends in return, raise, or a place that can be reached by a
  /// statement.
  bool copyable(std::uint32_t t, const Context& ctx) const {
    std::size_t size = 0;
    for (int steps = 0; steps < 4; ++steps) {
      if (t == ctx.follow || t == ctx.header || t == ctx.exit) return true;
      if (!is_block(t) || header_[t]) return false;
      const Node& node = s_.nodes[t];
      if (node.region != ctx.region) return false;
      size += node.body.size();
      if (size > 60 || holds_part(node)) return false;
      if (node.term == TermKind::Return) return s_.is_function();
      if (node.term == TermKind::Raise) return true;
      if (node.term != TermKind::Jump || node.match != kNone) return false;
      t = targets_[std::size_t{t} * 2];
    }
    return false;
  }

  void copy(std::uint32_t t, std::uint32_t l, const Context& ctx, int depth) {
    if (depth == 0)
      s_.diagnose(1, is_block(t) ? s_.nodes[t].term_offset : 0, "a short tail is copied");
    BlockBuilder builder(s_, false);
    const Node& node = s_.nodes[t];
    if (node.term != TermKind::Jump) {
      gen_part(t, l, ctx);
      return;
    }
    build(t, builder);
    finish_and_hand_over(builder, BlockId(t), node.edges[0], l);
    std::uint32_t next = targets_[std::size_t{t} * 2];
    if (next == ctx.follow || next == ctx.header || next == ctx.exit) {
      go_to(t, next, l, ctx, end_origin(node));
      return;
    }
    copy(next, l, ctx, depth + 1);
  }

  // ---------------------------------------------------------------- if

  bool ends_at_once(std::uint32_t t, const Context& ctx) const {
    if (t == ctx.follow) return false;
    if (t == ctx.header || t == ctx.exit) return true;
    if (!is_block(t) || header_[t]) return false;
    const Node& node = s_.nodes[t];
    return node.term == TermKind::Return || node.term == TermKind::Raise;
  }

  void gen_if(std::uint32_t b, ExprId test, std::uint32_t l, const Context& ctx) {
    const BlockId from(b);
    Node& node = s_.nodes[b];
    std::uint32_t yes = target(from, 0), no = target(from, 1);
    StmtId st = statement(StmtKind::If, end_origin(node));
    s_.ast[st].e[0] = test;
    const bool yes_empty = yes == ctx.follow && !hands_over(node.edges[0]);
    // The arm that stands first in the bytecode is the body; an arm without code is no body.
    int body = 0;
    auto place = [&](std::uint32_t t) {
      return t == ctx.follow ? kNone : is_try(t) ? s_.regions[t - blocks_].entry.index : t;
    };
    if (yes_empty || (place(no) < place(yes) && place(no) > b && !(no == ctx.follow))) body = 1;
    if (no == ctx.follow && !yes_empty) body = 0;
    if ((no == ctx.header || no == ctx.exit) && !yes_empty && yes != ctx.header && yes != ctx.exit)
      body = 0;
    // `if …: continue` and `if …: break` where they were written
    auto written = [&](int k, std::uint32_t t) {
      return static_cast<bool>(node.edges[k].written) && t != kNone &&
             (t == ctx.header || t == ctx.exit);
    };
    if (written(0, yes) != written(1, no)) body = written(1, no);
    const bool else_written =
        !else_of_.empty() && else_of_[b] >= 0 && target(from, else_of_[b]) != ctx.follow;
    if (else_written) body = 1 - else_of_[b];
    // From 3.10 on blocks move, but a test jumps over its body still.
    const bool falls = s_.falls_known() && (node.falls == 0 || negation_is_free(s_.ast, test));
    if (falls) body = node.falls;
    if (body == 1 && !negation_is_free(s_.ast, test)) body = 0;
    if (body == 1) s_.ast[st].e[0] = negate(s_.ast, test);
    if (falls) s_.ast[st].level = kBodyKnown;
    std::uint32_t then = list(), rest = list();
    const int other = 1 - body;
    later([=, this] {
      if (terminates(then) && !else_written) {
        s_.ast[st].body = close(then);
        add(l, st);
        go(from, other, l, ctx);
        return;
      }
      later([=, this] {
        Stmt& done = s_.ast[st];
        auto goes_on = [&](std::uint32_t part) {
          return lists_[part].size != 0 && fate(lists_[part].last).goes_on;
        };
        done.flag = goes_on(then) || else_written ? kElseWritten : 0;
        if (terminates(then) && terminates(rest)) mark_end(st);
        done.body = close(then);
        done.orelse = close(rest);
        if (done.body.empty() && !done.orelse.empty() && !else_written && !falls &&
            negation_is_free(s_.ast, done.e[0])) {
          done.e[0] = negate(s_.ast, s_.ast[st].e[0]);
          Stmt& again = s_.ast[st];
          again.body = again.orelse;
          again.orelse = {};
        } else if (done.body.empty()) {
          StmtId pass = statement(StmtKind::Pass);
          s_.ast[st].body = s_.ast.arena.copy(std::initializer_list<StmtId>{pass});
        }
        add(l, st);
      });
      go(from, other, rest, ctx);
    });
    const bool continues = target(from, body) == ctx.header && written(body, ctx.header) &&
                           !node.edges[body].written.pass && node.edges[body].args.empty();
    const WrittenJump& jump = node.edges[body].written;
    if (continues)
      append_continue(then, ctx, {jump.offset, jump.line, s_.lifted.code, jump.columns});
    else
      go_later(from, body, then, ctx);
  }

  // ---------------------------------------------------------------- match

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

  std::int32_t first_line(std::uint32_t t) const {
    if (is_try(t)) t = s_.regions[t - blocks_].entry.index;
    if (!is_block(t)) return 0;
    for (ValueId v : s_.nodes[t].body)
      if (s_.at(v).line > 0) return s_.at(v).line;
    return s_.nodes[t].term_line;
  }

  std::int32_t last_line_under(std::uint32_t t) const {
    std::int32_t line = 0;
    std::vector<std::uint32_t> stack{t};
    while (!stack.empty()) {
      const std::uint32_t u = stack.back();
      stack.pop_back();
      if (is_block(u)) {
        line = std::max(line, s_.nodes[u].term_line);
        for (ValueId v : s_.nodes[u].body) line = std::max(line, s_.at(v).line);
      }
      for (std::uint32_t c : children(u)) stack.push_back(c);
    }
    return line;
  }

  /// A block's operations as the one expression that it branches on.
  ExprId probe_condition(std::uint32_t b) {
    const Node& node = s_.nodes[b];
    const std::uint32_t temporaries = s_.temporaries;
    BlockBuilder probe(s_, true);
    probe.run(node.body);
    ExprId e;
    if (!probe.failed && !probe.external) {
      e = probe.take(node.value);
      if (!e || probe.failed || !probe.out.empty() || probe.pending_count() != 0 || probe.external)
        e = ExprId();
    }
    s_.temporaries = temporaries;
    return e;
  }

  /// Does code that only `t` leads to return?
  bool returns_under(std::uint32_t t) {
    std::vector<std::uint32_t> stack{t};
    while (!stack.empty()) {
      const std::uint32_t u = stack.back();
      stack.pop_back();
      if (is_block(u) && s_.nodes[u].term == TermKind::Return) return true;
      for (std::uint32_t c : children(u)) stack.push_back(c);
    }
    return false;
  }

  /// The guard of the case at `head`: a condition right behind the pattern which, when it does not
  /// hold, leads where a failed test leads.
  std::uint32_t find_guard(std::uint32_t head, CasePart& part) {
    const Node& node = s_.nodes[head];
    const bool refutable = node.term == TermKind::Branch;
    const std::uint32_t b = target(BlockId(head), 0);
    if (!is_block(b) || header_[b] || forward_in_[b] != 1) return kNone;
    const Node& test = s_.nodes[b];
    if (test.match != kNone || test.term != TermKind::Branch || test.region != node.region)
      return kNone;
    for (int pass = 0; pass < 2; ++pass)
      for (int k = 1; k >= 0; --k) {
        const std::uint32_t t = target(BlockId(b), k);
        if (refutable ? t != target(BlockId(head), 1) : false) continue;
        const bool sure = is_next_case(t);
        if (pass == 0
                ? !sure
                : (sure || test.term_line != s_.cases[node.match].line || (!refutable && k == 0)))
          continue;
        if (!test.edges[0].args.empty() || !test.edges[1].args.empty()) continue;
        ExprId e = probe_condition(b);
        if (!e || (k == 0 && !negation_is_free(s_.ast, e) && !sure)) continue;
        part.guard = k == 0 ? negate(s_.ast, e) : e;
        part.from = b;
        part.edge = 1 - k;
        return t;
      }
    return kNone;
  }

  /// The cases from `n` on, like the arms of an `if`; what several bodies lead to stands after the
  /// statement.
  void gen_match(std::uint32_t n, std::uint32_t l, const Context& ctx,
                 std::vector<std::uint32_t> merges) {
    if (!s_.cases[s_.nodes[n].match].first)
      throw Error("structure: a case of a match is entered by itself");
    std::vector<CasePart> parts;
    std::unordered_set<std::uint32_t> linked;  // the cases and their guards
    std::uint32_t last_case = n;
    std::uint32_t otherwise = kNone;  // where control goes when no case matches
    for (std::uint32_t at = n;;) {
      const Node& node = s_.nodes[at];
      CasePart part;
      part.from = at;
      part.pattern = s_.cases[node.match].pattern;
      part.origin = end_origin(node);
      last_case = at;
      linked.insert(at);
      std::uint32_t fail = node.term == TermKind::Branch ? target(BlockId(at), 1) : kNone;
      const std::uint32_t behind = s_.cases[node.match].never ? kNone : find_guard(at, part);
      if (s_.cases[node.match].never) {
        part.guard = constant(ConstKind::False);
        part.passes = true;
      } else if (part.guard) {
        linked.insert(part.from);
        fail = behind;
      }
      part.list = list();
      parts.push_back(part);
      if (fail == kNone) break;
      if (is_next_case(fail) && !linked.contains(fail)) {
        at = fail;
        continue;
      }
      otherwise = fail;
      break;
    }
    for (std::uint32_t h : linked) {
      if (h == n) continue;
      for (std::uint32_t c : children(h))
        if (!is_inline(h, c)) merges.push_back(c);
    }
    std::erase_if(merges, [&](std::uint32_t m) { return linked.contains(m); });
    std::sort(merges.begin(), merges.end(),
              [&](std::uint32_t a, std::uint32_t b) { return dom_.number[a] < dom_.number[b]; });
    merges.erase(std::unique(merges.begin(), merges.end()), merges.end());
    // `case _`: reached from nowhere else
    bool is_default = false;
    bool passes = false;
    for (CasePart& part : parts)
      if (!part.passes && otherwise != kNone && target(BlockId(part.from), part.edge) == otherwise)
        part.passes = passes = true;
    if (otherwise != kNone && !passes && otherwise != ctx.follow && otherwise != ctx.header &&
        otherwise != ctx.exit && dom_.idom[otherwise] != kNone &&
        linked.contains(dom_.idom[otherwise]) && s_.is_ancestor(ctx.region, region_of(otherwise))) {
      bool only = true;
      for (std::uint32_t p : preds(otherwise))
        only &= linked.contains(p) || dom_.dominates(otherwise, p);
      if (only) {
        std::vector<std::uint32_t> rest(merges);
        std::erase_if(rest, [&](std::uint32_t m) { return m == otherwise || copied_return(m); });
        bool falls = !rest.empty();
        for (const CasePart& part : parts) {
          const std::uint32_t body = target(BlockId(part.from), part.edge);
          if (ctx.follow != ctx.header || ctx.header == kNone)
            falls |= body == ctx.follow ||
                     (dom_.idom[body] == part.from && subtree_reaches(body, ctx.follow));
          falls |= !s_.is_function() && body != otherwise &&
                   returns_under(body);  // the end of a module or class is no statement
        }
        const std::uint32_t last = target(BlockId(parts.back().from), parts.back().edge);
        const std::int32_t before =
            std::max(last_line_under(last), s_.cases[s_.nodes[last_case].match].line);
        is_default = falls || first_line(otherwise) >= before + 2;
      }
      if (is_default) {
        std::erase(merges, otherwise);
      } else if (only && std::find(merges.begin(), merges.end(), otherwise) == merges.end()) {
        merges.push_back(otherwise);
      }
    }
    if (merges.size() > 1) {
      std::vector<std::uint32_t> kept;
      for (std::uint32_t m : merges)
        if (!copied_return(m) || m == otherwise) kept.push_back(m);
      if (kept.empty() && !subtree_reaches(n, ctx.follow)) kept.push_back(merges.back());
      merges = kept;
    }
    Context arm = ctx;
    if (!merges.empty()) arm.follow = merges.front();
    schedule(merges, l, ctx);

    BlockBuilder builder(s_, false);
    build(n, builder);
    const ExprId subject = builder.take(s_.nodes[n].value);
    builder.finish(BlockId());
    flush(builder, l);
    StmtId st = statement(StmtKind::Match, end_origin(s_.nodes[n]));
    s_.ast[st].e[0] = subject;
    const bool exhaustive = is_default || otherwise == kNone;
    if (is_default) {
      CasePart part;
      part.pattern = s_.ast.expr(ExprKind::MatchAs, {});
      part.list = list();
      parts.push_back(part);
    }
    const auto close_match = [=, this](std::vector<CasePart> all, bool complete) {
      std::vector<StmtId> arms;
      bool all_end = complete;
      if (complete && !exhaustive && lists_[all.back().list].size == 0) all.pop_back();
      for (const CasePart& part : all) {
        all_end &= terminates(part.list);
        StmtId one = statement(StmtKind::Case, part.origin);
        s_.ast[one].e[0] = part.pattern;
        s_.ast[one].e[1] = part.guard;
        if (lists_[part.list].size == 0) add(part.list, statement(StmtKind::Pass));
        s_.ast[one].body = close(part.list);
        arms.push_back(one);
      }
      s_.ast[st].arms = s_.ast.arena.copy(arms);
      add(l, st);
      if (all_end && merges.empty()) mark_end(st);
    };
    later([=, this] {
      if (exhaustive || otherwise == arm.follow) {
        close_match(parts, exhaustive);
        return;
      }
      const std::uint32_t from = parts.back().from;
      if (merges.empty() && std::all_of(parts.begin(), parts.end(), [&](const CasePart& part) {
            return part.passes || terminates(part.list);
          })) {
        close_match(parts, false);
        go_from_match(from, otherwise, l, ctx);
        return;
      }
      // Bodies go on behind the statement, so what follows where no case matches stands in a case
      // of its own.
      std::vector<CasePart> all = parts;
      CasePart part;
      part.pattern = s_.ast.expr(ExprKind::MatchAs, {});
      part.list = list();
      part.passes = true;
      all.push_back(part);
      later([=] { close_match(all, true); });
      for (const CasePart& one : all)
        if (one.passes) go_from_match(from, otherwise, one.list, arm);
    });
    for (std::size_t i = parts.size(); i > 0; --i) {
      const CasePart part = parts[i - 1];
      if (part.passes) continue;
      if (part.from == kNone)
        gen_later(otherwise, part.list, arm);
      else
        go_later(BlockId(part.from), part.edge, part.list, arm);
    }
  }

  void go_from_match(std::uint32_t from, std::uint32_t t, std::uint32_t l, const Context& ctx) {
    go_to(from, t, l, ctx, end_origin(s_.nodes[from]));
  }

  // ---------------------------------------------------------------- loops

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
  bool ends_body_around(std::uint32_t h, std::uint32_t t) const {
    return t >= blocks_ + regions_ &&
           !dom_.dominates(h, t - regions_);  // h dominates the `try` of what it holds
  }

  LoopShape shape_of(std::uint32_t h, std::uint32_t natural_exit) {
    LoopShape shape;
    if (const std::uint32_t* const once = once_.at(h)) {
      for (std::uint32_t c : children(h)) (c == *once ? shape.after : shape.inside).push_back(c);
      shape.exit = *once;
      return shape;
    }
    std::vector<std::uint32_t> unclear;
    for (std::uint32_t c : children(h)) {
      const bool written_inside = !in_source_order() && c != natural_exit && is_inline(h, c) &&
                                  side_of(c, h) == Side::Inside;
      if (in_loop(c, h) || part_of_try(h, c) || later_case(c) || within(c, h) || written_inside)
        shape.inside.push_back(c);
      else if (!in_source_order() || c == natural_exit || c == break_[h])
        shape.after.push_back(c);
      else
        unclear.push_back(c);
    }
    if (!unclear.empty()) {
      // Only `break` and the end of the test lead behind the loop.
      const std::unordered_set<std::uint32_t> behind = reachable({natural_exit, break_[h]}, h);
      for (std::uint32_t c : unclear) (behind.count(c) ? shape.after : shape.inside).push_back(c);
    }
    // Code that leads out of the loop and is reached from its middle has its dominator inside, so
    // it is inside too.
    std::vector<std::uint32_t> stack{h};
    for (std::uint32_t c : shape.inside) stack.push_back(c);
    std::vector<std::uint32_t> breaks;
    auto outside = [&](std::uint32_t t) {
      if (t == h) return false;
      if (!s_.is_function() && const_return(t)) return true;  // no statement ends a module or class
      if (!dom_.dominates(h, t) || ends_body_around(h, t)) return true;
      for (std::uint32_t a : shape.after)
        if (dom_.dominates(a, t)) return true;
      return false;
    };
    while (!stack.empty()) {
      std::uint32_t u = stack.back();
      stack.pop_back();
      if (u != h)
        for (std::uint32_t c : children(u)) stack.push_back(c);
      for (std::uint32_t t : graph_.successors(u)) {
        if (!real_edge(u, t)) continue;
        if (!outside(t) || (u == h && t == natural_exit)) continue;
        breaks.push_back(t);
      }
    }
    if (!break_.empty() && break_[h] != kNone) {
      shape.exit = break_[h];
      shape.else_needed = natural_exit != kNone && natural_exit != shape.exit;
      shape.endless = std::find(breaks.begin(), breaks.end(), shape.exit) == breaks.end() &&
                      (natural_exit == kNone || ends_apart(h, natural_exit, shape.exit));
      return shape;
    }
    if (breaks.empty()) return shape;
    auto count = [&](std::uint32_t t) { return std::count(breaks.begin(), breaks.end(), t); };
    if (natural_exit != kNone && count(natural_exit) > 0) {
      shape.exit = natural_exit;
      return shape;
    }
    std::uint32_t best = h < breaks_.size() ? breaks_[h] : kNone;
    if (best != kNone && count(best) > 0) {
      shape.exit = best;
      shape.else_needed = natural_exit != kNone;
      return shape;
    }
    best = kNone;
    for (std::uint32_t t : breaks) {
      const bool stands_behind =
          std::find(shape.after.begin(), shape.after.end(), t) != shape.after.end();
      if ((!stands_behind || is_inline(h, t)) && forward_in_[t] == 1 &&
          side_of(t, h) == Side::Inside)
        continue;
      // a return of its own; also where no `else` would do, because what follows the loop goes on
      // elsewhere
      if (s_.is_function() && copied_return(t) &&
          (is_single_return(t) || (natural_exit != kNone && !goes_only_to(natural_exit, h, t))))
        continue;
      if (best == kNone || rank(t, shape) > rank(best, shape)) best = t;
    }
    if (best == kNone) return shape;
    shape.exit = best;
    shape.else_needed = natural_exit != kNone;
    // `break` leads to one place: what else the body leads to stands in the body
    const auto stands_inside = [&](std::uint32_t c) {
      return c != best && c != natural_exit && count(c) > 0 && !is_inline(h, c) &&
             !copied_return(c);
    };
    std::copy_if(shape.after.begin(), shape.after.end(), std::back_inserter(shape.inside),
                 stands_inside);
    std::erase_if(shape.after, stands_inside);
    return shape;
  }

  /// Is `n` the `else` of the loop of `h`, and never runs into `exit`?
  bool ends_apart(std::uint32_t h, std::uint32_t n, std::uint32_t exit) const {
    return n != exit && dom_.idom[n] == h && !subtree_reaches(n, exit);
  }

  /// Does what stands behind the loop of `h`, from `n` on, end or lead to `t`, and nowhere else?
  bool goes_only_to(std::uint32_t n, std::uint32_t h, std::uint32_t t) const {
    if (dom_.idom[n] != h) return false;
    std::vector<std::uint32_t> stack{n};
    for (std::size_t i = 0; i < stack.size() && i < 4096; ++i) {
      for (std::uint32_t to : graph_.successors(stack[i]))
        if (to != t && !dom_.dominates(n, to) && real_edge(stack[i], to)) return false;
      stack.insert(stack.end(), children(stack[i]).begin(), children(stack[i]).end());
    }
    return stack.size() <= 4096;
  }

  /// Nodes that control reaches from `roots` without passing `h`, as far as h dominates them.
  std::unordered_set<std::uint32_t> reachable(std::vector<std::uint32_t> roots,
                                              std::uint32_t h) const {
    std::unordered_set<std::uint32_t> seen;
    std::erase(roots, kNone);
    while (!roots.empty()) {
      const std::uint32_t u = roots.back();
      roots.pop_back();
      if (u == h || dom_.number[u] == kNone || !dom_.dominates(h, u) || !seen.insert(u).second)
        continue;
      for (std::uint32_t t : graph_.successors(u)) roots.push_back(t);
    }
    return seen;
  }

  /// The protected code and the handlers of the `try` that a loop consists of, also where they only
  /// lead out of the loop.
  bool part_of_try(std::uint32_t h, std::uint32_t c) const {
    if (!is_try(h)) return false;
    const RegionId r(h - blocks_);
    const StructRegion& region = s_.regions[r.index];
    return c == wrapped(r, region.entry) ||
           (region.kind != RegionKind::With && c == wrapped(region.parent, region.handler));
  }

  /// A `case` that is not its statement's first: it stands where that stands.
  bool later_case(std::uint32_t c) const {
    return is_block(c) && s_.nodes[c].match != kNone && !s_.cases[s_.nodes[c].match].first;
  }

  bool is_single_return(std::uint32_t t) const { return forward_in_[t] == 1; }
  bool real_edge(std::uint32_t u, std::uint32_t t) const {
    return std::find(preds(t).begin(), preds(t).end(), u) != preds(t).end();
  }

  /// What is best reached by `break`: code that follows the loop, the later the better.
  std::uint64_t rank(std::uint32_t t, const LoopShape& shape) const {
    bool own = std::find(shape.after.begin(), shape.after.end(), t) != shape.after.end();
    return (own ? 0 : 1ull << 40) + (own ? dom_.number[t] : dom_.number.size() - dom_.number[t]);
  }

  void gen_loop(std::uint32_t h, std::uint32_t l, const Context& ctx) {
    open_[h] = 1;
    if (is_block(h)) {
      Node& node = s_.nodes[h];
      bool quiet = true;
      for (ValueId v : node.body) quiet &= s_.is_const(v) || s_.is_op(v, Op::POP_TOP);
      if (node.term == TermKind::ForIter && quiet) {
        gen_for(h, l, ctx);
        return;
      }
      if (node.term == TermKind::Branch && node.match == kNone && gen_while(h, l, ctx)) return;
    }
    LoopShape shape = shape_of(h, kNone);
    StmtId st = statement(StmtKind::While);
    s_.ast[st].e[0] = constant(ConstKind::True);
    std::uint32_t body = list();
    Context inner = ctx;
    inner.follow = h;
    inner.header = h;
    inner.in_finally = false;
    inner.exit = shape.endless ? kNone : shape.exit;  // what no jump leads to may stand in the body
    std::vector<std::uint32_t> inside;
    for (std::uint32_t c : shape.inside)
      if (!is_inline(h, c)) inside.push_back(c);
    // single-entry code after the loop that is no `break` target is held by the branch that leads
    // to it
    std::vector<std::uint32_t> after;
    for (std::uint32_t c : shape.after)
      if (c == shape.exit || !(is_inline(h, c) || copied_return(c))) after.push_back(c);
    later([=, this] {
      Stmt& done = s_.ast[st];
      done.body = close(body);
      add(l, st);
      leave_by_break(st, h, shape, after, l, ctx);
    });
    if (is_try(h)) {
      later([=, this] { gen_try(RegionId(h - blocks_), body, inner, &inside); });
    } else {
      gen_sequence(h, body, inner, inside);
    }
  }

  /// After a loop: what `break` reaches, and what else stands behind.
  void leave_loop(std::uint32_t h, std::uint32_t exit, std::vector<std::uint32_t> after,
                  std::uint32_t l, const Context& ctx) {
    std::erase(after, kNone);
    if (exit != kNone && std::find(after.begin(), after.end(), exit) == after.end()) {
      if (after.empty()) {
        go_outer(h, exit, l, ctx);
        return;
      }
    }
    schedule(after, l, ctx);
    if (exit != kNone && !after.empty() && after.front() != exit) {
      // falls into the first of them, which is no exit
      throw Error("structure: several ways out of a loop");
    }
  }

  /// The same for the statement of a loop that `break` alone leaves; behind one that nothing
  /// leaves, nothing is gone to.
  void leave_by_break(StmtId st, std::uint32_t h, const LoopShape& shape,
                      const std::vector<std::uint32_t>& after, std::uint32_t l,
                      const Context& ctx) {
    const std::uint32_t exit =
        shape.endless && after.empty() && shape.exit != ctx.follow ? kNone : shape.exit;
    if (exit == kNone) mark_end(st);
    leave_loop(h, exit, after, l, ctx);
  }

  void go_outer(std::uint32_t from, std::uint32_t t, std::uint32_t l, const Context& ctx) {
    if (t == ctx.follow) return;
    go_to(from, t, l, ctx, {});
  }

  ExprId constant(ConstKind kind) {
    Const c;
    c.kind = kind;
    return s_.ast.constant(s_.module.add(c));
  }

  bool gen_while(std::uint32_t h, std::uint32_t l, const Context& ctx) {
    Node& node = s_.nodes[h];
    const BlockId from(h);
    bool in0 = in_loop(target(from, 0), h), in1 = in_loop(target(from, 1), h);
    if (in0 == in1) return false;
    const int stay = in0 ? 0 : 1;
    if (!node.edges[0].args.empty() || !node.edges[1].args.empty()) return false;
    std::uint32_t exit = target(from, 1 - stay);
    if (within(exit, h) || (s_.falls_known() && node.falls != stay))
      return false;  // `while True: if …: break`
    if (h < last_.size() && !const_return(exit) && written_in_lines(exit, h, last_)) return false;
    {
      // the whole block is the test
      std::uint32_t temporaries = s_.temporaries;
      BlockBuilder probe(s_, true);
      probe.run(node.body);
      bool fits = !probe.failed && !probe.external;
      if (fits) {
        ExprId e = probe.take(node.value);
        fits = e && !probe.failed && probe.out.empty() && probe.pending_count() == 0 &&
               !probe.external && (stay == 0 || negation_is_free(s_.ast, e));
      }
      s_.temporaries = temporaries;
      if (!fits) return false;
    }
    LoopShape shape = shape_of(h, exit);
    if (!in_source_order() && shape.else_needed && ends_at_once(exit, Context{})) return false;
    BlockBuilder builder(s_, false);
    build(h, builder);
    ExprId test = builder.take(node.value);
    StmtId st = statement(StmtKind::While, end_origin(node));
    s_.ast[st].e[0] = stay == 0 ? test : negate(s_.ast, test);
    gen_loop_rest(st, h, stay, 1 - stay, shape, exit, l, ctx);
    return true;
  }

  /// The body, the `else` and what follows of a `for` or a `while` with a test.
  void gen_loop_rest(StmtId st, std::uint32_t h, int stay, int leave, LoopShape shape,
                     std::uint32_t exit, std::uint32_t l, const Context& ctx) {
    const BlockId from(h);
    std::uint32_t body = list(), orelse = list();
    Context inner = ctx;
    inner.follow = h;
    inner.header = h;
    inner.in_finally = false;
    inner.exit = shape.exit;
    std::vector<std::uint32_t> inside, after;
    for (std::uint32_t c : shape.inside)
      if (!is_inline(h, c)) inside.push_back(c);
    for (std::uint32_t c : shape.after) {
      if (shape.else_needed && c == exit) continue;
      if (c != shape.exit && c != exit && (is_inline(h, c) || copied_return(c))) continue;
      after.push_back(c);
    }
    later([=, this] {
      s_.ast[st].body = close(body);
      later([=, this] {
        s_.ast[st].orelse = close(orelse);
        add(l, st);
        if (shape.else_needed) {
          leave_by_break(st, h, shape, after, l, ctx);
        } else if (!after.empty() && after.front() == exit) {
          schedule(after, l, ctx);
        } else if (after.empty()) {
          go(from, leave, l, ctx, false);
        } else {
          throw Error("structure: several ways out of a loop");
        }
      });
      if (shape.else_needed) {
        Context e = ctx;
        e.follow = shape.exit;
        go(from, leave, orelse, e, false);
      }
    });
    schedule(inside, body, inner);
    Context first = inner;
    if (!inside.empty()) first.follow = inside.front();
    go_later(from, stay, body, first, false);
  }

  void gen_for(std::uint32_t h, std::uint32_t l, const Context& ctx) {
    Node& node = s_.nodes[h];
    const BlockId from(h);
    StmtId st = statement(StmtKind::For, end_origin(node));
    s_.ast[st].flag = node.async_for;
    ValueId iterator = s_.resolve(node.value);
    ExprId iterable = s_.known(iterator).built;
    if (!iterable) iterable = s_.ast.name(s_.temporary_for(iterator));
    s_.ast[st].e[1] = iterable;
    std::uint32_t body = target(from, 0), exit = target(from, 1);
    ValueId item = node.item;
    const Edge& edge = node.edges[0];
    const Node& first = s_.nodes[edge.to.index];
    // the item may be handed over as the block's parameter
    for (std::size_t i = 0; i < first.params.size() && i < edge.args.size(); ++i)
      if (s_.resolve(edge.args[i]) == item && s_.uses[first.params[i].index] > 0)
        item = first.params[i];
    if (is_block(body) && !header_[body] && forward_in_[body] == 1 && s_.uses[item.index] > 0) {
      seeds_[body] = {item, st};
    } else {
      s_.ast[st].e[0] = s_.ast.name(s_.temporary_for(item));
    }
    LoopShape shape;
    if (header_[h]) {
      shape = shape_of(h, exit);
    } else {
      // a loop that never comes around: every way through the body leaves it
      // What several ways lead to behind the loop is there already: gen_sequence put it.
      for (std::uint32_t c : children(h)) {
        if (c == body || dom_.dominates(body, c))
          shape.inside.push_back(c);
        else if (is_inline(h, c))
          shape.after.push_back(c);
      }
      std::vector<std::uint32_t> stack{body};
      std::uint32_t best = kNone;
      bool natural = false, breaks = false;
      while (!stack.empty()) {
        std::uint32_t u = stack.back();
        stack.pop_back();
        for (std::uint32_t c : children(u)) stack.push_back(c);
        for (std::uint32_t t : graph_.successors(u)) {
          if (!real_edge(u, t)) continue;
          if (dom_.dominates(body, t)) continue;
          natural |= t == exit;
          breaks |= !break_.empty() && t == break_[h];
          if (!(copied_return(t) && (is_single_return(t) || !goes_only_to(exit, h, t))) &&
              (best == kNone || rank(t, shape) > rank(best, shape)))
            best = t;
        }
      }
      shape.exit = natural ? exit : best;
      if (!break_.empty() && break_[h] != kNone) {
        shape.exit = break_[h];
        shape.endless = !breaks && ends_apart(h, exit, shape.exit);
      }
      shape.else_needed = shape.exit != kNone && shape.exit != exit;
    }
    gen_loop_rest(st, h, 0, 1, shape, exit, l, ctx);
  }

  // ---------------------------------------------------------------- try

  struct Arm {
    StmtId handler;
    std::uint32_t list;
  };

  void gen_try(RegionId r, std::uint32_t l, const Context& ctx,
               const std::vector<std::uint32_t>* only = nullptr) {
    const StructRegion& region = s_.regions[r.index];
    const std::uint32_t n = try_node(r);
    check_place(n, ctx);
    const std::uint32_t entry = wrapped(r, region.entry);
    Context inner = ctx;
    inner.region = r;
    // what stands after the statement
    std::vector<std::uint32_t> merges;
    std::vector<BlockId> tests;  // the chain of `except` tests
    std::uint32_t bare = kNone;  // behind it a bare `except` that begins with a `try`
    auto collect = [&](std::uint32_t node, std::uint32_t skip1, std::uint32_t skip2) {
      for (std::uint32_t c : children(node))
        if (c != skip1 && c != skip2 && !is_inline_arm(node, c)) merges.push_back(c);
    };
    if (region.kind == RegionKind::Except) {
      for (BlockId t = region.handler;;) {
        tests.push_back(t);
        if (!is_test(t, region.handler)) break;
        std::uint32_t next = target(t, 1);
        if (is_try(next) && forward_in_[next] == 1 && dom_.idom[next] == t.index) bare = next;
        if (!is_block(next)) break;
        BlockId b(next);
        if (b == region.unhandled) break;
        if (forward_in_[next] != 1 || dom_.idom[next] != t.index ||
            !(is_test(b, region.handler) || falls_through_chain(b, region.handler)))
          break;
        t = b;
      }
      collect(n, entry, wrapped(region.parent, region.handler));
      for (BlockId t : tests)
        if (is_test(t, region.handler)) collect(t.index, kNone, kNone);
      if (region.is_star()) {
        collect(region.unhandled.index, kNone, kNone);
        const std::uint32_t behind = resume_of(r);
        if (behind != kNone && dom_.idom[behind] == region.unhandled.index)
          merges.push_back(behind);
      }
    } else if (region.kind == RegionKind::Finally) {
      collect(n, entry, wrapped(region.parent, region.handler));
    } else {
      collect(n, entry, kNone);
    }
    if (only) {
      // the statement is a loop's body: what is outside the loop is placed by the loop
      std::erase_if(merges, [&](std::uint32_t m) {
        return std::find(only->begin(), only->end(), m) == only->end() && dom_.idom[m] == n;
      });
    }
    std::sort(merges.begin(), merges.end(),
              [&](std::uint32_t a, std::uint32_t b) { return dom_.number[a] < dom_.number[b]; });
    merges.erase(std::unique(merges.begin(), merges.end()), merges.end());
    drop_returns_before_the_end(r, tests, merges);
    // what one way alone leads to, out of more than this statement, or written in front of its end
    const bool end_known = region.kind == RegionKind::Finally &&
                           r.index < s_.lifted.regions.size() &&
                           s_.lifted.regions[r.index].end != kNoOffset;
    std::erase_if(merges, [&](std::uint32_t m) {
      return const_return(m) && preds(m).size() == 1 && in_source_order() &&
             (end_known || region_of(m) != region.parent) && !stands_behind(m, r);
    });
    if (const std::uint32_t resume = resume_of(r); resume != kNone) {
      // No clause of except* can return: each falls to what stands behind the statement. A `with`
      // and its swallowed exception go on at one place: a return elsewhere stands inside.
      std::erase_if(merges, [&](std::uint32_t m) { return m != resume && const_return(m); });
    }
    if (!region.is_star() && merges.size() > 1) {
      std::vector<std::uint32_t> kept;
      for (std::uint32_t m : merges)
        if (!copied_return(m)) kept.push_back(m);
      if (kept.empty() && !subtree_reaches(n, ctx.follow)) {
        // what a context manager that swallows the exception goes on with stands behind the `with`
        const std::uint32_t resume = resume_of(r);
        kept.push_back(std::find(merges.begin(), merges.end(), resume) != merges.end()
                           ? resume
                           : merges.back());
      }
      merges = kept;
    } else if (!region.is_star() && merges.size() == 1 && copied_return(merges[0]) &&
               forward_in_[merges[0]] == 1 && only_from(merges[0], r)) {
      // `if c: return 1` inside the protected code, while nothing runs into what follows
      const std::uint32_t from = preds(merges[0]).empty() ? kNone : preds(merges[0])[0];
      if (is_block(from) && s_.nodes[from].term == TermKind::Branch) merges.clear();
    }
    if (!region.is_star() && merges.size() == 1 && copied_return(merges[0]) &&
        subtree_reaches(n, ctx.follow)) {
      merges
          .clear();  // something runs into what follows the statement, so nothing may stand between
    }
    // `else`: reached from the protected code alone, while the handlers go elsewhere
    std::uint32_t otherwise = kNone;
    const auto only_protected = region.kind == RegionKind::Except
                                    ? std::find_if(merges.begin(), merges.end(),
                                                   [&](std::uint32_t m) { return only_from(m, r); })
                                    : merges.end();
    if (only_protected != merges.end()) {
      bool handlers_fall = region.is_star() ? *only_protected != resume_of(r) : merges.size() > 1;
      handlers_fall |=
          !phantom_.empty() && phantom_[r.index] != kNone && phantom_[r.index] != *only_protected;
      if (!handlers_fall && !region.is_star() && ctx.follow != kNone &&
          (in_source_order() || ctx.follow != ctx.header))
        handlers_fall = handlers_reach(tests, ctx.follow);
      if (handlers_fall) {
        otherwise = *only_protected;
        merges.erase(only_protected);
      }
    }
    Context after = ctx;
    std::uint32_t resume = resume_of(r);
    bool goes_on = false;  // for the compiler, behind code that never ends
    if (resume == kNone && !phantom_.empty() && phantom_[r.index] != kNone) {
      const std::uint32_t behind = phantom_[r.index];
      goes_on = behind == ctx.follow || behind == ctx.header || behind == ctx.exit ||
                std::find(merges.begin(), merges.end(), behind) != merges.end();
      if (goes_on) resume = behind;
    }
    std::uint32_t next = merges.empty() ? (resume != kNone ? resume : ctx.follow) : merges.front();
    // Whether the body ends or its exception is swallowed, control goes on at one place.
    if (region.kind == RegionKind::With && resume != kNone && !same_end(next, resume))
      throw Error(
          "structure: what stands behind a with statement is not where a swallowed exception "
          "leads");
    if (merges.empty() && resume != kNone) later([=, this] { go_to(n, resume, l, ctx, {}); });
    inner.follow = otherwise != kNone ? otherwise : next;
    Context arm = ctx;
    arm.follow = next;
    if (region.is_star()) {
      if (resume != next)
        throw Error(
            "structure: the clauses of an except* statement lead elsewhere than what follows it");
      arm.header = arm.exit = kNone;
    }
    if (region.scope) arm.region = region.scope;
    schedule(merges, l, after);

    if (region.kind == RegionKind::With) {
      StmtId st = statement(StmtKind::With);
      Stmt& with = s_.ast[st];
      with.flag = region.async;
      with.list = s_.ast.arena.copy(std::initializer_list<ExprId>{ExprId(), ExprId()});
      ExprId manager = s_.known(region.with_enter).built;
      s_.ast[st].list[0] = manager ? manager : s_.ast.name(s_.temporary_for(region.with_enter));
      s_.ast[st].origin = s_.origin(region.with_enter);
      ValueId result = with_result(region);
      if (result && s_.uses[result.index] > 0) {
        if (is_block(entry) && !header_[entry])
          seeds_[entry] = {result, st};
        else
          s_.ast[st].list[1] = s_.ast.name(s_.temporary_for(result));
      }
      std::uint32_t body = list();
      later([=, this] {
        s_.ast[st].body = close(body);
        join_with_inner_with(st);
        add(l, st);
        if (next == kNone && terminates(body) && merges.empty()) mark_end(st);
      });
      gen_later(entry, body, inner);
      return;
    }

    StmtId st = statement(StmtKind::Try);
    std::uint32_t body = list(), orelse = list(), final = list();
    auto arms = std::make_shared<std::vector<Arm>>();
    later([=, this] {
      std::vector<StmtId> handlers;
      bool all_end = terminates(body) || (otherwise != kNone && terminates(orelse));
      for (const Arm& a : *arms) {
        s_.ast[a.handler].body = close(a.list);
        handlers.push_back(a.handler);
        all_end &= terminates(a.list);
      }
      Stmt& done = s_.ast[st];
      done.flag = s_.regions[r.index].is_star();
      done.body = close(body);
      done.orelse = close(orelse);
      done.final = close(final);
      if (s_.regions[r.index].kind == RegionKind::Finally && done.final.empty()) {
        StmtId pass = statement(StmtKind::Pass);
        s_.ast[st].final = s_.ast.arena.copy(std::initializer_list<StmtId>{pass});
      }
      s_.ast[st].arms = s_.ast.arena.copy(handlers);
      join_with_inner_try(st);
      if (goes_on) fate(st).goes_on = true;
      if (!goes_on &&
          (all_end || (s_.regions[r.index].kind == RegionKind::Finally && terminates(final))))
        mark_end(st);
      add(l, st);
    });
    if (region.kind == RegionKind::Finally) {
      std::uint32_t handler = wrapped(region.parent, region.handler);
      Context f = ctx;
      f.follow = end_node(r);
      f.in_finally = true;
      if (region.scope) f.region = region.scope;
      gen_later(handler, final, f);
    } else {
      const BlockId last = tests.back();
      if (bare != kNone ||
          (is_test(last, region.handler) && !raises_again(target(last, 1), region))) {
        later([=, this] {
          StmtId handler = statement(StmtKind::Handler);
          const std::uint32_t code = list();
          arms->push_back({handler, code});
          if (bare != kNone)
            gen(bare, code, arm);
          else
            go(last, 1, code, arm);  // `except: pass`, or no more than a jump
        });
      }
      for (std::size_t i = tests.size(); i > 0; --i) {
        BlockId t = tests[i - 1];
        later([=, this] { gen_handler(r, t, *arms, arm); });
      }
    }
    if (otherwise != kNone) {
      Context e = ctx;
      e.follow = next;
      gen_later(otherwise, orelse, e);
    }
    gen_later(entry, body, inner);
  }

  /// `try: try: … except …  finally: …` is one statement.
  void join_with_inner_try(StmtId st) {
    Stmt& outer = s_.ast[st];
    if (outer.final.empty() || !outer.arms.empty() || outer.body.size() != 1) return;
    const Stmt& inner = s_.ast[outer.body[0]];
    if (inner.kind != StmtKind::Try || !inner.final.empty()) return;
    outer.flag = inner.flag;
    outer.arms = inner.arms;
    outer.orelse = inner.orelse;
    outer.body = inner.body;
  }

  /// `with a: with b: …` is `with a, b: …`.
  void join_with_inner_with(StmtId st) {
    Stmt& outer = s_.ast[st];
    if (outer.body.size() != 1) return;
    const Stmt& inner = s_.ast[outer.body[0]];
    if (inner.kind != StmtKind::With || inner.flag != outer.flag) return;
    std::vector<ExprId> items(outer.list.begin(), outer.list.end());
    items.insert(items.end(), inner.list.begin(), inner.list.end());
    outer.body = inner.body;
    outer.list = s_.ast.arena.copy(items);
  }

  /// One node, or two copies of one end.
  bool same_end(std::uint32_t a, std::uint32_t b) {
    return a == b || (is_block(a) && is_block(b) && s_.same_exit(BlockId(a), BlockId(b)));
  }

  /// Where control goes on when the exit function of a `with` swallows the exception, or when the
  /// clauses of `except*` took all of it; none for other statements.
  std::uint32_t resume_of(RegionId r) const {
    const StructRegion& region = s_.regions[r.index];
    if (region.is_star()) return target(region.unhandled, 0);
    if (region.kind != RegionKind::With) return kNone;
    const Node& handler = s_.nodes[region.handler.index];
    return handler.term == TermKind::Branch ? past_empty(region.parent, handler.edges[0].to)
                                            : kNone;
  }

  /// Up to 3.10 the code behind the statement stands right behind its last re-raise. A short return
  /// that stands elsewhere is no such code: it belongs to the handler or the body that leads to it.
  void drop_returns_before_the_end(RegionId r, const std::vector<BlockId>& tests,
                                   std::vector<std::uint32_t>& merges) const {
    if (s_.lifted.regions.size() <= r.index ||
        s_.lifted.regions[r.index].entry != HandlerEntry::Six ||
        s_.regions[r.index].kind != RegionKind::Except)
      return;
    if (tests.empty() || s_.nodes[tests.back().index].term != TermKind::Reraise) return;
    const std::uint32_t behind = s_.nodes[tests.back().index].term_offset + 2;
    std::erase_if(merges, [&](std::uint32_t m) {
      if (!const_return(m)) return false;
      const Node& node = s_.nodes[m];
      const std::uint32_t begin =
          node.body.empty() ? node.term_offset : s_.at(node.body.front()).offset;
      return in_source_order() ? begin < behind : begin != behind;
    });
  }

  /// Where no clause matches: the implicit end of a chain of tests.
  bool raises_again(std::uint32_t t, const StructRegion& region) const {
    if (!is_block(t)) return false;
    if (BlockId(t) == region.unhandled) return true;
    const Node& node = s_.nodes[t];
    return node.term == TermKind::Reraise && node.body.empty() &&
           s_.at(s_.resolve(node.value)).block == region.handler;
  }

  bool is_inline_arm(std::uint32_t parent, std::uint32_t c) const {
    return is_block(parent) && is_inline(parent, c);
  }

  bool is_test(BlockId b, BlockId handler) const {
    const Node& node = s_.nodes[b.index];
    if (node.term != TermKind::Branch || !s_.is_op(node.value, Op::EXC_MATCH)) return false;
    const Value& e = s_.at(s_.at(node.value).operands[0]);
    return (e.kind == ValueKind::Exception || e.kind == ValueKind::ExceptionType) &&
           e.block == handler;
  }

  /// After the last test: raises again (the implicit end), or is a bare `except`.
  bool falls_through_chain(BlockId b, BlockId handler) const {
    const Node& node = s_.nodes[b.index];
    if (node.term == TermKind::Reraise && node.body.empty())
      return s_.at(node.value).block == handler;
    return node.term != TermKind::Branch || !is_test(b, handler);
  }

  void gen_handler(RegionId r, BlockId t, std::vector<Arm>& arms, const Context& ctx) {
    const StructRegion& region = s_.regions[r.index];
    Node& node = s_.nodes[t.index];
    if (node.term == TermKind::Reraise && node.body.empty() && t != region.handler) return;
    StmtId st = statement(StmtKind::Handler, end_origin(node));
    std::uint32_t body = list();
    arms.push_back({st, body});
    if (!is_test(t, region.handler)) {
      gen(t.index, body, ctx);
      return;
    }
    BlockBuilder builder(s_, false);
    std::vector<ValueId> ops(node.body);
    std::erase(ops, node.value);
    builder.run(ops);
    const Value& match = s_.at(node.value);
    s_.ast[st].e[0] = builder.take(match.operands[1]);
    builder.finish(BlockId());
    if (!builder.out.empty())
      throw Error("structure: the type of an except clause needs statements");
    std::uint32_t next = target(t, 0);
    ValueId exception;
    if (is_block(next)) {
      for (ValueId v : s_.nodes[next].body) {
        if (s_.is_const(v) || s_.is_op(v, Op::POP_TOP)) continue;
        const Value& first = s_.at(v);
        if (!first.operands.empty()) {
          const Value& stored = s_.at(s_.resolve(first.operands[0]));
          if (stored.kind == ValueKind::Exception && stored.block == region.handler)
            exception = s_.resolve(first.operands[0]);
        }
        break;
      }
    }
    if (exception && forward_in_[next] == 1) seeds_[next] = {exception, st};
    go(t, 0, body, ctx);
  }

  bool only_from(std::uint32_t m, RegionId r) const {
    for (std::uint32_t p : preds(m)) {
      if (dom_.number[p] == kNone) continue;
      if (dom_.number[p] >= dom_.number[m] && dom_.dominates(m, p)) continue;
      if (p == try_node(r)) return false;
      if (!s_.is_ancestor(r, region_of(p))) return false;
    }
    return true;
  }

  /// Does anything that n dominates go to `follow` by itself?
  bool subtree_reaches(std::uint32_t n, std::uint32_t follow) const {
    if (follow == kNone) return false;
    std::vector<std::uint32_t> stack{n};
    while (!stack.empty()) {
      std::uint32_t u = stack.back();
      stack.pop_back();
      for (std::uint32_t t : graph_.successors(u))
        if (t == follow && real_edge(u, t)) return true;
      for (std::uint32_t c : children(u)) stack.push_back(c);
    }
    return false;
  }

  /// Does a handler run into `follow` by itself?
  bool handlers_reach(const std::vector<BlockId>& tests, std::uint32_t follow) const {
    std::vector<std::uint32_t> stack;
    for (BlockId t : tests) stack.push_back(t.index);
    for (std::size_t i = 0; i < stack.size(); ++i) {
      std::uint32_t u = stack[i];
      for (std::uint32_t t : graph_.successors(u))
        if (t == follow && !(is_block(u) && s_.nodes[u].jump == JumpRole::Continue)) return true;
      for (std::uint32_t c : children(u))
        if (std::find(stack.begin(), stack.end(), c) == stack.end()) stack.push_back(c);
      if (stack.size() > 100000) break;
    }
    return false;
  }

  ValueId with_result(const StructRegion& region) const {
    if (!region.async) {
      for (ValueId v : s_.results_of(region.with_enter))
        if (s_.at(v).arg == 1) return v;
      return {};
    }
    // the awaited value
    for (const Node& node : s_.nodes) {
      if (!node.alive) continue;
      for (ValueId v : node.body) {
        if (!s_.is_op(v, Op::YIELD_FROM)) continue;
        const Value& get = s_.at(s_.at(v).operands[0]);
        if (get.kind != ValueKind::Operation || get.op != Op::GET_AWAITABLE) continue;
        const Value& awaited = s_.at(get.operands[0]);
        if (awaited.kind == ValueKind::Result && awaited.operands[0] == region.with_enter) return v;
      }
    }
    return {};
  }

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

}  // namespace

std::span<StmtId> Structurer::emit(BlockId from, RegionId base, BlockId stop) {
  return Emitter(*this, from, base, stop).run();
}

}  // namespace depyf
