// What the statement of a loop holds, and what `break` reaches.
#include "structure/statement_graph.h"

#include <algorithm>
#include <iterator>

namespace depyf {

bool StatementGraph::ends_body_around(std::uint32_t h, std::uint32_t t) const {
  return t >= blocks_ + regions_ &&
         !dom_.dominates(h, t - regions_);  // h dominates the `try` of what it holds
}

StatementGraph::LoopShape StatementGraph::shape_of(std::uint32_t h, std::uint32_t natural_exit) {
  LoopShape shape;
  if (const std::uint32_t* const once = once_.at(h)) {
    for (std::uint32_t c : children(h)) (c == *once ? shape.after : shape.inside).push_back(c);
    shape.exit = *once;
    return shape;
  }
  std::vector<std::uint32_t> unclear;
  for (std::uint32_t c : children(h)) {
    const bool written_inside =
        !in_source_order() && c != natural_exit && is_inline(h, c) && side_of(c, h) == Side::Inside;
    if (in_loop(c, h) || part_of_try(h, c) || later_case(c) || within(c, h) || written_inside)
      shape.inside.push_back(c);
    else if (!in_source_order() || c == natural_exit || c == break_by_offset_[h])
      shape.after.push_back(c);
    else
      unclear.push_back(c);
  }
  if (!unclear.empty()) {
    // Only `break` and the end of the test lead past the loop.
    const std::unordered_set<std::uint32_t> behind =
        reachable({natural_exit, break_by_offset_[h]}, h);
    for (std::uint32_t c : unclear) (behind.count(c) ? shape.after : shape.inside).push_back(c);
  }
  const std::vector<std::uint32_t> ways_out = ways_out_of(h, natural_exit, shape);
  if (!break_by_offset_.empty() && break_by_offset_[h] != kNone) {
    shape.exit = break_by_offset_[h];
    shape.else_needed = natural_exit != kNone && natural_exit != shape.exit;
    shape.endless = std::find(ways_out.begin(), ways_out.end(), shape.exit) == ways_out.end() &&
                    (natural_exit == kNone || ends_apart(h, natural_exit, shape.exit));
    return shape;
  }
  if (ways_out.empty()) return shape;
  auto count = [&](std::uint32_t t) { return std::count(ways_out.begin(), ways_out.end(), t); };
  // Where another way goes on, a return that both the body and the end of the loop lead to stands
  // in the body and in the `else`.
  const bool returns =
      natural_exit != kNone && copied_return(natural_exit) &&
      std::ranges::any_of(ways_out, [&](std::uint32_t t) { return !copied_return(t); });
  if (natural_exit != kNone && count(natural_exit) > 0 && !returns) {
    shape.exit = natural_exit;
    return shape;
  }
  std::uint32_t best = h < break_by_line_.size() ? break_by_line_[h] : kNone;
  if (best != kNone && count(best) > 0) {
    shape.exit = best;
    shape.else_needed = natural_exit != kNone;
    return shape;
  }
  best = kNone;
  for (std::uint32_t t : ways_out) {
    if (t == natural_exit) continue;
    const bool follows = std::find(shape.after.begin(), shape.after.end(), t) != shape.after.end();
    if ((((!follows || is_inline(h, t)) && forward_in_[t] == 1) || copied_return(t)) &&
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
    return c != best && c != natural_exit && count(c) > 0 && !is_inline(h, c) && !copied_return(c);
  };
  std::copy_if(shape.after.begin(), shape.after.end(), std::back_inserter(shape.inside),
               stands_inside);
  std::erase_if(shape.after, stands_inside);
  return shape;
}

std::vector<std::uint32_t> StatementGraph::ways_out_of(std::uint32_t h, std::uint32_t natural_exit,
                                                       const LoopShape& shape) const {
  // Code that leads out of the loop and is reached from its middle has its dominator inside, so
  // it is inside too.
  SmallVector<std::uint32_t, 64> stack{h};
  for (std::uint32_t c : shape.inside) stack.push_back(c);
  std::vector<std::uint32_t> ways_out;
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
      ways_out.push_back(t);
    }
  }
  return ways_out;
}

StatementGraph::LoopShape StatementGraph::shape_of_once(std::uint32_t h, std::uint32_t body,
                                                        std::uint32_t exit) {
  LoopShape shape;
  // What several ways lead to after the loop is there already: gen_sequence put it.
  for (std::uint32_t c : children(h)) {
    if (c == body || dom_.dominates(body, c))
      shape.inside.push_back(c);
    else if (is_inline(h, c))
      shape.after.push_back(c);
  }
  std::vector<std::uint32_t> stack{body};
  std::uint32_t best = kNone;
  bool natural = false, leaves_by_break = false;
  while (!stack.empty()) {
    std::uint32_t u = stack.back();
    stack.pop_back();
    for (std::uint32_t c : children(u)) stack.push_back(c);
    for (std::uint32_t t : graph_.successors(u)) {
      if (!real_edge(u, t)) continue;
      if (dom_.dominates(body, t) && !ends_body_around(h, t)) continue;
      natural |= t == exit;
      leaves_by_break |= !break_by_offset_.empty() && t == break_by_offset_[h];
      if (!(copied_return(t) && (is_single_return(t) || !goes_only_to(exit, h, t))) &&
          (best == kNone || rank(t, shape) > rank(best, shape)))
        best = t;
    }
  }
  shape.exit = natural ? exit : best;
  if (!break_by_offset_.empty() && break_by_offset_[h] != kNone) {
    shape.exit = break_by_offset_[h];
    shape.endless = !leaves_by_break && ends_apart(h, exit, shape.exit);
  }
  shape.else_needed = shape.exit != kNone && shape.exit != exit;
  return shape;
}

bool StatementGraph::ends_apart(std::uint32_t h, std::uint32_t n, std::uint32_t exit) const {
  return n != exit && dom_.idom[n] == h && !subtree_reaches(n, exit);
}

bool StatementGraph::goes_only_to(std::uint32_t n, std::uint32_t h, std::uint32_t t) const {
  if (dom_.idom[n] != h) return false;
  std::vector<std::uint32_t> stack{n};
  for (std::size_t i = 0; i < stack.size(); ++i) {
    for (std::uint32_t to : graph_.successors(stack[i]))
      if (to != t && !dom_.dominates(n, to) && real_edge(stack[i], to)) return false;
    stack.insert(stack.end(), children(stack[i]).begin(), children(stack[i]).end());
  }
  return true;
}

std::unordered_set<std::uint32_t> StatementGraph::reachable(std::vector<std::uint32_t> roots,
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

bool StatementGraph::part_of_try(std::uint32_t h, std::uint32_t c) const {
  if (!is_try(h)) return false;
  const RegionId r(h - blocks_);
  const StructRegion& region = s_.regions[r.index];
  return c == wrapped(r, region.entry) ||
         (region.kind != RegionKind::With && c == wrapped(region.parent, region.handler));
}

bool StatementGraph::later_case(std::uint32_t c) const {
  return is_block(c) && s_.nodes[c].match != kNone && !s_.cases[s_.nodes[c].match].first;
}

std::uint64_t StatementGraph::rank(std::uint32_t t, const LoopShape& shape) const {
  bool own = std::find(shape.after.begin(), shape.after.end(), t) != shape.after.end();
  return (own ? 0 : 1ull << 40) + (own ? dom_.number[t] : dom_.number.size() - dom_.number[t]);
}

}  // namespace depyf
