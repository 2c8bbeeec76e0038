// Loops: the header is an iterator's step, a test, or the first block of an endless loop.
//
//     header: FOR_ITER --> body --> header      for x in y: body
//       |                   |                   else: end of the iterator
//       |                   +-> exit (break)    exit
//     end of the iterator --> exit
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "structure/emitter.h"
#include "structure/operations.h"
#include "support/error.h"

namespace depyf {

bool Emitter::ends_body_around(std::uint32_t h, std::uint32_t t) const {
  return t >= blocks_ + regions_ &&
         !dom_.dominates(h, t - regions_);  // h dominates the `try` of what it holds
}

Emitter::LoopShape Emitter::shape_of(std::uint32_t h, std::uint32_t natural_exit) {
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
    if ((!stands_behind || is_inline(h, t)) && forward_in_[t] == 1 && side_of(t, h) == Side::Inside)
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

bool Emitter::ends_apart(std::uint32_t h, std::uint32_t n, std::uint32_t exit) const {
  return n != exit && dom_.idom[n] == h && !subtree_reaches(n, exit);
}

bool Emitter::goes_only_to(std::uint32_t n, std::uint32_t h, std::uint32_t t) const {
  if (dom_.idom[n] != h) return false;
  std::vector<std::uint32_t> stack{n};
  for (std::size_t i = 0; i < stack.size(); ++i) {
    for (std::uint32_t to : graph_.successors(stack[i]))
      if (to != t && !dom_.dominates(n, to) && real_edge(stack[i], to)) return false;
    stack.insert(stack.end(), children(stack[i]).begin(), children(stack[i]).end());
  }
  return true;
}

std::unordered_set<std::uint32_t> Emitter::reachable(std::vector<std::uint32_t> roots,
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

bool Emitter::part_of_try(std::uint32_t h, std::uint32_t c) const {
  if (!is_try(h)) return false;
  const RegionId r(h - blocks_);
  const StructRegion& region = s_.regions[r.index];
  return c == wrapped(r, region.entry) ||
         (region.kind != RegionKind::With && c == wrapped(region.parent, region.handler));
}

bool Emitter::later_case(std::uint32_t c) const {
  return is_block(c) && s_.nodes[c].match != kNone && !s_.cases[s_.nodes[c].match].first;
}

std::uint64_t Emitter::rank(std::uint32_t t, const LoopShape& shape) const {
  bool own = std::find(shape.after.begin(), shape.after.end(), t) != shape.after.end();
  return (own ? 0 : 1ull << 40) + (own ? dom_.number[t] : dom_.number.size() - dom_.number[t]);
}

void Emitter::gen_loop(std::uint32_t h, std::uint32_t l, const Context& ctx) {
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

void Emitter::leave_loop(std::uint32_t h, std::uint32_t exit, std::vector<std::uint32_t> after,
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

void Emitter::leave_by_break(StmtId st, std::uint32_t h, const LoopShape& shape,
                             const std::vector<std::uint32_t>& after, std::uint32_t l,
                             const Context& ctx) {
  const std::uint32_t exit =
      shape.endless && after.empty() && shape.exit != ctx.follow ? kNone : shape.exit;
  if (exit == kNone) mark_end(st);
  leave_loop(h, exit, after, l, ctx);
}

void Emitter::go_outer(std::uint32_t from, std::uint32_t t, std::uint32_t l, const Context& ctx) {
  if (t == ctx.follow) return;
  go_to(from, t, l, ctx, {});
}

bool Emitter::gen_while(std::uint32_t h, std::uint32_t l, const Context& ctx) {
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

void Emitter::gen_loop_rest(StmtId st, std::uint32_t h, int stay, int leave, LoopShape shape,
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

void Emitter::gen_for(std::uint32_t h, std::uint32_t l, const Context& ctx) {
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

}  // namespace depyf
