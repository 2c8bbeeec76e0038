// What statement each handler region is.
#include "structure/regions.h"
#include "structure/steps.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {

void Regions::erase(RegionId r) {
  s_.regions[r.index].kind = RegionKind::Erased;
  RegionId parent = s_.regions[r.index].parent;
  for (Node& node : s_.nodes)
    if (node.region == r) node.region = parent;
  for (StructRegion& child : s_.regions)
    if (child.parent == r) child.parent = parent;
}

void Regions::erase_implicit() {
  std::vector<std::uint8_t> gone(s_.regions.size(), 0);
  for (std::size_t i = 0; i < s_.regions.size(); ++i) {
    const StructRegion& region = s_.regions[i];
    const Node& h = s_.nodes[region.handler.index];
    if (h.term != TermKind::Reraise || !s_.is_exception_of(s_.resolve(h.value), region.handler))
      continue;
    bool pops = false, other = false;
    for (ValueId v : h.body) (s_.is_op(v, Op::POP_EXCEPT) ? pops : other) = true;
    if (pops && !other) gone[i] = 1;
  }
  erase_all(gone);
}

void Regions::leave_empty_entries() {
  std::vector<BlockId> entries;
  for (const StructRegion& region : s_.regions) {
    const Node& entry = s_.nodes[region.handler.index];
    const bool empty =
        entry.body.empty() && entry.term == TermKind::Jump && entry.edges[0].args.empty();
    if (empty && entry.region && s_.nodes[entry.edges[0].to.index].region == entry.region)
      entries.push_back(region.handler);
  }
  if (entries.empty()) return;
  std::vector<std::uint8_t> entered(s_.nodes.size(), 0);  // by block: from outside of its region
  for (const Node& node : s_.nodes)
    for (int k = 0; node.alive && k < node.edge_count(); ++k)
      entered[node.edges[k].to.index] |=
          !s_.is_ancestor(s_.nodes[node.edges[k].to.index].region, node.region);
  for (BlockId b : entries) {
    Node& entry = s_.nodes[b.index];
    if (entered[entry.edges[0].to.index]) entry.region = s_.regions[entry.region.index].parent;
  }
}

void Regions::erase_all(const std::vector<std::uint8_t>& gone) {
  auto outer = [&](RegionId r) {
    while (r && gone[r.index]) r = s_.regions[r.index].parent;
    return r;
  };
  for (Node& node : s_.nodes) node.region = outer(node.region);
  for (std::size_t i = 0; i < s_.regions.size(); ++i) {
    s_.regions[i].parent = outer(s_.regions[i].parent);
    if (gone[i]) s_.regions[i].kind = RegionKind::Erased;
  }
}

void Regions::sweep() {
  const std::vector<std::uint8_t> seen = s_.reached(true);
  bool any = false;
  for (std::size_t i = 0; i < s_.nodes.size(); ++i)
    if (!seen[i] && s_.nodes[i].alive) {
      any = true;
      s_.nodes[i].alive = false;
      s_.nodes[i].body.clear();
    }
  // a region that protects nothing any more
  SmallVector<std::uint8_t, 64> used(s_.regions.size());
  for (const Node& node : s_.nodes)
    if (node.alive)
      for (RegionId r = node.region; r && !used[r.index]; r = s_.regions[r.index].parent)
        used[r.index] = 1;
  for (std::size_t i = 0; i < s_.regions.size(); ++i)
    if (!used[i] && s_.regions[i].kind != RegionKind::Erased) {
      any = true;
      s_.regions[i].kind = RegionKind::Erased;
    }
  if (any) ++s_.changes;
}

bool Regions::tests_exception_of(BlockId b, BlockId handler) const {
  const Node& node = s_.nodes[b.index];
  const ValueId test = s_.resolve(node.value);
  return node.term == TermKind::Branch && s_.is_op(test, Op::EXC_MATCH) &&
         s_.is_exception_of(s_.resolve(s_.at(test).operands[0]), handler);
}

bool Regions::computes_type_first(BlockId handler) const {
  const Node& node = s_.nodes[handler.index];
  if (std::none_of(node.body.begin(), node.body.end(),
                   [&](ValueId v) { return s_.is_op(v, Op::LOAD_FAST_AND_CLEAR); }))
    return false;
  std::unordered_set<std::uint32_t> seen{handler.index};
  SmallVector<BlockId, 8> work{handler};
  while (!work.empty() && seen.size() < kMostHops) {
    const BlockId b = work.back();
    work.pop_back();
    if (tests_exception_of(b, handler)) return true;
    for (int k = 0; k < s_.nodes[b.index].edge_count(); ++k)
      if (const BlockId to = s_.nodes[b.index].edges[k].to; seen.insert(to.index).second)
        work.push_back(to);
  }
  return false;
}

void Regions::classify(RegionId r) {
  StructRegion& region = s_.regions[r.index];
  const BlockId h = region.handler;
  const Node& node = s_.nodes[h.index];
  for (ValueId v : node.body) {
    if (!s_.is_op(v, Op::WITH_EXCEPT_START)) continue;
    ValueId exit = s_.resolve(s_.at(v).operands[0]);
    const Value& function = s_.at(exit);
    if (function.kind != ValueKind::Result) break;
    region.with_enter = function.operands[0];
    region.async = s_.is_op(region.with_enter, Op::ASYNC_WITH_ENTER);
    if (!region.async && !s_.is_op(region.with_enter, Op::WITH_ENTER)) break;
    region.kind = RegionKind::With;
    return;
  }
  // except: a chain of tests of the exception, or the exception thrown away at once
  const ValueId first_effect = s_.first_effect(node);
  const bool tests = tests_exception_of(h, h) || computes_type_first(h);
  bool dropped = s_.is_op(first_effect, Op::POP_TOP) &&
                 s_.is_exception_of(s_.resolve(s_.at(first_effect).operands[0]), h);
  region.kind = (tests || dropped) && !s_.lifted.regions[r.index].cleanup ? RegionKind::Except
                                                                          : RegionKind::Finally;
}

void classify_regions(StructureGraph& s) {
  Regions regions_step(s);
  regions_step.erase_implicit();
  regions_step.leave_empty_entries();
  regions_step.sweep();
  fold_exception_types(s);
  for (std::size_t i = 0; i < s.regions.size(); ++i)
    if (s.regions[i].kind != RegionKind::Erased)
      regions_step.recognise_star(RegionId(static_cast<std::uint32_t>(i)));
  if (std::any_of(s.regions.begin(), s.regions.end(),
                  [](const StructRegion& region) { return region.is_star(); }))
    regions_step.sweep();
  for (std::size_t i = 0; i < s.regions.size(); ++i)
    if (s.regions[i].kind == RegionKind::Unclassified)
      regions_step.classify(RegionId(static_cast<std::uint32_t>(i)));
  for (std::size_t i = 0; i < s.regions.size(); ++i)
    if (s.regions[i].kind == RegionKind::Finally)
      s.regions[i].unbinds = regions_step.unbinds_name(RegionId(static_cast<std::uint32_t>(i)));
  regions_step.scope_handlers();
  for (Node& node : s.nodes)
    if (node.alive)
      std::erase_if(node.body, [&](ValueId v) {
        return s.is_op(v, Op::POP_EXCEPT) ||
               (s.is_op(v, Op::POP_TOP) &&
                s.at(s.resolve(s.at(v).operands[0])).kind == ValueKind::Exception);
      });
  s.recount();
}

}  // namespace depyf
