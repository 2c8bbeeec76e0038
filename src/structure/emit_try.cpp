// `try` and `with`: the region's node has an edge to the protected code, one to the handler, and
// one to each place that control leaves to.
//
//     try node --> protected code --> else --+      try: protected code
//       |                                    |      except E: body
//     EXC_MATCH E --> body ------------------+      else: else
//       |                                    |      behind
//     RERAISE                              behind
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

void Emitter::gen_try(RegionId r, std::uint32_t l, const Context& ctx,
                      const std::vector<std::uint32_t>* only) {
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
      if (behind != kNone && dom_.idom[behind] == region.unhandled.index) merges.push_back(behind);
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
  const bool end_known = region.kind == RegionKind::Finally && r.index < s_.lifted.regions.size() &&
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
      kept.push_back(
          std::find(merges.begin(), merges.end(), resume) != merges.end() ? resume : merges.back());
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
    merges.clear();  // something runs into what follows the statement, so nothing may stand between
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

void Emitter::join_with_inner_try(StmtId st) {
  Stmt& outer = s_.ast[st];
  if (outer.final.empty() || !outer.arms.empty() || outer.body.size() != 1) return;
  const Stmt& inner = s_.ast[outer.body[0]];
  if (inner.kind != StmtKind::Try || !inner.final.empty()) return;
  outer.flag = inner.flag;
  outer.arms = inner.arms;
  outer.orelse = inner.orelse;
  outer.body = inner.body;
}

void Emitter::join_with_inner_with(StmtId st) {
  Stmt& outer = s_.ast[st];
  if (outer.body.size() != 1) return;
  const Stmt& inner = s_.ast[outer.body[0]];
  if (inner.kind != StmtKind::With || inner.flag != outer.flag) return;
  std::vector<ExprId> items(outer.list.begin(), outer.list.end());
  items.insert(items.end(), inner.list.begin(), inner.list.end());
  outer.body = inner.body;
  outer.list = s_.ast.arena.copy(items);
}

std::uint32_t Emitter::resume_of(RegionId r) const {
  const StructRegion& region = s_.regions[r.index];
  if (region.is_star()) return target(region.unhandled, 0);
  if (region.kind != RegionKind::With) return kNone;
  const Node& handler = s_.nodes[region.handler.index];
  return handler.term == TermKind::Branch ? past_empty(region.parent, handler.edges[0].to) : kNone;
}

void Emitter::drop_returns_before_the_end(RegionId r, const std::vector<BlockId>& tests,
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

bool Emitter::raises_again(std::uint32_t t, const StructRegion& region) const {
  if (!is_block(t)) return false;
  if (BlockId(t) == region.unhandled) return true;
  const Node& node = s_.nodes[t];
  return node.term == TermKind::Reraise && node.body.empty() &&
         s_.at(s_.resolve(node.value)).block == region.handler;
}

bool Emitter::is_test(BlockId b, BlockId handler) const {
  const Node& node = s_.nodes[b.index];
  if (node.term != TermKind::Branch || !s_.is_op(node.value, Op::EXC_MATCH)) return false;
  const Value& e = s_.at(s_.at(node.value).operands[0]);
  return (e.kind == ValueKind::Exception || e.kind == ValueKind::ExceptionType) &&
         e.block == handler;
}

bool Emitter::falls_through_chain(BlockId b, BlockId handler) const {
  const Node& node = s_.nodes[b.index];
  if (node.term == TermKind::Reraise && node.body.empty())
    return s_.at(node.value).block == handler;
  return node.term != TermKind::Branch || !is_test(b, handler);
}

void Emitter::gen_handler(RegionId r, BlockId t, std::vector<Arm>& arms, const Context& ctx) {
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
  if (!builder.out.empty()) throw Error("structure: the type of an except clause needs statements");
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

bool Emitter::only_from(std::uint32_t m, RegionId r) const {
  for (std::uint32_t p : preds(m)) {
    if (dom_.number[p] == kNone) continue;
    if (dom_.number[p] >= dom_.number[m] && dom_.dominates(m, p)) continue;
    if (p == try_node(r)) return false;
    if (!s_.is_ancestor(r, region_of(p))) return false;
  }
  return true;
}

bool Emitter::subtree_reaches(std::uint32_t n, std::uint32_t follow) const {
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

bool Emitter::handlers_reach(const std::vector<BlockId>& tests, std::uint32_t follow) const {
  std::vector<std::uint32_t> stack;
  FlatMap<std::uint8_t> seen;
  const auto visit = [&](std::uint32_t u) {
    if (std::exchange(seen[u], std::uint8_t{1}) == 0) stack.push_back(u);
  };
  for (BlockId t : tests) visit(t.index);
  for (std::size_t i = 0; i < stack.size(); ++i) {
    std::uint32_t u = stack[i];
    for (std::uint32_t t : graph_.successors(u))
      if (t == follow && !(is_block(u) && s_.nodes[u].jump == JumpRole::Continue)) return true;
    for (std::uint32_t c : children(u)) visit(c);
  }
  return false;
}

ValueId Emitter::with_result(const StructRegion& region) const {
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
