// What a `try` or `with` statement holds, and what follows it.
#include "structure/statement_graph.h"

#include <algorithm>
#include <utility>

#include "support/error.h"

namespace depyf {

StatementGraph::TryShape StatementGraph::try_shape(RegionId r, const Context& ctx,
                                                   const std::vector<std::uint32_t>* only) {
  const StructRegion& region = s_.regions[r.index];
  TryShape shape;
  shape.node = try_node(r);
  shape.entry = wrapped(r, region.entry);
  if (region.kind == RegionKind::Except) find_clauses(r, shape);
  find_merges(r, only, shape);
  drop_returns_inside(r, ctx, shape);
  if (region.kind == RegionKind::Except) find_else(r, ctx, shape);
  find_next(r, ctx, shape);
  return shape;
}

void StatementGraph::find_clauses(RegionId r, TryShape& shape) {
  const StructRegion& region = s_.regions[r.index];
  for (BlockId t = region.handler;;) {
    shape.tests.push_back(t);
    if (!is_test(t, region.handler)) return;
    const std::uint32_t next = target(t, 1);
    const bool only_behind = forward_in_[next] == 1 && dom_.idom[next] == t.index;
    if (is_try(next) && only_behind) shape.bare = next;
    if (!is_block(next)) return;
    const BlockId b(next);
    if (b == region.unhandled || !only_behind ||
        !(is_test(b, region.handler) || falls_through_chain(b, region.handler)))
      return;
    t = b;
  }
}

void StatementGraph::find_merges(RegionId r, const std::vector<std::uint32_t>* only,
                                 TryShape& shape) {
  const StructRegion& region = s_.regions[r.index];
  std::vector<std::uint32_t>& merges = shape.merges;
  const auto collect = [&](std::uint32_t node, std::uint32_t skip1, std::uint32_t skip2) {
    for (std::uint32_t c : children(node))
      if (c != skip1 && c != skip2 && !is_inline_arm(node, c)) merges.push_back(c);
  };
  collect(shape.node, shape.entry,
          region.kind == RegionKind::With ? kNone : wrapped(region.parent, region.handler));
  for (BlockId t : shape.tests)
    if (is_test(t, region.handler)) collect(t.index, kNone, kNone);
  if (region.is_star()) {
    collect(region.unhandled.index, kNone, kNone);
    const std::uint32_t behind = resume_of(r);
    if (behind != kNone && dom_.idom[behind] == region.unhandled.index) merges.push_back(behind);
  }
  if (only) {
    // the statement is a loop's body: what is outside the loop is placed by the loop
    std::erase_if(merges, [&](std::uint32_t m) {
      return std::find(only->begin(), only->end(), m) == only->end() && dom_.idom[m] == shape.node;
    });
  }
  std::sort(merges.begin(), merges.end(),
            [&](std::uint32_t a, std::uint32_t b) { return dom_.number[a] < dom_.number[b]; });
  merges.erase(std::unique(merges.begin(), merges.end()), merges.end());
}

void StatementGraph::drop_returns_inside(RegionId r, const Context& ctx, TryShape& shape) {
  const StructRegion& region = s_.regions[r.index];
  std::vector<std::uint32_t>& merges = shape.merges;
  drop_returns_before_the_end(r, shape.tests, merges);
  // what one way alone leads to, out of more than this statement, or written in front of its end
  const bool end_known = region.kind == RegionKind::Finally && r.index < s_.lifted.regions.size() &&
                         s_.lifted.regions[r.index].end != kNoOffset;
  std::erase_if(merges, [&](std::uint32_t m) {
    return const_return(m) && preds(m).size() == 1 && in_source_order() &&
           (end_known || region_of(m) != region.parent) && !follows(m, r);
  });
  const std::uint32_t resume = resume_of(r);
  if (resume != kNone) {
    // No clause of except* can return: each falls to what follows the statement. A `with`
    // and its swallowed exception continue at one place: a return elsewhere stands inside.
    std::erase_if(merges, [&](std::uint32_t m) { return m != resume && const_return(m); });
  }
  if (region.is_star()) return;
  if (merges.size() > 1) {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t m : merges)
      if (!copied_return(m)) kept.push_back(m);
    if (kept.empty() && !subtree_reaches(shape.node, ctx.follow)) {
      // what a context manager that swallows the exception goes on with follows the `with`
      const bool resumes = std::find(merges.begin(), merges.end(), resume) != merges.end();
      const std::uint32_t behind = resumes ? resume : return_behind(r, merges);
      if (behind != kNone) kept.push_back(behind);
    }
    merges = kept;
  } else if (merges.size() == 1 && copied_return(merges[0]) && forward_in_[merges[0]] == 1 &&
             only_from(merges[0], r)) {
    // `if c: return 1` inside the protected code, while nothing runs into what follows
    const std::uint32_t from = preds(merges[0]).empty() ? kNone : preds(merges[0])[0];
    if (is_block(from) && s_.nodes[from].term == TermKind::Branch) merges.clear();
  }
  if (merges.size() == 1 && copied_return(merges[0]) && subtree_reaches(shape.node, ctx.follow))
    merges.clear();  // something runs into what follows the statement, so nothing may stand between
}

std::uint32_t StatementGraph::return_behind(RegionId r,
                                            std::span<const std::uint32_t> returns) const {
  const StructRegion& region = s_.regions[r.index];
  if (!s_.source_layout_tells() || region.kind != RegionKind::Finally) return returns.back();
  // A return from inside has the row of the copy of the `finally` before it, and so has one that
  // nobody wrote.
  const std::int32_t last = last_line_under(wrapped(region.parent, region.handler));
  std::uint32_t behind = kNone;
  for (std::uint32_t t : returns) {
    const std::int32_t line = first_line(t);
    if (line <= 0 || last <= 0) return returns.back();
    if (line > last && (behind == kNone || line > first_line(behind))) behind = t;
  }
  if (behind != kNone) return behind;
  const auto none =
      std::ranges::find_if(returns, [&](std::uint32_t t) { return s_.is_none(s_.nodes[t].value); });
  return none != returns.end() ? *none : kNone;
}

void StatementGraph::find_else(RegionId r, const Context& ctx, TryShape& shape) {
  std::vector<std::uint32_t>& merges = shape.merges;
  const auto found =
      std::find_if(merges.begin(), merges.end(), [&](std::uint32_t m) { return only_from(m, r); });
  if (found == merges.end()) return;
  const bool star = s_.regions[r.index].is_star();
  bool handlers_fall = star ? *found != resume_of(r) : merges.size() > 1;
  handlers_fall |= !phantom_.empty() && phantom_[r.index] != kNone && phantom_[r.index] != *found;
  const bool ends_told = in_source_order() || s_.source_layout_tells();
  if (!handlers_fall && !star && ctx.follow != kNone && (ends_told || ctx.follow != ctx.header))
    handlers_fall = handlers_reach(shape.tests, ctx.follow, ctx.follow == ctx.header);
  if (!handlers_fall) return;
  shape.otherwise = *found;
  merges.erase(found);
}

void StatementGraph::find_next(RegionId r, const Context& ctx, TryShape& shape) {
  const std::vector<std::uint32_t>& merges = shape.merges;
  shape.resume = resume_of(r);
  if (shape.resume == kNone && !phantom_.empty() && phantom_[r.index] != kNone) {
    const std::uint32_t behind = phantom_[r.index];
    shape.goes_on = behind == ctx.follow || behind == ctx.header || behind == ctx.exit ||
                    std::find(merges.begin(), merges.end(), behind) != merges.end();
    if (shape.goes_on) shape.resume = behind;
  }
  shape.next = !merges.empty() ? merges.front() : shape.resume != kNone ? shape.resume : ctx.follow;
  // Whether the body ends or its exception is swallowed, control continues at one place.
  if (s_.regions[r.index].kind == RegionKind::With && shape.resume != kNone &&
      !same_end(shape.next, shape.resume))
    throw Error(
        "structure: what follows a with statement is not where a swallowed exception "
        "leads");
  if (s_.regions[r.index].is_star() && shape.resume != shape.next)
    throw Error(
        "structure: the clauses of an except* statement lead elsewhere than what follows it");
}

std::uint32_t StatementGraph::resume_of(RegionId r) const {
  const StructRegion& region = s_.regions[r.index];
  if (region.is_star()) return target(region.unhandled, 0);
  if (region.kind != RegionKind::With) return kNone;
  const Node& handler = s_.nodes[region.handler.index];
  return handler.term == TermKind::Branch ? past_empty(region.parent, handler.edges[0].to) : kNone;
}

void StatementGraph::drop_returns_before_the_end(RegionId r, const std::vector<BlockId>& tests,
                                                 std::vector<std::uint32_t>& merges) const {
  if (s_.lifted.regions.size() <= r.index ||
      s_.lifted.regions[r.index].entry != HandlerEntry::Six ||
      s_.regions[r.index].kind != RegionKind::Except)
    return;
  if (tests.empty() || s_.nodes[tests.back().index].term != TermKind::Reraise) return;
  const std::uint32_t behind = s_.nodes[tests.back().index].term_offset + 2;
  std::erase_if(merges, [&](std::uint32_t m) {
    return const_return(m) && (in_source_order() ? offset_of(m) < behind : offset_of(m) != behind);
  });
}

bool StatementGraph::raises_again(std::uint32_t t, const StructRegion& region) const {
  if (!is_block(t)) return false;
  if (BlockId(t) == region.unhandled) return true;
  const Node& node = s_.nodes[t];
  return node.term == TermKind::Reraise && node.body.empty() &&
         s_.at(s_.resolve(node.value)).block == region.handler;
}

bool StatementGraph::is_test(BlockId b, BlockId handler) const {
  const Node& node = s_.nodes[b.index];
  return node.term == TermKind::Branch && s_.is_op(node.value, Op::EXC_MATCH) &&
         s_.is_exception_of(s_.at(node.value).operands[0], handler);
}

bool StatementGraph::falls_through_chain(BlockId b, BlockId handler) const {
  const Node& node = s_.nodes[b.index];
  if (node.term == TermKind::Reraise && node.body.empty())
    return s_.at(node.value).block == handler;
  return node.term != TermKind::Branch || !is_test(b, handler);
}

bool StatementGraph::only_from(std::uint32_t m, RegionId r) const {
  for (std::uint32_t p : preds(m)) {
    if (dom_.number[p] == kNone) continue;
    if (dom_.number[p] >= dom_.number[m] && dom_.dominates(m, p)) continue;
    if (p == try_node(r)) return false;
    if (!s_.is_ancestor(r, region_of(p))) return false;
  }
  return true;
}

bool StatementGraph::handlers_reach(const std::vector<BlockId>& tests, std::uint32_t follow,
                                    bool around) const {
  SmallVector<std::uint32_t, 32> stack;
  FlatMap<std::uint8_t> seen;
  const auto visit = [&](std::uint32_t u) {
    if (std::exchange(seen[u], std::uint8_t{1}) == 0) stack.push_back(u);
  };
  // Is the way from u to the loop's start a `continue`?
  const auto continues = [&](std::uint32_t u) {
    const Node& node = s_.nodes[u];
    if (node.jump == JumpRole::Continue) return true;
    if (!around || in_source_order()) return false;
    for (int k = 0; k < node.edge_count(); ++k) {
      const WrittenJump& jump = node.edges[k].written;
      if (target(BlockId(u), k) == follow && jump)
        return jump.columns == 0 || has_width_of(jump.columns, {"continue"});
    }
    if (node.term == TermKind::Jump) return s_.is_written_continue(node);
    return node.term_columns == 0;  // the row of a jump that was passed is not known
  };
  for (BlockId t : tests) visit(t.index);
  for (std::size_t i = 0; i < stack.size(); ++i) {
    std::uint32_t u = stack[i];
    for (std::uint32_t t : graph_.successors(u))
      if (t == follow && !(is_block(u) && continues(u))) return true;
    for (std::uint32_t c : children(u)) visit(c);
  }
  return false;
}

ValueId StatementGraph::with_result(const StructRegion& region) const {
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

}  // namespace depyf
