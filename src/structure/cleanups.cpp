// The removal of what the compiler copied to every way out of a `finally` or `with` statement.
//
// CPython duplicates the body of `finally`, the call of a context manager's exit function and the
// unbinding of `except … as name` at each exit of the protected code (compile.c,
// compiler_unwind_fblock). Here each exit edge is led past its copy, so that in the graph the exit
// leads straight to where control continues.
#include "structure/regions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "structure/build.h"
#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {

void Regions::strip_with(RegionId r) {
  StructRegion& region = s_.regions[r.index];
  std::unordered_set<std::uint32_t> gone;
  auto strip = [&](Node& node) {
    if (!node.alive) return;
    bool any = false;
    for (ValueId v : node.body) {
      const Value& value = s_.at(v);
      if (value.kind != ValueKind::Operation || value.operands.empty()) continue;
      ValueId callee = s_.resolve(value.operands[0]);
      bool exit_call = value.op == Op::CALL && value.operands.size() == 4 &&
                       s_.at(callee).kind == ValueKind::Result && s_.at(callee).arg == 0 &&
                       s_.at(callee).operands[0] == region.with_enter;
      bool awaits = region.async && (value.op == Op::GET_AWAITABLE || value.op == Op::YIELD_FROM) &&
                    gone.count(callee.index);
      if (exit_call || awaits) {
        gone.insert(v.index);
        any = true;
      }
    }
    if (!any) return;
    std::erase_if(node.body, [&](ValueId v) { return gone.count(v.index) != 0; });
    node.behind_copy = true;
  };
  if (region.async)
    for (Node& node : s_.nodes) strip(node);
  else if (auto found = exit_calls_.find(region.with_enter.index); found != exit_calls_.end())
    for (BlockId b : found->second) strip(s_.nodes[b.index]);
}

bool Regions::same_value(ValueId h, ValueId t,
                         const std::unordered_map<std::uint32_t, ValueId>& map) {
  h = s_.resolve(h);
  t = s_.resolve(t);
  if (h == t) return true;
  auto found = map.find(h.index);
  if (found != map.end()) return s_.resolve(found->second) == t;
  if (s_.is_const(h) && s_.is_const(t))
    return s_.same_const(ConstId(s_.at(h).arg), ConstId(s_.at(t).arg));
  if (s_.at(h).kind != s_.at(t).kind) return false;
  // what a handler finds at its entry, where the two handlers are taken for the same
  const ValueKind kind = s_.at(h).kind;
  if (kind == ValueKind::Exception || kind == ValueKind::ExceptionType ||
      kind == ValueKind::Traceback || kind == ValueKind::Previous || kind == ValueKind::Lasti) {
    auto pair = visited_.find(s_.at(h).block.index);
    return pair != visited_.end() && pair->second == s_.at(t).block.index &&
           s_.at(h).arg == s_.at(t).arg;
  }
  return kind == ValueKind::Null;
}

bool Regions::same_end(Position a, Position b) {
  const Node &x = s_.nodes[a.block.index], &y = s_.nodes[b.block.index];
  if (x.term != y.term || x.match != y.match || x.raise_args.size() != y.raise_args.size() ||
      x.edge_count() != y.edge_count())
    return false;
  bool may_raise = x.term != TermKind::Return && x.term != TermKind::Jump;
  std::unordered_map<std::uint32_t, ValueId> map;
  std::size_t i = a.at, j = b.at;
  auto skip = [&](const Node& node, std::size_t& k) {
    while (k < node.body.size() && is_quiet(node.body[k])) ++k;
  };
  for (;;) {
    skip(x, i);
    skip(y, j);
    if (i == x.body.size() || j == y.body.size()) break;
    if (!same_operation(x.body[i], y.body[j], map)) return false;
    may_raise = true;
    ++i;
    ++j;
  }
  if (i != x.body.size() || j != y.body.size()) return false;
  if (x.region != y.region && may_raise) return false;
  if (x.value && !same_value(x.value, y.value, map)) return false;
  for (std::size_t k = 0; k < x.raise_args.size(); ++k)
    if (!same_value(x.raise_args[k], y.raise_args[k], map)) return false;
  for (int k = 0; k < x.edge_count(); ++k) {
    const Edge &e = x.edges[k], &f = y.edges[k];
    if (e.to != f.to || e.args.size() != f.args.size()) return false;
    for (std::size_t n = 0; n < e.args.size(); ++n)
      if (!same_value(e.args[n], f.args[n], map)) return false;
  }
  return true;
}

Regions::Position Regions::past_jumps(Position p) const {
  for (int steps = 0; steps < kMostHops; ++steps) {
    const Node& node = s_.nodes[p.block.index];
    while (p.at < node.body.size() &&
           (s_.is_const(node.body[p.at]) || s_.is_op(node.body[p.at], Op::POP_EXCEPT)))
      ++p.at;
    if (p.at != node.body.size() || node.term != TermKind::Jump || node.jump != JumpRole::Plain ||
        !node.edges[0].args.empty())
      break;
    p = {node.edges[0].to, 0};
  }
  return p;
}

bool Regions::marks_annotation(const Value& value) const {
  if (value.op != Op::SET_ADD || value.operands.size() != 2) return false;
  const Value& set = s_.at(s_.resolve(value.operands[0]));
  if (set.op != Op::LOAD_DEREF && set.op != Op::LOAD_NAME) return false;
  const auto& slots = s_.module[s_.lifted.code].slots;
  const StrId name = set.op == Op::LOAD_NAME ? StrId(set.arg) : slots[set.arg].name;
  return s_.module[name] == "__conditional_annotations__";
}

bool Regions::same_operation(ValueId a, ValueId b,
                             std::unordered_map<std::uint32_t, ValueId>& map) {
  const Value &x = s_.at(a), &y = s_.at(b);
  if (x.kind != y.kind || x.op != y.op || x.aux != y.aux || x.operands.size() != y.operands.size())
    return false;
  bool negated = false;
  if (x.kind == ValueKind::Select) {
    // The compiler turns the test of one copy round, where another block follows it.
    negated = !s_.same_select(a, b);
    if (negated && !(s_.uses[a.index] == 1 && s_.uses[b.index] == 1 && s_.negated_select(a, b)))
      return false;
  } else if (x.arg != y.arg && x.op != Op::LOAD_CONST) {
    return false;
  }
  for (std::size_t i = 0; i < x.operands.size(); ++i)
    if (!same_value(x.operands[i], y.operands[i], map) && !(i == 1 && marks_annotation(x)))
      return false;
  (negated ? negated_ : map)[a.index] = b;
  if (x.kind == ValueKind::Operation) {
    std::vector<ValueId> ra = s_.results_of(a), rb = s_.results_of(b);
    for (std::size_t i = 0; i < ra.size() && i < rb.size(); ++i) map[ra[i].index] = rb[i];
  }
  return true;
}

bool Regions::match_copy(BlockId handler, RegionId base_h, BlockId t, Position& out,
                         bool& completes) {
  std::unordered_map<std::uint32_t, ValueId> map;
  auto& visited = visited_;
  visited.clear();
  negated_.clear();
  struct Pair {
    BlockId h;
    std::size_t hi;
    BlockId t;
    std::size_t ti;
  };
  std::vector<Pair> work{{handler, 0, t, 0}};
  visited[handler.index] = t.index;
  completes = false;
  std::unordered_set<std::uint32_t> statements,
      alone;             // regions in the handler that the copy has, or lacked at some place
  std::size_t hops = 0;  // jumps in a row: empty blocks may form a ring
  while (!work.empty()) {
    Pair p = work.back();
    work.pop_back();
    for (;;) {
      if (p.h == p.t && p.hi == p.ti) break;  // behind both
      const Node& hn = s_.nodes[p.h.index];
      const Node& tn = s_.nodes[p.t.index];
      // handlers of statements inside the body
      RegionId rh = hn.region, rt = tn.region;
      for (; rh && rh != rt && !s_.is_ancestor(rh, base_h); rh = s_.regions[rh.index].parent) {
        if (!rt || s_.is_ancestor(rt, base_h)) {
          alone.insert(rh.index);
          break;
        }
        statements.insert(rh.index);
        const BlockId hh = s_.regions[rh.index].handler, th = s_.regions[rt.index].handler;
        if (hh != th && !visited.count(hh.index)) {
          visited[hh.index] = th.index;
          work.push_back({hh, 0, th, 0});
        }
        rt = s_.regions[rt.index].parent;
      }
      const bool equally_protected =
          rh == rt || (s_.is_ancestor(rh, base_h) && s_.is_ancestor(rt, base_h));
      while (p.hi < hn.body.size() && is_quiet(hn.body[p.hi])) ++p.hi;
      if (p.hi == hn.body.size()) {
        if (hn.term == TermKind::Reraise && is_exception_of(s_, s_.resolve(hn.value), handler)) {
          Position here{p.t, p.ti};
          for (;;) {
            const Node& at = s_.nodes[here.block.index];
            // not past values that are handed on, nor around `while True: pass`, nor through
            // another statement, of which nothing else may be left
            if (here.at != at.body.size() || at.term != TermKind::Jump ||
                at.jump != JumpRole::Plain || !at.edges[0].args.empty() ||
                at.edges[0].to == here.block || !s_.is_ancestor(at.region, base_h) ||
                !s_.is_ancestor(s_.nodes[at.edges[0].to.index].region, at.region))
              break;
            if (++hops > s_.nodes.size()) return false;
            here = {at.edges[0].to, 0};
          }
          if (completes && (out.block != here.block || out.at != here.at) && !same_end(out, here))
            return false;
          completes = true;
          out = here;
          break;
        }
      }
      while (p.ti < tn.body.size() && is_quiet(tn.body[p.ti])) ++p.ti;
      if (p.hi < hn.body.size()) {
        if (p.ti == tn.body.size()) {
          if (tn.term != TermKind::Jump || ++hops > s_.nodes.size()) return false;
          p.t = tn.edges[0].to;
          p.ti = 0;
          continue;
        }
        if (!equally_protected || !same_operation(hn.body[p.hi], tn.body[p.ti], map)) return false;
        ++p.hi;
        ++p.ti;
        hops = 0;
        continue;
      }
      // both at the end of their blocks
      if (hn.term == TermKind::Jump) {
        BlockId next = hn.edges[0].to;
        // the copy may have the join merged into one of its blocks, or not
        auto seen = visited.find(next.index);
        std::size_t ti = p.ti;
        BlockId tb = p.t;
        while (ti == s_.nodes[tb.index].body.size() && s_.nodes[tb.index].term == TermKind::Jump &&
               s_.nodes[tb.index].edges[0].to != tb) {
          const Edge& e = s_.nodes[tb.index].edges[0];
          const Edge& he = hn.edges[0];
          const Node &hp = s_.nodes[next.index], &tp = s_.nodes[e.to.index];
          if (hp.params.size() == tp.params.size())
            for (std::size_t i = 0; i < hp.params.size(); ++i) {
              if (!same_value(he.args[i], e.args[i], map)) return false;
              map[hp.params[i].index] = tp.params[i];
            }
          tb = e.to;
          ti = 0;
          break;
        }
        std::uint64_t key = (std::uint64_t{ti} << 32) | tb.index;
        if (seen != visited.end()) {
          if (seen->second != key && !same_place(seen->second, {tb, ti})) return false;
          break;
        }
        visited[next.index] = key;
        p = {next, 0, tb, ti};
        continue;
      }
      if (p.ti != tn.body.size()) return false;
      const bool may_raise = hn.term != TermKind::Return && hn.term != TermKind::Branch &&
                             hn.term != TermKind::Unreachable;
      if ((may_raise && !equally_protected) || hn.term != tn.term ||
          (hn.match != UINT32_MAX) != (tn.match != UINT32_MAX))
        return false;
      if (hn.match != UINT32_MAX &&
          !s_.same_tree(s_.cases[hn.match].pattern, s_.cases[tn.match].pattern))
        return false;
      bool turned = false;  // the test, and so its ways
      if (hn.term == TermKind::Branch) {
        const auto found = negated_.find(s_.resolve(hn.value).index);
        turned = found != negated_.end() && found->second == s_.resolve(tn.value);
      }
      if (hn.value && !turned && !same_value(hn.value, tn.value, map)) return false;
      if (hn.raise_args.size() != tn.raise_args.size()) return false;
      for (std::size_t i = 0; i < hn.raise_args.size(); ++i)
        if (!same_value(hn.raise_args[i], tn.raise_args[i], map)) return false;
      if (hn.item && tn.item) map[hn.item.index] = tn.item;
      for (int k = 0; k < hn.edge_count(); ++k) {
        const Edge &he = hn.edges[k], &te = tn.edges[turned ? 1 - k : k];
        const Node &hp = s_.nodes[he.to.index], &tp = s_.nodes[te.to.index];
        if (hp.params.size() == tp.params.size() && he.args.size() == te.args.size())
          for (std::size_t i = 0; i < he.args.size(); ++i) {
            if (!same_value(he.args[i], te.args[i], map)) return false;
            map[hp.params[i].index] = tp.params[i];
          }
        auto seen = visited.find(he.to.index);
        if (seen != visited.end()) {
          if (seen->second != te.to.index && !same_place(seen->second, {te.to, 0})) return false;
          continue;
        }
        visited[he.to.index] = te.to.index;
        work.push_back({he.to, 0, te.to, 0});
      }
      break;
    }
    if (visited.size() > kMostCompared) return false;
  }
  return std::all_of(alone.begin(), alone.end(),
                     [&](std::uint32_t r) { return statements.count(r) != 0; });
}

BlockId Regions::split(Position p) {
  if (p.at == 0) return p.block;
  const BlockId id = s_.split_off(p.block, p.at);
  s_[id].pred_count = 0;
  return id;
}

ValueId Regions::left_for_return(const Node& node) const {
  if (node.term != TermKind::Jump) return {};
  const auto last = std::find_if(node.body.rbegin(), node.body.rend(), [&](ValueId v) {
    return !s_.is_op(v, Op::POP_EXCEPT) && !s_.is_op(v, Op::POP_TOP);
  });
  if (last == node.body.rend() || s_.uses[last->index] != 0 || s_.at(*last).dropped ||
      yields_no_value(s_.at(*last).op, s_.at(*last).aux))
    return {};
  return *last;
}

void Regions::move_differing_parameters(std::span<const BlockId> ways, BlockId copy,
                                        BlockId after) {
  Node &from = s_[copy], &to = s_[after];
  if (copy == after || from.params.empty() || !to.params.empty()) return;
  std::span<const ValueId> first;
  std::size_t edges = 0;
  bool differ = false;
  for (BlockId b : ways) {
    for (int k = 0; k < s_[b].edge_count(); ++k) {
      const Edge& edge = s_[b].edges[k];
      if (!s_[b].alive || edge.to != copy) continue;
      if (edge.args.size() != from.params.size()) return;
      if (++edges == 1) first = edge.args;
      for (std::size_t p = 0; p < first.size(); ++p)
        differ |= s_.resolve(edge.args[p]) != s_.resolve(first[p]);
    }
  }
  if (!differ) return;
  for (const Node& node : s_.nodes)
    for (int k = 0; node.alive && k < node.edge_count(); ++k) edges -= node.edges[k].to == copy;
  if (edges != 0) return;  // the copy stays for a way from elsewhere
  to.params = std::move(from.params);
  from.params.clear();
}

bool Regions::strip_finally(RegionId r) {
  const StructRegion& region = s_.regions[r.index];
  std::vector<BlockId> exits, protects;
  for (std::vector<RegionId> within{r}; !within.empty();) {
    const std::uint32_t at = within.back().index;
    within.pop_back();
    protects.insert(protects.end(), protected_[at].begin(), protected_[at].end());
    within.insert(within.end(), children_[at].begin(), children_[at].end());
  }
  std::sort(protects.begin(), protects.end());
  for (BlockId b : protects) {
    const std::size_t i = b.index;
    if (!s_.nodes[i].alive) continue;
    for (int k = 0; k < s_.nodes[i].edge_count(); ++k) {
      BlockId to = s_.nodes[i].edges[k].to;
      if (!inside(to, r) && std::find(exits.begin(), exits.end(), to) == exits.end())
        exits.push_back(to);
    }
  }
  std::vector<Position> resume(exits.size());
  for (std::size_t i = 0; i < exits.size(); ++i) {
    bool completes = false;
    if (!match_copy(region.handler, region.scope ? region.scope : region.parent, exits[i],
                    resume[i], completes))
      return false;
    if (!completes) resume[i] = {BlockId(), 0};
  }
  std::vector<BlockId> after(exits.size());
  BlockId never;  // behind a body of `finally` that never completes: one place for all ways out
  for (std::size_t i = 0; i < exits.size(); ++i) {
    if (!resume[i].block) {
      if (!never) {
        Node nothing;
        nothing.term = TermKind::Unreachable;
        nothing.region = region.parent;
        nothing.term_offset = s_.nodes[exits[i].index].term_offset;
        never = BlockId(static_cast<std::uint32_t>(s_.nodes.size()));
        s_.nodes.push_back(nothing);
      }
      after[i] = never;
      continue;
    }
    after[i] = split(resume[i]);
    s_.nodes[after[i].index].behind_copy = true;
    // a later copy may end in the block that was just split
    for (std::size_t j = i + 1; j < exits.size(); ++j)
      if (resume[j].block == resume[i].block && resume[j].at >= resume[i].at && resume[i].at != 0)
        resume[j] = {after[i], resume[j].at - resume[i].at};
  }
  for (std::size_t i = 0; i < exits.size(); ++i)
    if (resume[i].block) move_differing_parameters(protects, exits[i], after[i]);
  for (BlockId b : protects) {
    if (!s_.nodes[b.index].alive) continue;
    for (int k = 0; k < s_.nodes[b.index].edge_count(); ++k) {
      Edge& edge = s_.nodes[b.index].edges[k];
      if (inside(edge.to, r)) continue;
      auto at = std::find(exits.begin(), exits.end(), edge.to);
      if (at == exits.end()) continue;
      BlockId from = edge.to;
      const auto exit = static_cast<std::size_t>(at - exits.begin());
      if (!resume[exit].block) {
        if (const ValueId v = left_for_return(s_.nodes[b.index])) {
          s_.nodes[b.index].term = TermKind::Return;
          s_.nodes[b.index].value = v;
          continue;
        }
      }
      BlockId to = after[exit];
      // values handed to the copy and used after it
      if (edge.args.size() < s_.nodes[from.index].params.size())
        throw Error("structure: a way into the copy of a `finally` body hands on too few values");
      for (std::size_t p = 0; from != to && p < s_.nodes[from.index].params.size(); ++p) {
        const ValueId param = s_.nodes[from.index].params[p], given = s_.resolve(edge.args[p]);
        if (s_.resolve(param) == given) continue;  // also the parameter itself, around a loop
        if (!s_.forward[param.index])
          s_.replace_by(param, given);
        else
          throw Error(
              "structure: several ways into one copy of a `finally` body hand on different "
              "values");
      }
      const std::size_t wanted = s_.nodes[to.index].params.size();
      if (from != to && wanted > 0 && wanted != edge.args.size())
        throw Error(
            "structure: the code after a copy of a `finally` body wants other values than the "
            "way into the copy has");
      if (from != to && inside(to, r) && wanted == 0) {
        // out of the statement and into it again: a block outside says so
        Node between;
        between.term = TermKind::Jump;
        between.behind_copy = true;
        between.region = region.parent;
        between.term_offset = s_.nodes[b.index].term_offset;
        between.term_line = s_.nodes[b.index].term_line;
        between.edges[0] = Edge{to, {}};
        edge = Edge{BlockId(static_cast<std::uint32_t>(s_.nodes.size())), {}};
        s_.nodes.push_back(between);
        continue;
      }
      edge = from == to
                 ? edge
                 : Edge{to,
                        s_.nodes[to.index].params.size() == edge.args.size() ? edge.args
                                                                             : std::span<ValueId>(),
                        edge.written};
    }
  }
  return true;
}

bool Regions::unbinds_name(RegionId r) const {
  const Node& h = s_.nodes[s_.regions[r.index].handler.index];
  if (h.term != TermKind::Reraise ||
      !is_exception_of(s_, s_.forward[h.value.index] ? s_.forward[h.value.index] : h.value,
                       s_.regions[r.index].handler))
    return false;
  std::vector<ValueId> ops;
  for (ValueId v : h.body)
    if (!s_.is_const(v) && !s_.is_op(v, Op::POP_EXCEPT) && !s_.is_op(v, Op::POP_TOP))
      ops.push_back(v);
  if (ops.size() != 2) return false;
  const Value &store = s_.at(ops[0]), &remove = s_.at(ops[1]);
  auto pair = [&](Op a, Op b) {
    return store.op == a && remove.op == b && store.arg == remove.arg;
  };
  if (!pair(Op::STORE_FAST, Op::DELETE_FAST) && !pair(Op::STORE_NAME, Op::DELETE_NAME) &&
      !pair(Op::STORE_GLOBAL, Op::DELETE_GLOBAL) && !pair(Op::STORE_DEREF, Op::DELETE_DEREF))
    return false;
  ValueId stored = store.operands[0];
  if (!s_.is_const(stored) || s_.module[ConstId(s_.at(stored).arg)].kind != ConstKind::None)
    return false;
  // the region starts right after the exception was stored under that name
  for (const Node& node : s_.nodes) {
    if (!node.alive) continue;
    for (int k = 0; k < node.edge_count(); ++k) {
      if (s_.is_ancestor(r, node.region) || !inside(node.edges[k].to, r)) continue;
      for (std::size_t i = node.body.size(); i > 0; --i) {
        const Value& last = s_.at(node.body[i - 1]);
        if (s_.is_const(node.body[i - 1]) || last.op == Op::POP_TOP) continue;
        return last.op == store.op && last.arg == store.arg &&
               s_.at(s_.resolve(last.operands[0])).kind == ValueKind::Exception;
      }
    }
  }
  return false;
}

bool Regions::absorb_returns() {
  bool any = false;
  for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
    Node& node = s_.nodes[i];
    if (!node.alive || node.term != TermKind::Jump) continue;
    auto quiet = [&](const Node& n) {
      return std::all_of(n.body.begin(), n.body.end(), [&](ValueId v) { return is_quiet(v); });
    };
    SmallVector<Edge, 8> way{node.edges[0]};
    while (way.size() <
           8) {  // blocks on the way that only drop a loop's iterator, or leave a handler
      const Node& between = s_.nodes[way.back().to.index];
      if (between.term != TermKind::Jump || between.jump != JumpRole::Plain ||
          between.match != UINT32_MAX || !quiet(between))
        break;
      way.push_back(between.edges[0]);
    }
    const Node& end = s_.nodes[way.back().to.index];
    if (end.term != TermKind::Return || end.region == node.region || !quiet(end)) continue;
    ValueId value = s_.resolve(end.value);
    for (std::size_t step = way.size(); step-- > 0;) {
      const std::vector<ValueId>& params = s_.nodes[way[step].to.index].params;
      for (std::size_t p = 0; p < params.size() && p < way[step].args.size(); ++p)
        if (params[p] == value) {
          value = s_.resolve(way[step].args[p]);
          break;
        }
    }
    if (s_.is_const(value) || s_.at(value).block != BlockId(static_cast<std::uint32_t>(i)))
      continue;
    node.term = TermKind::Return;
    node.value = value;
    node.term_offset = end.term_offset;
    node.term_line = end.term_line;
    node.term_columns = end.term_columns;
    any = true;
  }
  return any;
}

void Regions::run() {
  if (s_.regions.empty()) return;
  // Children come after their parents, so backwards is innermost first.
  std::vector<RegionId> order;
  for (std::size_t i = s_.regions.size(); i > 0; --i)
    order.push_back(RegionId(static_cast<std::uint32_t>(i - 1)));
  std::vector<std::uint32_t> depth(s_.regions.size(), 0);
  for (std::size_t i = 0; i < s_.regions.size(); ++i)
    for (RegionId p = s_.regions[i].parent; p; p = s_.regions[p.index].parent) ++depth[i];
  std::stable_sort(order.begin(), order.end(),
                   [&](RegionId a, RegionId b) { return depth[a.index] > depth[b.index]; });
  children_.assign(s_.regions.size(), {});
  for (std::size_t i = s_.regions.size(); i-- > 0;) {
    const StructRegion& region = s_.regions[i];
    if (!region.parent) continue;
    children_[region.parent.index].push_back(RegionId(static_cast<std::uint32_t>(i)));
  }
  // A statement whose handler is one block is not in the way of its like at the same depth: the
  // graph is put in order once for a row of them. One that only has clauses changes nothing.
  auto plain = [&](RegionId r) {
    const StructRegion& region = s_.regions[r.index];
    return (region.kind == RegionKind::With ||
            (region.kind == RegionKind::Finally &&
             s_.nodes[region.handler.index].term == TermKind::Reraise));
  };
  bool untidy = true;
  auto row_of = [&](RegionId r) {
    return plain(r) ? 2 * depth[r.index] + (s_.regions[r.index].kind == RegionKind::With)
                    : UINT32_MAX;
  };
  std::uint32_t row = UINT32_MAX;  // depth and kind of the row of plain statements that came last
  for (RegionId r : order) {
    StructRegion& region = s_.regions[r.index];
    if (region.kind == RegionKind::Erased || region.kind == RegionKind::Scope ||
        region.kind == RegionKind::Except)
      continue;
    const bool in_row = plain(r) && row == row_of(r);
    if (untidy && !in_row) {
      tidy();
      index();
      untidy = false;
      if (region.kind == RegionKind::Erased) continue;
    }
    row = row_of(r);
    untidy = true;
    ++s_.changes;
    if (region.kind == RegionKind::With) {
      strip_with(r);
    } else if (region.kind == RegionKind::Finally) {
      if (strip_finally(r)) {
        if (s_.regions[r.index].unbinds) erase(r);
      } else {
        // Shown as `except` it would run what follows outside of the handler.
        throw Error("structure: the copies of a `finally` body differ");
      }
    }
  }
  if (untidy) tidy();
}

void Regions::tidy() {
  sweep();
  if (absorb_returns()) {
    ++s_.changes;
    sweep();
  }
  if (!s_.counted()) s_.recount();
  if (s_.tidy_jumps()) s_.recount();
}

void Regions::index() {
  protected_.assign(s_.regions.size(), {});
  exit_calls_.clear();
  for (std::uint32_t i = 0; i < s_.nodes.size(); ++i) {
    const Node& node = s_.nodes[i];
    if (!node.alive) continue;
    if (node.region) protected_[node.region.index].push_back(BlockId(i));
    for (ValueId v : node.body) {
      const Value& value = s_.at(v);
      if (value.kind != ValueKind::Operation || value.op != Op::CALL || value.operands.size() != 4)
        continue;
      const Value& callee = s_.at(s_.resolve(value.operands[0]));
      if (callee.kind != ValueKind::Result || callee.arg != 0) continue;
      std::vector<BlockId>& blocks = exit_calls_[callee.operands[0].index];
      if (blocks.empty() || blocks.back() != BlockId(i)) blocks.push_back(BlockId(i));
    }
  }
}

void Structurer::strip_cleanups() { Regions(*this).run(); }

}  // namespace depyf
