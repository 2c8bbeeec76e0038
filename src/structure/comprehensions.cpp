// List, set and dict comprehensions that 3.12+ inlines (PEP 709): a loop in the middle of an
// expression, under a region whose handler restores the locals that the comprehension's own
// variables had hidden.
#include <algorithm>

#include "ast/comprehension.h"
#include "structure/graph.h"
#include "support/error.h"

namespace depyf {
namespace {

/// The values that LOAD_FAST_AND_CLEAR saved and the handler puts back; empty when the handler does
/// anything else.
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

/// What a scan of the graph finds of one comprehension: its blocks, the one way in, and the one way
/// out.
struct Extent {
  std::vector<BlockId> members;
  BlockId before, entry, after;
  bool one_way = true;
};

/// While it lives, the graph is a comprehension's blocks alone, so that what is done with them
/// costs no more than they are. Copies: the blocks themselves stay as they were. The way out leads
/// to `stop()`.
class Excerpt {
 public:
  Excerpt(Structurer& s, const Extent& extent) : s_(s), entry_(s.entry) {
    std::vector<Node> copies;
    for (BlockId b : extent.members) copies.push_back(s.nodes[b.index]);
    copies.emplace_back();
    nodes_.swap(s.nodes);
    regions_.swap(s.regions);
    s.nodes.swap(copies);
    s.entry = BlockId();
    for (Node& node : s.nodes) {
      node.region = RegionId();
      for (int k = 0; k < node.edge_count(); ++k)
        node.edges[k] =
            node.edges[k].to == extent.after
                ? Edge{stop(), {}}
                : Edge{place(extent, node.edges[k].to), node.edges[k].args, node.edges[k].written};
    }
  }
  ~Excerpt() {
    s_.nodes.swap(nodes_);
    s_.regions.swap(regions_);
    s_.entry = entry_;
  }
  Excerpt(const Excerpt&) = delete;

  BlockId stop() const { return BlockId(static_cast<std::uint32_t>(s_.nodes.size() - 1)); }
  static BlockId place(const Extent& extent, BlockId b) {  // the members are in order
    return BlockId(static_cast<std::uint32_t>(
        std::lower_bound(extent.members.begin(), extent.members.end(), b) -
        extent.members.begin()));
  }

 private:
  Structurer& s_;
  BlockId entry_;
  std::vector<Node> nodes_;
  std::vector<StructRegion> regions_;
};

/// Replaces the comprehension by one value; false where it is none.
bool fold(Structurer& s, const Extent& extent) {
  const auto& [members, before, entry, after, one_way] = extent;
  if (!one_way || !before || !after || !s[before].alive || !s[entry].params.empty() ||
      !s[after].params.empty())
    return false;
  // The collection, and the loop over the first iterable.
  ValueId collection;
  ExprKind kind = ExprKind::ListComp;
  for (ValueId v : s[entry].body) {
    const Value& value = s.at(v);
    if (value.kind != ValueKind::Operation || !value.operands.empty()) continue;
    if (value.op == Op::BUILD_LIST)
      kind = ExprKind::ListComp;
    else if (value.op == Op::BUILD_SET)
      kind = ExprKind::SetComp;
    else if (value.op == Op::BUILD_MAP)
      kind = ExprKind::DictComp;
    else
      continue;
    collection = v;
    break;
  }
  if (!collection) return false;
  const BlockId header = s[entry].term == TermKind::Jump ? s[entry].edges[0].to : entry;
  if (s[header].term != TermKind::ForIter) return false;
  const ValueId iterator = s.resolve(s[header].value);
  ValueId outer = iterator;
  if (std::binary_search(members.begin(), members.end(), s.at(iterator).block)) {
    if (!s.is_op(iterator, Op::GET_ITER) && !s.is_op(iterator, Op::GET_AITER)) return false;
    outer = s.resolve(s.at(iterator).operands[0]);
  }
  // Statements of the loop, up to its exit.
  std::vector<std::pair<ValueId, ExprId>> kept_built{{iterator, s.known(iterator).built},
                                                     {outer, s.known(outer).built}};
  for (BlockId b : members) {
    for (ValueId v : s[b].body) kept_built.emplace_back(v, s.known(v).built);
    for (ValueId v : s[b].params) kept_built.emplace_back(v, s.known(v).built);
    if (s[b].item) kept_built.emplace_back(s[b].item, s.known(s[b].item).built);
  }
  const std::uint32_t kept_temporaries = s.temporaries;
  const std::size_t kept_named = s.named_values.size();
  const ExprId hole = s.ast.expr(ExprKind::Raw, {});
  s.note(iterator).built = hole;
  s.note(outer).built = hole;
  ExprId expression;
  try {
    const Excerpt excerpt(s, extent);
    std::span<StmtId> statements =
        s.emit(Excerpt::place(extent, entry), RegionId(), excerpt.stop());
    if (!statements.empty() && statements.size() <= 2)
      expression = comprehension_from_loop(s.ast, kind, statements.last(1));
  } catch (const Error&) {
    expression = ExprId();
  }
  for (const auto& [value, built] : kept_built)
    if (s.known(value).built != built) s.note(value).built = built;
  s.forget_temporaries(kept_named, kept_temporaries);
  if (!expression) return false;
  // One value in place of the loop.
  Select select;
  select.kind = Select::Prebuilt;
  select.rest = expression;
  const ValueId id = s.add_select(select, before, outer, collection);
  s.replace_by(collection, id);
  for (BlockId b : members) {
    s[b].alive = false;
    s[b].body.clear();
  }
  s[before].body.push_back(id);
  s[before].edges[0] = Edge{after, {}};
  return true;
}

}  // namespace

void Structurer::fold_inlined_comprehensions() {
  for (bool any = !regions.empty(); any;) {
    // Innermost ones first: what they become is part of the expression of the next.
    std::vector<std::vector<ValueId>> saved(regions.size());
    std::vector<std::uint8_t> has_inner(regions.size(), 0);
    for (std::size_t i = 0; i < regions.size(); ++i)
      if (regions[i].kind == RegionKind::Finally)
        saved[i] = restored_values(*this, regions[i].handler);
    for (std::size_t i = 0; i < regions.size(); ++i)
      if (regions[i].kind != RegionKind::Erased)
        for (RegionId p = regions[i].parent; p && !has_inner[p.index]; p = regions[p.index].parent)
          has_inner[p.index] = 1;
    std::vector<RegionId> comprehension_of(
        regions.size());  // by region: the innermost comprehension around it
    for (std::size_t i = 0; i < regions.size(); ++i) {
      RegionId r(static_cast<std::uint32_t>(i));
      while (r && (saved[r.index].empty() || has_inner[r.index])) r = regions[r.index].parent;
      comprehension_of[i] = r;
    }
    const auto around = [&](BlockId b) {
      return nodes[b.index].region ? comprehension_of[nodes[b.index].region.index] : RegionId();
    };
    std::vector<std::uint8_t> inside(nodes.size(), 0);
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
      inside[i] = static_cast<bool>(around(BlockId(i)));
    if (std::find(inside.begin(), inside.end(), 1) == inside.end()) return;
    fold_expressions(&inside);  // conditions, to find statements as those of a loop
    std::vector<Extent> extents(regions.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const BlockId b(i);
      if (!nodes[i].alive) continue;
      const RegionId from = around(b);
      if (from) extents[from.index].members.push_back(b);
      for (int k = 0; k < nodes[i].edge_count(); ++k) {
        const BlockId to = nodes[i].edges[k].to;
        const RegionId into = around(to);
        if (from == into) continue;
        if (into) {
          Extent& extent = extents[into.index];
          extent.one_way &= !extent.before && nodes[i].term == TermKind::Jump;
          extent.before = b;
          extent.entry = to;
        }
        if (from) {
          Extent& extent = extents[from.index];
          extent.one_way &= !extent.after || extent.after == to;
          extent.after = to;
        }
      }
    }
    any = false;
    std::vector<std::uint8_t> restored(lifted.values.size(), 0);
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (comprehension_of[i].index != i || !fold(*this, extents[i])) continue;
      any = true;
      for (ValueId v : saved[i]) restored[v.index] = 1;
      Node& handler = nodes[regions[i].handler.index];
      handler.alive = false;
      handler.body.clear();
      regions[i].kind = RegionKind::Erased;
    }
    if (!any) return;
    const auto of_restored = [&](ValueId v) {
      if (is_op(v, Op::STORE_FAST)) v = resolve(at(v).operands[0]);
      return v.index < restored.size() && restored[v.index] != 0;
    };
    for (Node& node : nodes)
      if (node.alive) std::erase_if(node.body, of_restored);
    recount();
    tidy_jumps();
    recount();
  }
}

}  // namespace depyf
