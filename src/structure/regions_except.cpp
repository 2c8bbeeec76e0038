// The clauses of `except*`, which have the form of `except` afterwards; the code of each handler.
#include "structure/regions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {

void Regions::recognise_star(RegionId r) {
  const BlockId h = s_.regions[r.index].handler;
  const RegionId out = s_.regions[r.index].parent;
  ValueId list;
  for (ValueId v : s_.nodes[h.index].body)
    if (!s_.is_const(v)) {
      list = v;
      break;
    }
  if (!s_.is_op(list, Op::BUILD_LIST) || !s_.at(list).operands.empty()) return;
  std::vector<StarClause> clauses;
  std::unordered_map<std::uint32_t, std::uint8_t> lists{{list.index, 1}};
  auto is_list = [&](ValueId v) { return lists.count(s_.resolve(v).index) != 0; };
  auto is_append = [&](ValueId v) {
    return s_.is_op(v, Op::LIST_APPEND) && is_list(s_.at(v).operands[0]);
  };
  // what an edge hands on are versions of the list, and nothing else
  auto hands_on_lists = [&](const Edge& edge) {
    for (ValueId v : edge.args)
      if (!is_list(v)) return false;
    return true;
  };
  auto note_appends = [&](BlockId b) {
    for (ValueId v : s_.nodes[b.index].body)
      if (is_append(v)) lists[v.index] = 1;
  };
  ValueId rest;  // what no clause took so far
  BlockId end;
  FlatMap<std::uint8_t> seen;
  for (BlockId b = h;;) {
    const Node& node = s_.nodes[b.index];
    if (node.region != out || node.match != UINT32_MAX) return;
    if (std::exchange(seen[b.index], std::uint8_t{1}) != 0) return;
    for (ValueId p : node.params) lists[p.index] = 1;
    note_appends(b);
    if (node.term != TermKind::Branch || !s_.is_op(node.value, Op::IS) ||
        s_.at(node.value).aux != kNoneBranch)
      return;
    const ValueId tested = s_.resolve(s_.at(node.value).operands[0]);
    if (s_.is_op(tested, Op::PREP_RERAISE_STAR)) {
      if (clauses.empty() || !is_exception_of(s_, s_.resolve(s_.at(tested).operands[0]), h) ||
          !is_list(s_.at(tested).operands[1]))
        return;
      end = b;
      break;
    }
    const Value& taken = s_.at(tested);
    if (taken.kind != ValueKind::Result || taken.arg != 1 ||
        !s_.is_op(taken.operands[0], Op::CHECK_EG_MATCH))
      return;
    const Value& split = s_.at(taken.operands[0]);
    const ValueId whole = s_.resolve(split.operands[0]);
    if (clauses.empty() ? !is_exception_of(s_, whole, h) : whole != rest) return;
    StarClause clause;
    clause.test = b;
    clause.body = node.edges[1].to;
    clause.type = split.operands[1];
    rest = s_.results_of(taken.operands[0])[0];
    BlockId miss = node.edges[0].to;
    if (clause.body == miss || !node.edges[0].args.empty() || !node.edges[1].args.empty()) return;
    note_appends(miss);
    for (ValueId v : s_.nodes[miss.index].body)
      if (!s_.is_const(v) && !is_append(v)) return;
    if (s_.nodes[miss.index].term != TermKind::Jump ||
        !hands_on_lists(s_.nodes[miss.index].edges[0]))
      return;
    clause.next = s_.nodes[miss.index].edges[0].to;
    if (!find_ends(clause, miss, out)) return;
    for (BlockId e : clause.ends) note_appends(e);
    for (BlockId c : clause.collectors) {
      note_appends(c);
      note_appends(c);  // a second append has the first one's list
    }
    for (BlockId e : clause.ends)
      if (!hands_on_lists(s_.nodes[e.index].edges[0])) return;
    for (BlockId c : clause.collectors)
      if (!hands_on_lists(s_.nodes[c.index].edges[0]) || !is_collector(c, lists)) return;
    clauses.push_back(clause);
    b = clause.next;
  }
  const BlockId behind = s_.nodes[end.index].edges[0].to, again = s_.nodes[end.index].edges[1].to;
  if (s_.nodes[behind.index].body.empty() ||
      !s_.is_op(s_.nodes[behind.index].body[0], Op::POP_EXCEPT) ||
      !s_.nodes[behind.index].params.empty())
    return;
  if (s_.nodes[again.index].term != TermKind::Reraise || !s_.nodes[end.index].edges[0].args.empty())
    return;

  auto forget_list = [&](BlockId b) {
    std::erase_if(s_.nodes[b.index].body, [&](ValueId v) { return is_append(v) || v == list; });
  };
  ValueId exception = s_.resolve(
      s_.at(s_.resolve(s_.at(s_.resolve(s_.nodes[end.index].value)).operands[0])).operands[0]);
  for (const StarClause& clause : clauses) {
    Node& test = s_.nodes[clause.test.index];
    const ValueId is_none = s_.resolve(test.value), taken = s_.resolve(s_.at(is_none).operands[0]),
                  split = s_.at(taken).operands[0];
    Value match;
    match.op = Op::EXC_MATCH;
    match.block = clause.test;
    match.offset = s_.at(split).offset;
    match.line = s_.at(split).line;
    match.columns = s_.at(split).columns;
    const ValueId operands[] = {exception, clause.type};
    match.operands = s_.lifted.arena.copy(operands);
    const ValueId id = s_.add_value(match);
    std::replace(test.body.begin(), test.body.end(), split, id);
    std::erase(test.body, is_none);
    forget_list(clause.test);
    test.value = id;
    test.edges[0] = Edge{clause.body, {}};
    test.edges[1] = Edge{clause.next, {}};
    test.params.clear();
    s_.replace_by(taken, exception);
    for (BlockId b : clause.ends) {
      forget_list(b);
      s_.nodes[b.index].edges[0] = Edge{behind, {}};
    }
    for (BlockId b : clause.collectors) {
      forget_list(b);
      Node& node = s_.nodes[b.index];
      for (std::size_t i = 0; i < s_.regions.size(); ++i) {
        if (s_.regions[i].handler != b || s_.regions[i].kind == RegionKind::Erased) continue;
        // one that unbinds the name as well looks like that of `except … as name`
        if (std::all_of(node.body.begin(), node.body.end(),
                        [&](ValueId v) { return s_.is_const(v); }))
          erase(RegionId(static_cast<std::uint32_t>(i)));
      }
      node.term = TermKind::Reraise;
      node.value = caught_by(b);
    }
  }
  Node& last = s_.nodes[end.index];
  const ValueId prepared = s_.resolve(s_.at(s_.resolve(last.value)).operands[0]);
  Value drop;
  drop.op = Op::POP_TOP;
  drop.block = end;
  const ValueId operand[] = {prepared};
  drop.operands = s_.lifted.arena.copy(operand);
  std::erase_if(s_.nodes[again.index].body, [&](ValueId v) {
    return s_.is_op(v, Op::POP_EXCEPT);
  });  // raised from within the handler
  last.params.clear();
  last.body = {prepared, s_.add_value(drop)};
  last.value = prepared;
  const ValueId raised[] = {exception};
  s_.lifted.values[prepared.index].operands = s_.lifted.arena.copy(raised);
  s_.regions[r.index].kind = RegionKind::Except;
  s_.regions[r.index].unhandled = end;
}

bool Regions::is_collector(BlockId b,
                           const std::unordered_map<std::uint32_t, std::uint8_t>& lists) {
  const Node& node = s_.nodes[b.index];
  if (node.term != TermKind::Jump) return false;
  std::size_t others = 0;
  bool first = true;
  for (ValueId v : node.body) {
    if (s_.is_const(v)) continue;
    const Value& value = s_.at(v);
    if (s_.is_op(v, Op::LIST_APPEND) && lists.count(s_.resolve(value.operands[0]).index) != 0) {
      if (first && !is_exception_of(s_, s_.resolve(value.operands[1]), b)) return false;
      if (first) caught_[b.index] = s_.resolve(value.operands[1]);
      first = false;
      continue;
    }
    if (!first) return false;
    ++others;
  }
  return !first && (others == 0 || others == 2);
}

bool Regions::find_ends(StarClause& clause, BlockId miss, RegionId out) {
  std::unordered_map<std::uint32_t, std::uint8_t> seen;
  std::vector<BlockId> work{clause.body};
  seen[clause.body.index] = 1;
  seen[clause.next.index] = 1;
  auto reach = [&](BlockId b) {
    if (seen.emplace(b.index, std::uint8_t{1}).second) work.push_back(b);
  };
  std::unordered_map<std::uint32_t, std::uint8_t> handlers;
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    const Node& node = s_.nodes[b.index];
    if (!s_.is_ancestor(out, node.region) || b == miss || b == clause.test) return false;
    for (RegionId r = node.region; r && r != out; r = s_.regions[r.index].parent)
      if (s_.regions[r.index].kind != RegionKind::Erased) {
        handlers[s_.regions[r.index].handler.index] = 1;
        reach(s_.regions[r.index].handler);
      }
    for (int k = 0; k < node.edge_count(); ++k) {
      if (node.edges[k].to != clause.next) {
        reach(node.edges[k].to);
        continue;
      }
      if (node.term != TermKind::Jump) return false;
      (handlers.count(b.index) && node.region == out && catches(b) ? clause.collectors
                                                                   : clause.ends)
          .push_back(b);
    }
  }
  return true;
}

void Regions::forget_name(BlockId b, BlockId handler) {
  std::vector<ValueId>& body = s_.nodes[b.index].body;
  for (std::size_t k = 0; k < body.size(); ++k) {
    const Value& store = s_.at(body[k]);
    if (store.kind != ValueKind::Operation || store.operands.size() != 1) continue;
    if (store.op != Op::STORE_FAST && store.op != Op::STORE_NAME && store.op != Op::STORE_GLOBAL &&
        store.op != Op::STORE_DEREF)
      continue;
    if (!is_exception_of(s_, s_.resolve(store.operands[0]), handler)) continue;
    std::vector<std::size_t> next;
    for (std::size_t j = k + 1; j < body.size() && next.size() < 2; ++j)
      if (!s_.is_const(body[j]) && !s_.is_op(body[j], Op::POP_EXCEPT) &&
          !s_.is_op(body[j], Op::POP_TOP))
        next.push_back(j);
    if (next.size() < 2) return;
    const Value &unbind = s_.at(body[next[0]]), &remove = s_.at(body[next[1]]);
    const bool deletes = (remove.op == Op::DELETE_FAST && store.op == Op::STORE_FAST) ||
                         (remove.op == Op::DELETE_NAME && store.op == Op::STORE_NAME) ||
                         (remove.op == Op::DELETE_GLOBAL && store.op == Op::STORE_GLOBAL) ||
                         (remove.op == Op::DELETE_DEREF && store.op == Op::STORE_DEREF);
    if (unbind.op != store.op || unbind.arg != store.arg || !deletes || remove.arg != store.arg ||
        !s_.is_const(s_.resolve(unbind.operands[0])))
      return;
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(next[1]));
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(next[0]));
    return;
  }
}

bool Regions::returns_value_before(const Node& node, std::size_t pop) const {
  if (node.term != TermKind::Return || !s_.is_const(node.value)) return false;
  for (std::size_t i = pop + 1; i < node.body.size(); ++i)
    if (!s_.is_const(node.body[i])) return false;
  const Value& popped = s_.at(node.body[pop]);
  if (node.term_columns != 0 && node.term_columns == popped.columns &&
      node.term_line == popped.line &&
      s_.module[ConstId(s_.at(node.value).arg)].kind != ConstKind::None)
    return true;
  return std::find(node.body.begin(), node.body.begin() + static_cast<std::ptrdiff_t>(pop),
                   node.value) != node.body.begin() + static_cast<std::ptrdiff_t>(pop);
}

bool Regions::only_ends(BlockId b, std::size_t at) const {
  for (int steps = 0; steps < kMostHops; ++steps) {
    const Node& node = s_.nodes[b.index];
    for (; at < node.body.size(); ++at)
      if (!is_quiet(node.body[at])) return false;
    if (node.term != TermKind::Jump)
      return node.term == TermKind::Return || node.term == TermKind::Reraise;
    b = node.edges[0].to;
    at = 0;
  }
  return false;
}

void Regions::scope_handlers() {
  const std::size_t count = s_.regions.size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool clauses = s_.regions[i].kind == RegionKind::Except;
    if (!clauses && s_.regions[i].kind != RegionKind::Finally) continue;
    const RegionId owner(static_cast<std::uint32_t>(i));
    const RegionId parent = s_.regions[i].parent;
    const RegionId scope(static_cast<std::uint32_t>(s_.regions.size()));
    std::vector<BlockId> members;
    std::vector<Position> ways_out;
    std::unordered_map<std::uint32_t, std::uint32_t> depth_at;
    std::vector<BlockId> work{s_.regions[i].handler};
    depth_at[work[0].index] = 1;
    auto reach = [&](BlockId b, std::uint32_t depth) {
      if (depth_at.emplace(b.index, depth).second) work.push_back(b);
    };
    while (!work.empty()) {
      BlockId b = work.back();
      work.pop_back();
      std::uint32_t depth = depth_at[b.index];
      members.push_back(b);
      for (RegionId r = s_.nodes[b.index].region; r && r != parent; r = s_.regions[r.index].parent)
        if (s_.regions[r.index].kind != RegionKind::Erased &&
            s_.regions[r.index].kind != RegionKind::Scope && r != owner)
          reach(s_.regions[r.index].handler, depth + 1);
      if (clauses) forget_name(b, s_.regions[i].handler);
      bool left = false;
      for (std::size_t k = 0; k < s_.nodes[b.index].body.size() && !left; ++k) {
        if (!s_.is_op(s_.nodes[b.index].body[k], Op::POP_EXCEPT) || --depth > 0) continue;
        left = true;
        ways_out.push_back({b, k});
      }
      if (left) continue;
      for (int k = 0; k < s_.nodes[b.index].edge_count(); ++k)
        reach(s_.nodes[b.index].edges[k].to, depth);
    }
    if (!clauses && std::all_of(ways_out.begin(), ways_out.end(),
                                [&](const Position& out) { return only_ends(out.block, out.at); }))
      continue;
    for (const auto& [b, k] : ways_out) {
      if (returns_value_before(s_.nodes[b.index], k)) continue;
      if (k + 1 == s_.nodes[b.index].body.size() && s_.nodes[b.index].term == TermKind::Jump)
        continue;
      const BlockId rest = split({b, k + 1});
      s_.nodes[rest.index].in_place =
          s_.nodes[rest.index].term == TermKind::Return && s_.is_function();
    }
    StructRegion region;
    region.parent = parent;
    region.kind = RegionKind::Scope;
    region.owner = owner;
    region.handler = s_.regions[i].handler;
    s_.regions.push_back(region);
    s_.regions[i].scope = scope;
    for (BlockId b : members) {
      RegionId r = s_.nodes[b.index].region;
      if (r == parent) {
        s_.nodes[b.index].region = scope;
        continue;
      }
      while (r && r != scope && s_.regions[r.index].parent != parent &&
             s_.regions[r.index].parent != scope)
        r = s_.regions[r.index].parent;
      if (r && r != scope && r != owner && s_.regions[r.index].parent == parent)
        s_.regions[r.index].parent = scope;
    }
  }
}

}  // namespace depyf
