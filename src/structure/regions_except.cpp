// The clauses of `except*`, which have the form of `except` afterwards; the code of each handler.
#include "structure/regions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "structure/copies.h"
#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {

void Regions::recognise_star(RegionId r) {
  Star star;
  star.region = r;
  if (!read_star(star)) return;
  const Node& end = s_.nodes[star.end.index];
  const BlockId behind = end.edges[0].to, again = end.edges[1].to;
  const Node& after = s_.nodes[behind.index];
  if (after.body.empty() || !s_.is_op(after.body[0], Op::POP_EXCEPT) || !after.params.empty())
    return;
  if (s_.nodes[again.index].term != TermKind::Reraise || !end.edges[0].args.empty()) return;
  const ValueId prepared = s_.resolve(s_.at(s_.resolve(end.value)).operands[0]);
  const ValueId exception = s_.resolve(s_.at(prepared).operands[0]);
  for (const StarClause& clause : star.clauses)
    rewrite_star_clause(star, clause, exception, behind);
  rewrite_star_end(star, prepared, exception, again);
  s_.regions[r.index].kind = RegionKind::Except;
  s_.regions[r.index].unhandled = star.end;
}

bool Regions::read_star(Star& star) {
  const BlockId h = s_.regions[star.region.index].handler;
  const RegionId out = s_.regions[star.region.index].parent;
  star.list = s_.first_effect(s_.nodes[h.index]);
  if (!s_.is_op(star.list, Op::BUILD_LIST) || !s_.at(star.list).operands.empty()) return false;
  star.lists[star.list.index] = 1;
  ValueId rest;  // what no clause took so far
  FlatMap<std::uint8_t> seen;
  for (BlockId first = h;;) {
    const BlockId b = star_test(star, first, seen);
    if (!b || s_[first].region != out || s_[b].region != out) return false;
    for (ValueId p : s_[first].params) star.lists[p.index] = 1;
    note_appends(star, first);
    const ValueId tested = s_.resolve(s_.at(s_[b].value).operands[0]);
    if (s_.is_op(tested, Op::PREP_RERAISE_STAR)) {
      if (b != first) return false;
      star.end = b;
      return !star.clauses.empty() &&
             s_.is_exception_of(s_.resolve(s_.at(tested).operands[0]), h) &&
             is_list(star, s_.at(tested).operands[1]);
    }
    const ValueId split = s_.at(tested).operands[0], whole = s_.resolve(s_.at(split).operands[0]);
    if (star.clauses.empty() ? !s_.is_exception_of(whole, h) : whole != rest) return false;
    rest = s_.results_of(split)[0];
    if (!read_star_clause(star, first, b, s_.at(split).operands[1])) return false;
    first = star.clauses.back().next;
  }
}

BlockId Regions::star_test(const Star& star, BlockId first, FlatMap<std::uint8_t>& seen) {
  BlockId test;
  SmallVector<BlockId, 8> work{first};
  if (std::exchange(seen[first.index], std::uint8_t{1}) != 0) return {};
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    const Node& node = s_[b];
    if (!s_.is_ancestor(s_.regions[star.region.index].parent, node.region) ||
        node.match != UINT32_MAX)
      return {};
    if (node.term == TermKind::Branch && s_.is_op(node.value, Op::IS) &&
        s_.at(node.value).aux == kNoneBranch) {
      const ValueId tested = s_.resolve(s_.at(node.value).operands[0]);
      const Value& taken = s_.at(tested);
      if (s_.is_op(tested, Op::PREP_RERAISE_STAR) ||
          (taken.kind == ValueKind::Result && taken.arg == 1 &&
           s_.is_op(taken.operands[0], Op::CHECK_EG_MATCH))) {
        if (test) return {};
        test = b;
        continue;
      }
    }
    if (node.edge_count() == 0) return {};
    for (int k = 0; k < node.edge_count(); ++k)
      if (const BlockId to = node.edges[k].to; std::exchange(seen[to.index], std::uint8_t{1}) == 0)
        work.push_back(to);
  }
  return test;
}

bool Regions::read_star_clause(Star& star, BlockId first, BlockId test, ValueId type) {
  const Node& node = s_.nodes[test.index];
  StarClause clause;
  clause.first = first;
  clause.test = test;
  clause.body = node.edges[1].to;
  clause.type = type;
  const BlockId miss = node.edges[0].to;
  if (clause.body == miss || !node.edges[0].args.empty() || !node.edges[1].args.empty())
    return false;
  note_appends(star, miss);
  for (ValueId v : s_.nodes[miss.index].body)
    if (!s_.is_const(v) && !is_append(star, v)) return false;
  if (s_.nodes[miss.index].term != TermKind::Jump || !hands_on_lists(star, miss)) return false;
  clause.next = s_.nodes[miss.index].edges[0].to;
  if (!find_ends(clause, miss, s_.regions[star.region.index].parent)) return false;
  for (BlockId e : clause.ends) note_appends(star, e);
  for (BlockId c : clause.collectors) {
    note_appends(star, c);
    note_appends(star, c);  // a second append has the first one's list
  }
  for (BlockId e : clause.ends)
    if (!hands_on_lists(star, e)) return false;
  for (BlockId c : clause.collectors)
    if (!hands_on_lists(star, c) || !is_collector(c, star.lists)) return false;
  star.clauses.push_back(clause);
  return true;
}

bool Regions::is_list(const Star& star, ValueId v) {
  return star.lists.count(s_.resolve(v).index) != 0;
}

bool Regions::is_append(const Star& star, ValueId v) {
  return s_.is_op(v, Op::LIST_APPEND) && is_list(star, s_.at(v).operands[0]);
}

void Regions::note_appends(Star& star, BlockId b) {
  for (ValueId v : s_.nodes[b.index].body)
    if (is_append(star, v)) star.lists[v.index] = 1;
}

bool Regions::hands_on_lists(const Star& star, BlockId b) {
  return std::ranges::all_of(s_.nodes[b.index].edges[0].args,
                             [&](ValueId v) { return is_list(star, v); });
}

void Regions::forget_list(const Star& star, BlockId b) {
  std::erase_if(s_.nodes[b.index].body,
                [&](ValueId v) { return is_append(star, v) || v == star.list; });
}

void Regions::rewrite_star_clause(const Star& star, const StarClause& clause, ValueId exception,
                                  BlockId behind) {
  Node& test = s_.nodes[clause.test.index];
  const ValueId is_none = s_.resolve(test.value), taken = s_.resolve(s_.at(is_none).operands[0]),
                split = s_.at(taken).operands[0];
  Value match;
  match.op = Op::EXC_MATCH;
  match.block = clause.test;
  match.offset = s_.at(split).offset;
  match.line = s_.at(split).line;
  match.columns = s_.at(split).columns;
  match.operands = s_.lifted.arena.copy(std::initializer_list<ValueId>{exception, clause.type});
  const ValueId id = s_.add_value(match);
  std::replace(test.body.begin(), test.body.end(), split, id);
  std::erase(test.body, is_none);
  forget_list(star, clause.first);
  test.value = id;
  test.edges[0] = Edge{clause.body, {}};
  test.edges[1] = Edge{clause.next, {}};
  s_[clause.first].params.clear();
  s_.replace_by(taken, exception);
  for (BlockId b : clause.ends) {
    forget_list(star, b);
    s_.nodes[b.index].edges[0] = Edge{behind, {}};
  }
  for (BlockId b : clause.collectors) {
    forget_list(star, b);
    Node& node = s_.nodes[b.index];
    for (std::size_t i = 0; i < s_.regions.size(); ++i) {
      if (s_.regions[i].handler != b || s_.regions[i].kind == RegionKind::Erased) continue;
      // one that unbinds the name as well looks like that of `except … as name`
      if (s_.are_constants(node.body)) erase(RegionId(static_cast<std::uint32_t>(i)));
    }
    node.term = TermKind::Reraise;
    node.value = caught_by(b);
  }
}

void Regions::rewrite_star_end(const Star& star, ValueId prepared, ValueId exception,
                               BlockId again) {
  Node& last = s_.nodes[star.end.index];
  Value drop;
  drop.op = Op::POP_TOP;
  drop.block = star.end;
  drop.operands = s_.lifted.arena.copy(std::initializer_list<ValueId>{prepared});
  std::erase_if(s_.nodes[again.index].body, [&](ValueId v) {
    return s_.is_op(v, Op::POP_EXCEPT);
  });  // raised from within the handler
  last.params.clear();
  last.body = {prepared, s_.add_value(drop)};
  last.value = prepared;
  s_.lifted.values[prepared.index].operands =
      s_.lifted.arena.copy(std::initializer_list<ValueId>{exception});
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
      if (first && !s_.is_exception_of(s_.resolve(value.operands[1]), b)) return false;
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
    if (!is_name_store(store.op) || !s_.is_exception_of(s_.resolve(store.operands[0]), handler))
      continue;
    std::vector<std::size_t> next;
    for (std::size_t j = k + 1; j < body.size() && next.size() < 2; ++j)
      if (!s_.is_const(body[j]) && !s_.is_op(body[j], Op::POP_EXCEPT) &&
          !s_.is_op(body[j], Op::POP_TOP))
        next.push_back(j);
    if (next.size() < 2) return;
    const Value &unbind = s_.at(body[next[0]]), &remove = s_.at(body[next[1]]);
    if (unbind.op != store.op || unbind.arg != store.arg || !deletes_stored(unbind, remove) ||
        !s_.is_const(s_.resolve(unbind.operands[0])))
      return;
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(next[1]));
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(next[0]));
    return;
  }
}

bool Regions::returns_value_before(const Node& node, std::size_t pop) const {
  if (node.term != TermKind::Return || !s_.is_const(node.value)) return false;
  if (!s_.are_constants(std::span(node.body).subspan(pop + 1))) return false;
  const Value& popped = s_.at(node.body[pop]);
  if (node.term_columns != 0 && node.term_columns == popped.columns &&
      node.term_line == popped.line && !s_.is_none(node.value))
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
        if (s_.regions[r.index].catches() && r != owner)
          reach(s_.regions[r.index].handler, depth + 1);
      if (clauses) forget_name(b, s_.regions[i].handler);
      bool left = false;
      for (std::size_t k = 0; k < s_.nodes[b.index].body.size() && !left; ++k) {
        const ValueId v = s_.nodes[b.index].body[k];
        if (s_.is_op(v, Op::END_ASYNC_FOR)) {  // ends its handler, without POP_EXCEPT
          left = --depth == 0;
          continue;
        }
        if (!s_.is_op(v, Op::POP_EXCEPT) || --depth > 0) continue;
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
