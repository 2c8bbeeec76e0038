// List, set and dict comprehensions that 3.12+ inlines (PEP 709): a loop in the middle of an expression, under a region whose handler restores
// the locals that the comprehension's own variables had hidden.
#include <algorithm>

#include "ast/comprehension.h"
#include "structure/graph.h"
#include "support/error.h"

namespace depyf {
namespace {

/// The values that LOAD_FAST_AND_CLEAR saved and the handler puts back; empty when the handler does anything else.
std::vector<ValueId> restored_values(Structurer& s, BlockId handler) {
  const Node& node = s.nodes[handler.index];
  std::vector<ValueId> saved;
  if (node.term != TermKind::Reraise) return saved;
  for (ValueId v : node.body) {
    if (!s.is_op(v, Op::STORE_FAST)) return {};
    ValueId stored = s.resolve(s.at(v).operands[0]);
    if (!s.is_op(stored, Op::LOAD_FAST_AND_CLEAR)) return {};
    saved.push_back(stored);
  }
  return saved;
}

}  // namespace

bool Structurer::fold_inlined_comprehension(RegionId r) {
  std::vector<ValueId> saved = restored_values(*this, regions[r.index].handler);
  if (saved.empty()) return false;
  const RegionId parent = regions[r.index].parent;
  // The one way in, and the one way out.
  BlockId before, entry_block, after;
  std::vector<BlockId> members;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].alive) continue;
    const BlockId b(static_cast<std::uint32_t>(i));
    const bool inside = is_ancestor(r, nodes[i].region);
    if (inside) members.push_back(b);
    for (int k = 0; k < nodes[i].edge_count(); ++k) {
      const BlockId to = nodes[i].edges[k].to;
      const bool to_inside = is_ancestor(r, nodes[to.index].region);
      if (inside == to_inside) continue;
      if (!inside) {
        if (before || nodes[i].term != TermKind::Jump) return false;
        before = b;
        entry_block = to;
      } else {
        if (after && after != to) return false;
        after = to;
      }
    }
  }
  if (!before || !after || !nodes[entry_block.index].params.empty() || !nodes[after.index].params.empty()) return false;
  // The collection, and the loop over the first iterable.
  ValueId collection, iterator;
  ExprKind kind = ExprKind::ListComp;
  for (ValueId v : nodes[entry_block.index].body) {
    const Value& value = at(v);
    if (value.kind != ValueKind::Operation || !value.operands.empty()) continue;
    if (value.op == Op::BUILD_LIST) kind = ExprKind::ListComp;
    else if (value.op == Op::BUILD_SET) kind = ExprKind::SetComp;
    else if (value.op == Op::BUILD_MAP) kind = ExprKind::DictComp;
    else continue;
    collection = v;
    break;
  }
  if (!collection) return false;
  BlockId header = nodes[entry_block.index].term == TermKind::Jump ? nodes[entry_block.index].edges[0].to : entry_block;
  if (nodes[header.index].term != TermKind::ForIter) return false;
  iterator = resolve(nodes[header.index].value);
  ValueId outer = iterator;
  if (std::find(members.begin(), members.end(), at(iterator).block) != members.end()) {
    if (!is_op(iterator, Op::GET_ITER) && !is_op(iterator, Op::GET_AITER)) return false;
    outer = resolve(at(iterator).operands[0]);
  }
  // Statements of the loop, up to its exit.
  std::vector<Node> kept_nodes;
  for (BlockId b : members) kept_nodes.push_back(nodes[b.index]);
  const BlockId stop(static_cast<std::uint32_t>(nodes.size()));
  Node end;
  end.region = parent;
  nodes.push_back(end);
  for (BlockId b : members) {
    Node& node = nodes[b.index];
    if (node.region == r) node.region = parent;
    for (int k = 0; k < node.edge_count(); ++k)
      if (node.edges[k].to == after) node.edges[k] = Edge{stop, {}};
  }
  std::vector<RegionId> kept_children;
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (regions[i].parent == r && regions[i].kind != RegionKind::Erased) {
      kept_children.push_back(RegionId(static_cast<std::uint32_t>(i)));
      regions[i].parent = parent;
    }
  const RegionKind kept_kind = regions[r.index].kind;
  regions[r.index].kind = RegionKind::Erased;
  const std::uint32_t kept_temporaries = temporaries;
  std::vector<BlockId> entries;
  for (StructRegion& region : regions) {
    entries.push_back(region.entry);
    region.entry = BlockId();
  }
  ExprId expression;
  const ExprId hole = ast.add(Expr{ExprKind::Raw, 0, UINT32_MAX, {}, {}, {}});
  const std::vector<StrId> kept_named = named;
  const std::vector<ExprId> kept_built = built;
  built[iterator.index] = built[outer.index] = hole;
  try {
    std::span<StmtId> statements = emit(entry_block, parent, stop);
    if (!statements.empty()) expression = comprehension_from_loop(ast, kind, statements.last(1));
    if (statements.size() > 2) expression = ExprId();
  } catch (const Error&) {
    expression = ExprId();
  }
  built = kept_built;
  named = kept_named;
  temporaries = kept_temporaries;
  for (std::size_t i = 0; i < regions.size(); ++i) regions[i].entry = entries[i];
  if (!expression) {
    for (std::size_t i = 0; i < members.size(); ++i) nodes[members[i].index] = kept_nodes[i];
    for (RegionId child : kept_children) regions[child.index].parent = r;
    regions[r.index].kind = kept_kind;
    nodes.pop_back();
    return false;
  }
  // One value in place of the loop.
  Select select;
  select.kind = Select::Prebuilt;
  select.rest = expression;
  const ValueId id = add_select(select, before, outer, collection);
  forward[collection.index] = id;
  auto is_saved = [&](ValueId v) { return std::find(saved.begin(), saved.end(), v) != saved.end(); };
  for (Node& node : nodes) {
    if (!node.alive) continue;
    std::erase_if(node.body, [&](ValueId v) { return is_saved(v) || (is_op(v, Op::STORE_FAST) && is_saved(resolve(at(v).operands[0]))); });
  }
  for (BlockId b : members) {
    nodes[b.index].alive = false;
    nodes[b.index].body.clear();
  }
  nodes[stop.index].alive = false;
  Node& handler = nodes[regions[r.index].handler.index];
  handler.alive = false;
  handler.body.clear();
  nodes[before.index].body.push_back(id);
  nodes[before.index].edges[0] = Edge{after, {}};
  return true;
}

/// True when there were some.
bool Structurer::fold_inlined_comprehensions() {
  for (bool folded = false;; folded = true) {
    bool any = false;
    // Innermost ones first: what they become is part of the expression of the next.
    std::vector<std::uint8_t> candidate(regions.size(), 0), has_inner(regions.size(), 0);
    for (std::size_t i = 0; i < regions.size(); ++i)
      candidate[i] = regions[i].kind == RegionKind::Finally && !restored_values(*this, regions[i].handler).empty();
    for (std::size_t i = 0; i < regions.size(); ++i)
      if (candidate[i])
        for (RegionId p = regions[i].parent; p && !has_inner[p.index]; p = regions[p.index].parent) has_inner[p.index] = 1;
    for (std::size_t i = 0; i < candidate.size(); ++i)
      if (candidate[i] && !has_inner[i]) any |= fold_inlined_comprehension(RegionId(static_cast<std::uint32_t>(i)));
    if (!any) return folded;
    count_uses();
    count_preds();
    thread_empty_blocks();
    merge_straight_lines();
    fold_expressions();
    count_uses();
    count_preds();
  }
}

}  // namespace depyf
