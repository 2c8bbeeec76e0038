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
#include "structure/copies.h"
#include "structure/jumps.h"
#include "structure/steps.h"
#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {

/// Does a way out of a `with` lead elsewhere than a swallowed exception does? Then it is that of a
/// jump statement in the body, where several ways may meet.
bool Regions::leads_elsewhere(const Node& node, RegionId r) const {
  const StructRegion& region = s_.regions[r.index];
  const Node& handler = s_.nodes[region.handler.index];
  if (node.term != TermKind::Jump || node.region != region.parent ||
      handler.term != TermKind::Branch)
    return false;
  const auto is_empty = [&](const Node& empty) { return s_.are_quiet(empty.body); };
  if (!is_empty(node)) return false;
  const BlockId to = past_jumps(s_, node.edges[0].to, is_empty),
                swallowed = past_jumps(s_, handler.edges[0].to, is_empty);
  const Node& behind = s_.nodes[to.index];
  const bool returns = behind.term == TermKind::Return && is_empty(behind);
  const auto row = [&](BlockId b) {
    const Node& first = s_.nodes[b.index];
    return first.body.empty() ? first.term_line : s_.at(first.body.front()).line;
  };
  // copies of what follows the statement have one row
  return !returns && to != swallowed && (row(to) != row(swallowed) || row(to) <= 0);
}

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
    if (node.pred_count > 1 && leads_elsewhere(node, r)) {
      node.region = r;
      node.jump = JumpRole::Break;  // or a `continue`: kept apart
    }
  };
  if (region.async)
    for (Node& node : s_.nodes) strip(node);
  else if (auto found = exit_calls_.find(region.with_enter.index); found != exit_calls_.end())
    for (BlockId b : found->second) strip(s_.nodes[b.index]);
}

BlockId Regions::split(Position p) {
  if (p.at == 0) return p.block;
  const BlockId id = s_.split_off(p.block, p.at);
  s_[id].pred_count = 0;
  return id;
}

ValueId Regions::left_for_return(const Node& node) const {
  if (node.term != TermKind::Jump || !s_.is_function()) return {};
  for (RegionId p = node.region; p; p = s_.regions[p.index].parent)
    if (s_.regions[p.index].kind == RegionKind::Scope &&
        s_.regions[s_.regions[p.index].owner.index].is_star())
      return {};  // no clause of except* returns
  const auto last = std::find_if(node.body.rbegin(), node.body.rend(), [&](ValueId v) {
    return !s_.is_op(v, Op::POP_EXCEPT) && !s_.is_op(v, Op::POP_TOP);
  });
  if (last == node.body.rend() || s_.uses[last->index] != 0 || s_.at(*last).dropped ||
      yields_no_value(s_.at(*last).op, s_.at(*last).aux))
    return {};
  return *last;
}

void Regions::move_differing_parameters(std::span<const BlockId> ways, WayOut& way) {
  const BlockId copy = way.copy, after = way.after;
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
  for (const Node& node : s_.nodes)
    for (int k = 0; node.alive && k < node.edge_count(); ++k) edges -= node.edges[k].to == copy;
  if (edges != 0) {  // the copy stays for a way from elsewhere
    way.handed_on = hand_on_parameters(copy, after);
    return;
  }
  if (!differ) return;
  to.params = std::move(from.params);
  from.params.clear();
}

bool Regions::hand_on_parameters(BlockId copy, BlockId after) {
  if (s_[after].term != TermKind::Return) return false;
  for (const ValueId param : std::vector<ValueId>(s_[copy].params)) {
    const ValueId own = s_.add_param(after);
    const auto take_over = [&](ValueId& v) {
      if (!v || s_.resolve(v) != param) return;
      v = own;
      ++s_.uses[own.index];
      --s_.uses[param.index];
    };
    for (ValueId v : s_[after].body)
      for (ValueId& operand : s_.lifted.values[v.index].operands) take_over(operand);
    take_over(s_[after].value);
    s_[after].params.push_back(own);
  }
  for (Node& node : s_.nodes)
    for (int k = 0; node.alive && k < node.edge_count(); ++k) {
      if (node.edges[k].to != after) continue;
      node.edges[k].args = s_.lifted.arena.copy(s_[copy].params);
      for (ValueId param : s_[copy].params) ++s_.uses[param.index];
    }
  return true;
}

bool Regions::strip_finally(RegionId r) {
  std::vector<BlockId> protects;
  for (std::vector<RegionId> within{r}; !within.empty();) {
    const std::uint32_t at = within.back().index;
    within.pop_back();
    protects.insert(protects.end(), protected_[at].begin(), protected_[at].end());
    within.insert(within.end(), children_[at].begin(), children_[at].end());
  }
  std::sort(protects.begin(), protects.end());
  std::vector<WayOut> ways;
  if (!find_ways_out(r, protects, ways)) {
    if (!take_in_ways_back(r, protects)) return false;
    ways.clear();
    if (!find_ways_out(r, protects, ways)) return false;
  }
  for (WayOut& way : ways)
    if (way.completes) move_differing_parameters(protects, way);
  keep_continues(r, protects, ways);
  for (BlockId b : protects)
    for (int k = 0; s_[b].alive && k < s_[b].edge_count(); ++k) {
      if (inside(s_[b].edges[k].to, r)) continue;
      const auto way = std::find_if(ways.begin(), ways.end(), [&](const WayOut& one) {
        return one.copy == s_[b].edges[k].to;
      });
      if (way != ways.end()) lead_past_copy(b, k, *way);
    }
  return true;
}

void Regions::keep_continues(RegionId r, std::span<const BlockId> protects,
                             std::span<const WayOut> ways) {
  if (s_.regions[r.index].unbinds || ways.size() < 2) return;
  struct Source {
    RegionId region;
    bool any = false, one_region = true;
    bool handled = false, all_handled = true;  // out of an `except` clause inside
  };
  std::vector<Source> sources(ways.size());
  for (BlockId b : protects)
    for (int k = 0; s_[b].alive && k < s_[b].edge_count(); ++k)
      for (std::size_t i = 0; i < ways.size(); ++i) {
        if (ways[i].copy != s_[b].edges[k].to) continue;
        Source& source = sources[i];
        source.one_region &= !source.any || source.region == s_[b].region;
        source.region = s_[b].region;
        source.any = true;
        bool handled = false;
        for (RegionId at = s_[b].region; at && at != r; at = s_.regions[at.index].parent)
          handled |= s_.regions[at.index].kind == RegionKind::Scope;
        source.handled |= handled;
        source.all_handled &= handled;
      }
  std::uint32_t end = 0;  // of the statement's body, with its copy
  for (std::size_t i = 0; i < ways.size(); ++i)
    if (ways[i].completes && !sources[i].all_handled)
      end = std::max(end, s_.first_offset(ways[i].copy));
  std::uint32_t begin = UINT32_MAX;
  for (BlockId b : protects)
    if (s_[b].alive) begin = std::min(begin, s_.first_offset(b));
  const auto is_jump = [&](const Node& node) {
    return node.term == TermKind::Jump && node.match == UINT32_MAX && s_.are_quiet(node.body) &&
           (node.jump == JumpRole::Plain || node.jump == JumpRole::Continue);
  };
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const WayOut& way = ways[i];
    if (!way.completes || sources[i].handled || !sources[i].one_region || way.copy == way.after ||
        !s_[way.after].params.empty() || !s_[way.copy].params.empty())
      continue;
    const bool written = s_[way.after].jump == JumpRole::Continue;
    if (!written && s_.first_offset(way.copy) >= end) continue;
    const BlockId to = past_jumps(s_, way.after, is_jump);
    if (s_.first_offset(to) > begin) continue;
    Node jump;
    jump.region = sources[i].region;
    if (written)
      jump.take_position(s_[way.after]);
    else
      jump.term_offset = s_.first_offset(way.copy);
    jump.jump_to(way.after);
    jump.jump = JumpRole::Continue;
    const BlockId id = s_.add_node(jump);
    for (BlockId b : protects)
      for (int k = 0; s_[b].alive && k < s_[b].edge_count(); ++k)
        if (s_[b].edges[k].to == way.copy) s_[b].edges[k] = Edge{id, {}};
  }
}

bool Regions::take_in_ways_back(RegionId r, std::span<const BlockId> protects) {
  const auto leads_back = [&](BlockId b) {
    const Node& node = s_[b];
    if (inside(b, r) || node.behind_copy || node.term != TermKind::Jump || !node.body.empty() ||
        node.match != UINT32_MAX || !inside(node.edges[0].to, r))
      return false;
    return std::ranges::all_of(s_.nodes, [&](const Node& from) {
      if (!from.alive || s_.is_ancestor(r, from.region)) return true;
      for (int k = 0; k < from.edge_count(); ++k)
        if (from.edges[k].to == b) return false;
      return true;
    });
  };
  bool any = false;
  for (BlockId b : protects)
    for (int k = 0; s_[b].alive && k < s_[b].edge_count(); ++k)
      if (const BlockId to = s_[b].edges[k].to; leads_back(to)) {
        s_[to].region = r;
        any = true;
      }
  return any;
}

BlockId Regions::jump_back(Position to, BlockId from, RegionId r) {
  // Only a loop that begins with the statement leads there, and it begins with a block.
  if (to.at != 0 || !s_[to.block].params.empty())
    throw Error("structure: a `finally` leads back into its statement");
  Node jump;
  jump.region = s_.regions[r.index].parent;
  jump.term_offset = s_.first_offset(from);
  jump.jump_to(to.block);
  return s_.add_node(jump);
}

bool Regions::find_ways_out(RegionId r, std::span<const BlockId> protects,
                            std::vector<WayOut>& ways) {
  const StructRegion& region = s_.regions[r.index];
  for (BlockId b : protects)
    for (int k = 0; s_[b].alive && k < s_[b].edge_count(); ++k) {
      const BlockId to = s_[b].edges[k].to;
      if (!inside(to, r) &&
          std::none_of(ways.begin(), ways.end(), [&](const WayOut& w) { return w.copy == to; }))
        ways.push_back({to, BlockId(), false});
    }
  std::vector<Position> behind;
  for (WayOut& way : ways) {
    FinallyCopy copy(s_, region.handler, region.scope ? region.scope : region.parent);
    if (!copy.match(way.copy)) return false;
    behind.push_back(copy.behind());
    way.completes = behind.back().block.valid();
  }
  BlockId never;  // after a body of `finally` that never completes: one place for all ways out
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (!ways[i].completes) {
      if (!never) {
        Node nothing;
        nothing.region = region.parent;
        nothing.term_offset = s_[ways[i].copy].term_offset;
        never = s_.add_node(nothing);
      }
      ways[i].after = never;
      continue;
    }
    if (inside(behind[i].block, r)) behind[i] = {jump_back(behind[i], ways[i].copy, r), 0};
    const BlockId after = ways[i].after = split(behind[i]);
    s_[after].behind_copy = true;
    // a later copy may end in the block that was just split
    for (std::size_t j = i + 1; j < ways.size(); ++j)
      if (behind[j].block == behind[i].block && behind[j].at >= behind[i].at && behind[i].at != 0)
        behind[j] = {after, behind[j].at - behind[i].at};
  }
  return true;
}

void Regions::lead_past_copy(BlockId b, int k, const WayOut& way) {
  Node& node = s_[b];
  Edge& edge = node.edges[k];
  if (!way.completes) {
    if (const ValueId v = left_for_return(node)) {
      node.term = TermKind::Return;
      node.value = v;
      return;
    }
  }
  const Node &copy = s_[way.copy], &after = s_[way.after];
  if (edge.args.size() < copy.params.size())
    throw Error("structure: a way into the copy of a `finally` body hands on too few values");
  if (way.copy == way.after) return;
  // values handed to the copy and used after it
  for (std::size_t p = 0; p < copy.params.size() && !way.handed_on; ++p) {
    const ValueId param = copy.params[p], given = s_.resolve(edge.args[p]);
    if (s_.resolve(param) == given) continue;  // also the parameter itself, around a loop
    if (s_.is_replaced(param))
      throw Error(
          "structure: several ways into one copy of a `finally` body hand on different values");
    s_.replace_by(param, given);
  }
  const std::size_t wanted = after.params.size();
  if (wanted > 0 && wanted != edge.args.size())
    throw Error(
        "structure: the code after a copy of a `finally` body wants other values than the way into "
        "the copy has");
  edge =
      Edge{way.after, wanted == edge.args.size() ? edge.args : std::span<ValueId>(), edge.written};
}

bool Regions::unbinds_name(RegionId r) const {
  const Node& h = s_.nodes[s_.regions[r.index].handler.index];
  if (h.term != TermKind::Reraise ||
      !s_.is_exception_of(s_.resolve(h.value), s_.regions[r.index].handler))
    return false;
  std::vector<ValueId> ops;
  for (ValueId v : h.body)
    if (!is_quiet(v)) ops.push_back(v);
  if (ops.size() != 2) return false;
  const Value &store = s_.at(ops[0]), &remove = s_.at(ops[1]);
  if (!deletes_stored(store, remove)) return false;
  ValueId stored = store.operands[0];
  if (!s_.is_none(stored)) return false;
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
      if (!between.is_plain_jump() || !quiet(between)) break;
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
    node.take_position(end);
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
    if (!cleans_up(region.kind)) continue;
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
      continue;
    }
    // Shown as `except` it would run what follows outside of the handler.
    if (!strip_finally(r)) throw Error("structure: the copies of a `finally` body differ");
    if (s_.regions[r.index].unbinds) erase(r);
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

void strip_cleanups(StructureGraph& s) { Regions(s).run(); }

}  // namespace depyf
