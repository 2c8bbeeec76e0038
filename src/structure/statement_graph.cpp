// The graph that statements are emitted from: blocks, a node for each `try` and each end of a
// `finally`, and the edges between them; its dominators and loops.
#include <algorithm>
#include <utility>

#include "structure/copies.h"
#include "structure/statement_graph.h"
#include "support/error.h"

namespace depyf {

std::uint32_t StatementGraph::wrapped(RegionId from, BlockId to) const {
  RegionId r = s_.nodes[to.index].region;
  RegionId outermost;
  while (r && !s_.is_ancestor(r, from)) {
    if (s_.regions[r.index].kind != RegionKind::Scope) outermost = r;
    r = s_.regions[r.index].parent;
  }
  return outermost ? try_node(outermost) : to.index;
}

std::uint32_t StatementGraph::past_empty(RegionId from, BlockId to) const {
  std::uint32_t t = wrapped(from, to);
  for (int steps = 0; steps < kMostHops && is_block(t); ++steps) {
    const Node& node = s_.nodes[t];
    if (!node.body.empty() || !node.is_plain_jump() || !node.params.empty() ||
        !node.edges[0].args.empty() || t == entry_.index || node.edges[0].to.index == t)
      break;
    t = wrapped(node.region, node.edges[0].to);
  }
  return t;
}

void StatementGraph::build_graph() {
  targets_.assign(std::size_t{blocks_} * 2, kNone);
  ways_.reserve(std::size_t{blocks_} * 2);
  for (std::uint32_t r = 0; r < regions_; ++r) {
    const StructRegion& region = s_.regions[r];
    if (region.kind == RegionKind::Finally) finally_of_[region.handler.index] = RegionId(r);
  }
  add_ways_of_blocks(find_entries());
  add_ways_of_regions();
  add_ends_of_iterators();
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

std::vector<std::uint32_t> StatementGraph::find_entries() {
  std::vector<std::uint32_t> entries_from_outside(regions_, 0);
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
  return entries_from_outside;
}

bool StatementGraph::is_entered_again(RegionId r) {
  if (entered_again_.empty()) entered_again_.resize(regions_);
  std::optional<bool>& again = entered_again_[r.index];
  if (again) return *again;
  const BlockId start = s_.regions[r.index].entry;
  const std::vector<std::uint8_t> before = s_.reached(true, entry_, start);
  again = false;
  for (std::uint32_t b = 0; b < blocks_ && !*again; ++b) {
    const Node& node = s_.nodes[b];
    if (!node.alive || before[b] || s_.is_ancestor(r, node.region)) continue;
    for (int k = 0; k < node.edge_count(); ++k)
      if (node.edges[k].to == start) again = true;
  }
  return *again;
}

void StatementGraph::add_ways_of_blocks(const std::vector<std::uint32_t>& entries_from_outside) {
  for (std::uint32_t b = 0; b < blocks_; ++b) {
    const Node& node = s_.nodes[b];
    if (!node.alive) continue;
    for (int k = 0; k < node.edge_count(); ++k) {
      std::uint32_t t = past_empty(node.region, node.edges[k].to);
      // Back to the start of a region that is also entered from outside after it was: the loop is
      // around the `try`. Up to 3.10 the jump back stands in or outside of the region, as its
      // target does.
      if (t < blocks_) {
        // A way out of a `finally` or a `with` does something: it leads through a block outside.
        for (RegionId r = node.region; r && !cleans_up(s_.regions[r.index].kind);
             r = s_.regions[r.index].parent)
          if (s_.regions[r.index].entry == node.edges[k].to && entries_from_outside[r.index] > 1 &&
              !pushes_six_values(r) && is_entered_again(r))
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
}

void StatementGraph::add_ways_of_regions() {
  for (std::uint32_t r = 0; r < regions_; ++r) {
    const StructRegion& region = s_.regions[r];
    if (!region.catches()) continue;
    RegionId id(r);
    if (!region.entry && entry_ != s_.entry)
      continue;  // elsewhere: these are statements of one expression
    if (!region.entry) throw Error("structure: a protected region without an entry");
    add_way(try_node(id), wrapped(id, region.entry));
    if (region.kind == RegionKind::With) {
      // where control continues when the exit function swallows the exception
      const Node& handler = s_.nodes[region.handler.index];
      if (handler.term == TermKind::Branch) add_way(try_node(id), resume_of(id));
    } else {
      add_way(try_node(id), wrapped(region.parent, region.handler));
    }
  }
  for (auto [r, t] : exits_) add_order(try_node(r), t);
}

void StatementGraph::add_ends_of_iterators() {
  FlatMap<std::uint32_t> loop_of_iterator;
  for (std::uint32_t b = 0; b < blocks_; ++b)
    if (s_.nodes[b].alive && s_.nodes[b].term == TermKind::ForIter)
      loop_of_iterator[s_.resolve(s_.nodes[b].value).index] = b;
  for (std::uint32_t b = 0; b < blocks_ && !loop_of_iterator.entries().empty(); ++b) {
    const Node& node = s_.nodes[b];
    if (!node.alive || node.jump == JumpRole::Break || node.in_place) continue;
    for (ValueId v : node.body) {
      if (s_.is_const(v)) continue;
      if (!s_.is_op(v, Op::POP_TOP)) break;
      const std::uint32_t* const loop = loop_of_iterator.at(s_.resolve(s_.at(v).operands[0]).index);
      if (!loop || (s_.is_function() && const_return(b) && written_in_loop(*loop, s_.at(v).offset)))
        continue;
      const bool only_leaves = v == node.body.back() && node.term == TermKind::Jump &&
                               targets_[std::size_t{b} * 2] == targets_[std::size_t{*loop} * 2 + 1];
      if (!only_leaves) add_order(*loop, b);
    }
  }
}

std::uint32_t StatementGraph::loop_around(RegionId r) const {
  std::uint32_t loop = loop_[try_node(r)];
  for (r = s_.regions[r.index].parent; r && loop == kNone; r = s_.regions[r.index].parent)
    if (s_.regions[r.index].kind == RegionKind::Scope)
      loop = loop_[try_node(s_.regions[r.index].owner)];
  return loop;
}

void StatementGraph::find_once() {
  struct Left {
    RegionId region;
    std::uint32_t depth, to;
  };
  if (s_.options.loops && entry_ == s_.entry)
    for (const LoopOnce& loop : *s_.options.loops) {
      once_[loop.begin] = loop.exit;
      header_[loop.begin] = 1;
    }
  if (regions_ == 0) return;
  std::vector<Left> left;
  std::vector<std::uint32_t> to(regions_, kNone), behind(regions_, kNone);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> handled;  // statement, where a handler leads
  std::vector<std::uint8_t> several(regions_, 0);
  for (std::uint32_t b = 0; b < blocks_; ++b) {
    const Node& node = s_.nodes[b];
    if (!node.alive || !node.region || dom_.number[b] == kNone) continue;
    for (int k = 0; k < node.edge_count(); ++k) {
      const std::uint32_t first = target(BlockId(b), k);
      std::uint32_t t = past_jump_statements(first, {});
      if (const_return(t) || (is_block(t) && s_.nodes[t].term == TermKind::Unreachable)) continue;
      for (RegionId r = node.region; r && !s_.is_ancestor(r, region_of(t));
           r = s_.regions[r.index].parent) {
        const bool scope = s_.regions[r.index].kind == RegionKind::Scope;
        const RegionId owner = scope ? s_.regions[r.index].owner : r;
        const bool except = s_.regions[owner.index].kind == RegionKind::Except;
        if (except && scope && !dom_.dominates(t, b)) handled.emplace_back(owner.index, t);
        if (except ? scope : !cleans_up(s_.regions[owner.index].kind)) continue;
        const bool with = s_.regions[owner.index].kind == RegionKind::With;
        if (except ||
            (!with &&
             !s_.regions[owner.index].scope)) {  // it goes on in front of where `break` leads
          std::uint32_t &near = behind[owner.index], &far = to[owner.index];
          if (dom_.dominates(t, b)) continue;
          if (near == kNone) near = t;
          if (same_end(t, near)) continue;
          several[owner.index] |= far != kNone && !same_end(t, far);
          far = t;
          const auto is_far = [&](std::uint32_t n) {  // code before the statement leads there, too
            return std::make_pair(!dom_.dominates(try_node(owner), n), offset_of(n));
          };
          if (is_far(far) < is_far(near)) std::swap(near, far);
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
  // The body of a `try` leads past what its handlers go on with.
  for (const auto& [r, t] : handled)
    if (to[r] == kNone && behind[r] != kNone && !same_end(behind[r], t) &&
        subtree_reaches(t, behind[r]))
      to[r] = std::exchange(behind[r], t);
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
    // what only the statement leads to, and which stands before where a test leads, is no `break`
    // of that loop
    const bool follows = near != kNone && dom_.dominates(n, near) && !dom_.dominates(n, l.to) &&
                         offset_of(near) < offset_of(l.to) &&
                         !subtree_reaches(s_.regions[l.region.index].handler.index, l.to);
    if (s_.options.makes_loops && near != kNone && !dom_.dominates(n, near)) continue;
    if (dom_.number[n] == kNone ||
        (loop != kNone && (l.to == loop || !in_loop(l.to, loop) ||
                           (near != kNone && !in_loop(near, loop) && !follows))))
      continue;
    // after a `for` around the statement, or where a statement around this one leads to in the
    // same way
    bool leads_there = false;
    for (std::uint32_t h = dom_.idom[n]; h != kNone && !leads_there; h = dom_.idom[h]) {
      const std::uint32_t* const outer = once_.at(h);
      leads_there =
          (outer && *outer == l.to) || (is_block(h) && s_.nodes[h].term == TermKind::ForIter &&
                                        (dom_.idom[l.to] == h || target(BlockId(h), 1) == l.to));
    }
    for (RegionId p = s_.regions[l.region.index].parent; p && !leads_there;
         p = s_.regions[p.index].parent) {
      const std::uint32_t* const outer = once_.at(
          try_node(s_.regions[p.index].kind == RegionKind::Scope ? s_.regions[p.index].owner : p));
      leads_there = outer && *outer == l.to;
    }
    if (leads_there) continue;
    const std::uint32_t header = test_around(n, l.to);
    once_[header] = l.to;
    header_[header] = 1;
  }
}

std::uint32_t StatementGraph::test_around(std::uint32_t n, std::uint32_t exit) const {
  const auto only_tests = [&](const Node& node) {
    return std::all_of(node.body.begin(), node.body.end(),
                       [&](ValueId v) { return s_.is_const(v) || s_.uses[v.index] != 0; });
  };
  for (std::uint32_t h = dom_.idom[n]; h != kNone && is_block(h) && !header_[h]; h = dom_.idom[h]) {
    const Node& node = s_.nodes[h];
    if (node.term == TermKind::Branch && node.match == kNone && node.region == region_of(n) &&
        loop_[h] == loop_[n] && (target(BlockId(h), 0) == exit || target(BlockId(h), 1) == exit))
      return only_tests(node) ? h : n;
  }
  return n;
}

bool StatementGraph::written_in_loop(std::uint32_t h, std::uint32_t offset) const {
  const std::vector<LoopSpan>& loops = s_.lifted.loops;
  const std::uint32_t begin = s_.nodes[h].term_offset;
  auto span =
      std::lower_bound(loops.begin(), loops.end(), begin,
                       [](const LoopSpan& l, std::uint32_t offset) { return l.begin < offset; });
  return in_source_order() && span != loops.end() && span->begin == begin && offset > begin &&
         offset <= span->end;
}

void StatementGraph::analyse() {
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

bool StatementGraph::add_module_end() {
  if (!s_.body_end || entry_ != s_.entry || in_source_order()) return false;
  const std::uint32_t b = s_.body_end.index;
  std::uint32_t outermost = kNone, below = b;
  for (std::uint32_t d = dom_.idom[b]; d != kNone; below = d, d = dom_.idom[d]) {
    const bool around_it = header_[d] && in_loop(below, d);
    const bool once = is_block(d) && !header_[d] && s_.nodes[d].term == TermKind::ForIter &&
                      target(BlockId(d), 0) == below;
    if (around_it || once) outermost = d;
  }
  if (outermost == kNone) return false;
  add_order(outermost, b);
  return true;
}

void StatementGraph::leave_regions(RegionId from, std::uint32_t t) {
  for (RegionId r = from; r && !s_.is_ancestor(r, region_of(t)); r = s_.regions[r.index].parent) {
    const RegionId owner =
        s_.regions[r.index].kind == RegionKind::Scope ? s_.regions[r.index].owner : r;
    t = past_jump_statements(t, owner);
    if (s_.is_ancestor(r, region_of(t))) break;
    if (in_source_order() && const_return(t) &&
        (s_.nodes[t].in_place || offset_of(t) < end_of(r, owner)))
      continue;
    exits_.push_back({owner, t});
  }
}

std::uint32_t StatementGraph::past_jump_statements(std::uint32_t t, RegionId statement) const {
  for (int steps = 0;
       steps < kMostHops && is_jump_statement(t) && !(statement && follows(t, statement)); ++steps)
    t = past_empty(s_.nodes[t].region, s_.nodes[t].edges[0].to);
  return t;
}

bool StatementGraph::follows(std::uint32_t t, RegionId statement) const {
  if (statement.index >= s_.lifted.regions.size()) return false;
  const std::uint32_t end = s_.lifted.regions[statement.index].end;
  if (end == kNoOffset || offset_of(t) < end) return false;
  RegionId around = s_.regions[statement.index].parent;
  while (around && !s_.is_ancestor(around, s_.nodes[t].region) &&
         cleans_up(s_.regions[around.index].kind))
    around = s_.regions[around.index].parent;
  return s_.is_ancestor(around, s_.nodes[t].region);
}

std::uint32_t StatementGraph::end_of(RegionId r, RegionId owner) const {
  const std::uint32_t begin = offset_of(s_.regions[owner.index].handler.index);
  if (r == owner) return begin;
  if (owner.index < s_.lifted.regions.size() && s_.lifted.regions[owner.index].end != kNoOffset)
    return s_.lifted.regions[owner.index].end;
  std::uint32_t t = s_.regions[owner.index].handler.index;
  for (std::uint32_t tests = 0;
       tests < blocks_ && is_test(BlockId(t), s_.regions[owner.index].handler); ++tests)
    t = s_.nodes[t].edges[1].to.index;
  return s_.nodes[t].term == TermKind::Reraise ? s_.nodes[t].term_offset : begin;
}

void StatementGraph::enter(RegionId from, BlockId to, std::vector<std::uint32_t>& count) {
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

RegionId StatementGraph::region_handled_by(ValueId exception) const {
  if (!exception || !s_.is_exception_of(exception, s_.at(exception).block)) return {};
  const RegionId* const found = finally_of_.at(s_.at(exception).block.index);
  return found ? *found : RegionId();
}

void StatementGraph::find_loops() {
  const std::uint32_t n = static_cast<std::uint32_t>(forward_in_.size());
  loop_.assign(n, kNone);
  outer_.assign(n, kNone);
  SmallVector<std::uint32_t, 64> stack;
  for (std::size_t i = dom_.order.size(); i > 0; --i) {
    std::uint32_t h = dom_.order[i - 1];
    if (!header_[h]) continue;
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

std::uint32_t StatementGraph::outermost_loop(std::uint32_t u) const {
  std::uint32_t l = loop_[u];
  if (l == kNone) return kNone;
  while (outer_[l] != kNone) l = outer_[l];
  return l;
}

bool StatementGraph::is_jump_statement(std::uint32_t t) const {
  if (!is_block(t) ||
      (s_.nodes[t].jump != JumpRole::Break && s_.nodes[t].jump != JumpRole::Continue) ||
      header_at(t))
    return false;
  const Node& node = s_.nodes[t];
  return node.params.empty() && node.edges[0].args.empty() && s_.are_quiet(node.body);
}

bool StatementGraph::const_return(std::uint32_t n) const {
  // a module or class body has no `return` to copy
  if (!is_block(n) || !s_.is_function()) return false;
  const Node& node = s_.nodes[n];
  return node.term == TermKind::Return && node.params.empty() && s_.is_const(node.value) &&
         s_.are_quiet(node.body);
}

bool StatementGraph::is_written_return(std::uint32_t from, std::uint32_t t) const {
  const Node &node = s_.nodes[t], &before = s_.nodes[from];
  if (node.term_columns != 0) return depyf::is_written_return(s_, node);
  return before.term == TermKind::Branch && before.match == kNone && before.term_line > 0 &&
         node.term_line > before.term_line && !node.behind_copy;
}

std::vector<std::uint32_t> StatementGraph::not_inline(std::uint32_t n,
                                                      std::span<const std::uint32_t> nodes) const {
  std::vector<std::uint32_t> out(nodes.begin(), nodes.end());
  std::erase_if(out, [&](std::uint32_t c) { return is_inline(n, c); });
  return out;
}

bool StatementGraph::is_inline(std::uint32_t parent, std::uint32_t c) const {
  if (forward_in_[c] != 1 && !(c >= blocks_ + regions_)) return false;
  for (std::uint32_t p : preds(c))
    if (p == parent) return c < blocks_ + regions_;
  return false;
}

void StatementGraph::check_place(std::uint32_t n, const Context& ctx) const {
  if (region_of(n) != ctx.region)
    throw Error("structure: code at offset " + std::to_string(offset_of(n)) +
                " would be protected by another statement");
}

bool StatementGraph::copyable(std::uint32_t t, const Context& ctx) const {
  constexpr std::size_t kLongest = 60;
  if (!ends_at_once(t)) return false;
  const Node& node = s_.nodes[t];
  return node.region == ctx.region && node.body.size() <= kLongest && !holds_part(node) &&
         (s_.is_function() || node.term == TermKind::Raise);
}

bool StatementGraph::ends_at_once(std::uint32_t t) const {
  if (!is_block(t) || header_[t]) return false;
  const Node& node = s_.nodes[t];
  return node.term == TermKind::Return || node.term == TermKind::Raise;
}

bool StatementGraph::returns_under(std::uint32_t t) const {
  return any_under(
      t, [&](std::uint32_t u) { return is_block(u) && s_.nodes[u].term == TermKind::Return; });
}

bool StatementGraph::subtree_reaches(std::uint32_t n, std::uint32_t follow) const {
  if (follow == kNone) return false;
  return any_under(n, [&](std::uint32_t u) {
    return std::ranges::any_of(graph_.successors(u),
                               [&](std::uint32_t t) { return t == follow && real_edge(u, t); });
  });
}

std::int32_t StatementGraph::first_line(std::uint32_t t) const {
  if (is_try(t)) t = s_.regions[t - blocks_].entry.index;
  if (!is_block(t)) return 0;
  for (ValueId v : s_.nodes[t].body)
    if (s_.at(v).line > 0) return s_.at(v).line;
  return s_.nodes[t].term_line;
}

std::int32_t StatementGraph::last_line(std::uint32_t t) const {
  if (!is_block(t)) return 0;
  const Node& node = s_.nodes[t];
  std::int32_t line = 0;
  for (ValueId v : node.body) line = std::max(line, s_.at(v).line);
  // A jump to an exit that was copied here has the line of that.
  const bool of_target = line != 0 && node.term == TermKind::Jump &&
                         first_line(target(BlockId(t), 0)) == node.term_line;
  return of_target ? line : std::max(line, node.term_line);
}

std::int32_t StatementGraph::last_line_under(std::uint32_t t) const {
  std::int32_t line = 0;
  any_under(t, [&](std::uint32_t u) {
    line = std::max(line, last_line(u));
    return false;
  });
  return line;
}

}  // namespace depyf
