// What columns (3.11+), lines (3.10) and offsets (up to 3.9) tell of where code was written: edges
// that control cannot take lead from a loop or a `try` to what follows it.
#include <algorithm>
#include <numeric>

#include "structure/copies.h"
#include "structure/statement_graph.h"
#include "support/error.h"

namespace depyf {

StatementGraph::Start StatementGraph::start_of(std::uint32_t t) {
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
    if (s_.is_none(s_.resolve(node.value)) || least <= kBeforeValue) return {};
    return {least - kBeforeValue, least - kBeforeValue};
  }
  if (node.term != TermKind::Branch || node.match != kNone || least <= kIf) return {};
  return {1, least - kIf};  // after `elif not (` …
}

std::uint32_t StatementGraph::indentation() {
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

StatementGraph::Side StatementGraph::side_of(std::uint32_t t, std::uint32_t h) {
  if (h >= left_.size() || left_[h] == 0) return Side::Unknown;
  const Start start = start_of(t);
  if (start.least == 0) return Side::Unknown;
  return start.most + indentation() <= left_[h]   ? Side::Behind
         : start.least + indentation() > left_[h] ? Side::Inside
                                                  : Side::Unknown;
}

void StatementGraph::find_left() {
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

std::vector<std::int32_t> StatementGraph::find_last_lines() {
  const std::size_t n = header_.size();
  std::vector<std::int32_t>& last = last_;
  last.assign(n, 0);
  std::vector<std::int32_t> under(n, 0);
  for (std::size_t i = dom_.order.size(); i > 0; --i) {
    const std::uint32_t u = dom_.order[i - 1];
    const std::int32_t line = last_line(u);
    under[u] = std::max(under[u], line);
    if (dom_.idom[u] != kNone) under[dom_.idom[u]] = std::max(under[dom_.idom[u]], under[u]);
    if (loop_[u] != kNone) last[loop_[u]] = std::max(last[loop_[u]], line);
    if (header_[u] && outer_[u] != kNone) last[outer_[u]] = std::max(last[outer_[u]], last[u]);
  }
  return under;
}

bool StatementGraph::add_breaks() {
  if (!s_.source_layout_tells() || in_source_order()) return false;
  const std::uint32_t n = static_cast<std::uint32_t>(header_.size());
  if (std::none_of(header_.begin(), header_.end(), [](std::uint8_t h) { return h != 0; }))
    return false;
  find_left();
  const std::vector<std::int32_t> under = find_last_lines();
  const std::vector<std::int32_t>& last = last_;
  // the loop statement that holds each node where nothing follows a loop but what its
  // header leads to
  std::vector<std::uint32_t> holds(n, kNone), around(n, kNone);
  std::vector<std::vector<std::uint32_t>> ways_out(n);
  for (std::uint32_t t : dom_.order) {
    const std::uint32_t d = dom_.idom[t];
    std::uint32_t loop = d == kNone ? kNone : holds[d];
    if (loop != kNone && !in_loop(t, loop)) {
      const bool stands_inside = last[loop] > 0 && is_block(t) && first_line(t) <= last[loop];
      if (d == loop && !stands_inside)
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
  std::vector<std::uint32_t>& best = break_by_line_;
  best.assign(n, kNone);
  for (std::uint32_t h = 0; h < n; ++h) {
    if (!header_[h]) continue;
    std::uint32_t exit = kNone;
    for (std::uint32_t way : ways_out[h]) {
      const std::uint32_t t =
          way < blocks_ + regions_ && !is_handler[way] && last[h] > 0 && first_line(way) <= last[h]
              ? after_lines(way, last[h])
              : way;
      if (t < blocks_ + regions_ && !is_handler[t] && side_of(t, h) != Side::Inside &&
          (exit == kNone || first_line(t) > first_line(exit)))
        exit = t;
    }
    if (exit == kNone || const_return(exit) || first_line(exit) <= last[h]) continue;
    const std::uint32_t around_exit = header_[exit] ? outer_[exit] : loop_[exit], outer = outer_[h];
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
    for (std::uint32_t t : ways_out[h])
      fits &= dom_.dominates(t, exit) || under[t] < first_line(exit);
    for (std::uint32_t p : preds(exit))
      if (!dom_.dominates(exit, p)) fits &= holds[p] == h || (header_[p] && around[p] == h);
    if (fits && forward_in_[exit] == 1 && side_of(exit, h) != Side::Behind) {
      const std::uint32_t p = preds(exit)[0];
      const bool short_end = children(exit).empty() && is_block(exit);
      const bool may_hold = is_block(p) && s_.nodes[p].term == TermKind::Branch &&
                            region_of(p) == region_of(exit) &&
                            !written_jump(p, exit);  // the `if` that p ends in
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

std::uint32_t StatementGraph::after_lines(std::uint32_t way, std::int32_t line) const {
  std::uint32_t found = way;
  SmallVector<std::uint32_t, 32> stack{way};
  for (std::size_t steps = 0; !stack.empty(); ++steps) {
    if (steps == kMostHops) return way;  // lines that tell nothing, all of them one
    const std::uint32_t u = stack.back();
    stack.pop_back();
    if (u != way && is_block(u) && first_line(u) > line) {
      if (found != way) return way;  // several
      found = u;
    } else {
      for (std::uint32_t c : children(u)) stack.push_back(c);
    }
  }
  return found;
}

bool StatementGraph::written_jump(std::uint32_t p, std::uint32_t t) const {
  const Node& node = s_.nodes[p];
  for (int k = 0; k < node.edge_count(); ++k)
    if (!header_[p] && target(BlockId(p), k) == t &&
        (node.edges[k].written || std::ranges::binary_search(s_.lifted.behind_jumps, offset_of(t))))
      return true;
  return false;
}

bool StatementGraph::written_in_lines(std::uint32_t t, std::uint32_t h,
                                      const std::vector<std::int32_t>& last) const {
  return first_line(t) > s_.nodes[h].term_line && first_line(t) < last[h];
}

bool StatementGraph::else_stands_before(std::uint32_t h, std::uint32_t exit,
                                        const std::vector<std::int32_t>& last) {
  if (!is_block(h) || (s_.nodes[h].term != TermKind::ForIter &&
                       s_.test_length(BlockId(h)) != s_.nodes[h].body.size()))
    return true;
  for (int k = 0; k < s_.nodes[h].edge_count(); ++k) {
    const std::uint32_t natural = target(BlockId(h), k);
    if (in_loop(natural, h)) continue;
    if (header_[natural] && in_loop(h, natural)) continue;  // its `else` is a `continue`
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

void StatementGraph::find_phantoms() {
  if (entry_ != s_.entry || s_.ends.of_regions.empty()) return;
  std::vector<std::vector<std::uint32_t>> exits(regions_);
  for (const Exit& exit : exits_) exits[exit.region.index].push_back(exit.to);
  phantom_.assign(regions_, kNone);
  for (std::uint32_t r = 0; r < regions_; ++r) {
    const StructRegion& region = s_.regions[r];
    if (!s_.ends.of_regions[r] ||
        (region.kind != RegionKind::Except && region.kind != RegionKind::Finally))
      continue;
    const std::uint32_t t = past_empty(region.parent, s_.ends.of_regions[r]);
    phantom_[r] = t;
    if (std::find(exits[r].begin(), exits[r].end(), t) != exits[r].end()) continue;
    add_way(try_node(RegionId(r)), t);
  }
}

void StatementGraph::find_elses() {
  if (s_.ends.of_elses.empty() || entry_ != s_.entry) return;
  else_of_.assign(blocks_, -1);
  for (std::uint32_t b = 0; b < blocks_; ++b) {
    const Node& node = s_.nodes[b];
    if (!node.alive || node.term != TermKind::Branch || node.match != kNone) continue;
    for (int k = 0; k < 2; ++k) {
      const std::uint32_t o = target(BlockId(b), k);
      const auto written = s_.ends.of_elses.find(offset_of(o));
      if (written == s_.ends.of_elses.end() || !s_.is_ancestor(node.region, region_of(o))) continue;
      const std::uint32_t t = written->second ? wrapped(node.region, written->second) : kNone;
      if (t != kNone && offset_of(t) > node.term_offset && offset_of(t) < offset_of(o))
        continue;  // the end of a loop in the body
      else_of_[b] = static_cast<std::int8_t>(k);
      if (t == kNone) continue;
      if (t != o && region_of(t) == node.region) add_order(b, t);
    }
  }
}

void StatementGraph::find_loop_ends(std::vector<LoopPlace>& loops) {
  const bool whole = entry_ == s_.entry;
  // Of loops that begin at one place, each stands in a `try` that the one before it consists of:
  // outer ones first.
  auto levels = [&](std::uint32_t h) {
    std::uint32_t depth = is_block(h) ? 1 : 0;
    for (RegionId r = region_of(h); r; r = s_.regions[r.index].parent) ++depth;
    return depth;
  };
  std::sort(loops.begin(), loops.end(), [&](const LoopPlace& a, const LoopPlace& b) {
    return a.begin != b.begin ? a.begin < b.begin : levels(a.node) < levels(b.node);
  });
  // The last jump back may have been threaded away: the bytecode's loop that begins last before
  // the header tells.
  const std::vector<LoopSpan>& spans = s_.lifted.loops;
  std::vector<std::size_t> around;
  std::size_t next = 0;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    LoopPlace& loop = loops[i];
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
      if (whole && span < s_.ends.of_loops.size() && s_.ends.of_loops[span]) {
        const std::uint32_t behind = past_empty(region_of(loop.node), s_.ends.of_loops[span]);
        // back to a loop, or ahead
        const bool leads_there = offset_of(behind) > loop.begin || loop_end_[behind] != 0 ||
                                 (is_block(behind) && s_.nodes[behind].term == TermKind::ForIter);
        if (leads_there) {
          break_by_offset_[loop.node] = behind;
          add_order(loop.node, behind);
        }
      }
    }
    loop.end = loop_end_[loop.node];
  }
}

void StatementGraph::find_breaks() {
  const std::uint32_t n = blocks_ + 2 * regions_;
  const Graph graph = graph_of_ways(n);
  loop_end_.assign(n, 0);
  break_by_offset_.assign(n, kNone);
  std::vector<LoopPlace> loops, breaks;
  for (std::uint32_t b = 0; b < blocks_; ++b) {
    const Node& node = s_.nodes[b];
    if (!node.alive) continue;
    if (node.jump == JumpRole::Break) breaks.push_back({node.term_offset, 0, b});
    for (std::uint32_t t : graph.successors(b)) {
      if (!(is_block(t) || is_try(t)) || offset_of(t) > node.term_offset ||
          (t != b && offset_of(t) == node.term_offset))
        continue;
      if (loop_end_[t] == 0 && !(is_block(t) && s_.nodes[t].term == TermKind::ForIter))
        loops.push_back({offset_of(t), 0, t});
      loop_end_[t] = std::max(loop_end_[t], node.term_offset);
    }
    if (node.term == TermKind::ForIter) loops.push_back({node.term_offset, 0, b});
  }
  find_loop_ends(loops);
  std::sort(breaks.begin(), breaks.end(),
            [](const LoopPlace& a, const LoopPlace& b) { return a.begin < b.begin; });
  std::vector<LoopPlace> open;
  std::size_t next = 0;
  for (const LoopPlace& jump : breaks) {
    for (; next < loops.size() && loops[next].begin <= jump.begin; ++next) {
      while (!open.empty() && open.back().end < loops[next].begin) open.pop_back();
      open.push_back(loops[next]);
    }
    while (!open.empty() && open.back().end < jump.begin) open.pop_back();
    if (open.empty()) continue;
    const std::uint32_t h = open.back().node, t = targets_[std::size_t{jump.node} * 2];
    if (t == kNone) continue;  // what followed it is gone
    if (t == h || within(t, h) || !s_.is_ancestor(region_of(t), region_of(h)))
      continue;  // out of a loop without a back edge
    add_order(h, t);
    if (break_by_offset_[h] == kNone) break_by_offset_[h] = t;
  }
}

}  // namespace depyf
