// Where code that nothing reaches tells what stands behind a statement.
#include <algorithm>

#include "structure/graph.h"
#include "support/error.h"
#include "support/small_vector.h"

namespace depyf {

/// Finds the blocks that stand behind statements where the bytecode tells (see Region::after,
/// LoopSpan::after), and makes an empty one where the code there is reached from nowhere.
void Structurer::mark_statement_ends() {
  const bool regions_tell = std::any_of(lifted.regions.begin(), lifted.regions.end(),
                                        [](const Region& r) { return r.after != kNoOffset; });
  const bool loops_tell = std::any_of(lifted.loops.begin(), lifted.loops.end(),
                                      [](const LoopSpan& l) { return l.after != kNoOffset; });
  if (!regions_tell && !loops_tell && lifted.elses.empty()) return;
  if (!counted())
    recount();  // which takes away what would stand before a statement and does nothing
  struct Begin {
    std::uint32_t offset;
    BlockId block;
    auto operator<=>(const Begin&) const = default;
  };
  std::vector<Begin> begins;  // of blocks, sorted
  const auto begin_at = [&](std::uint32_t offset) {
    const auto first =
        std::lower_bound(begins.begin(), begins.end(), offset,
                         [](const Begin& begin, std::uint32_t at) { return begin.offset < at; });
    const auto behind = std::find_if(first, begins.end(),
                                     [&](const Begin& begin) { return begin.offset != offset; });
    return std::span<const Begin>(first, behind);
  };
  struct Place {
    bool known = false;
    BlockId block;
    ValueId value;
  };
  std::vector<Place> places(module[lifted.code].code.size() / 2 +
                            1);  // by offset: where its code is
  const auto place_at = [&](std::uint32_t offset) -> Place* {
    return offset / 2 < places.size() ? &places[offset / 2] : nullptr;
  };
  const auto add_place = [&](std::uint32_t offset, BlockId block, ValueId value) {
    if (Place* place = place_at(offset); place && !place->known) *place = {true, block, value};
  };
  const auto is_known = [&](std::uint32_t offset) {
    return place_at(offset) && place_at(offset)->known;
  };
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> setups;
  std::unordered_map<std::uint32_t, BlockId> iterates;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (!node.alive) continue;
    const BlockId b(static_cast<std::uint32_t>(i));
    begins.push_back({first_offset(b), b});
    if (node.term == TermKind::ForIter && !iterates.emplace(node.term_offset, b).second)
      iterates[node.term_offset] = BlockId();  // copies
    for (ValueId v : node.body) add_place(at(v).offset, b, v);
    add_place(node.term_offset, BlockId(), ValueId());
  }
  std::sort(begins.begin(), begins.end());
  auto alone_at = [&](std::uint32_t offset) {
    const auto begin = begin_at(offset);
    return begin.size() == 1 ? begin[0].block : BlockId();
  };
  // where each region is entered
  std::vector<BlockId> entered(regions.size());
  for (RegionId r = nodes[entry.index].region; r; r = regions[r.index].parent)
    entered[r.index] = entry;
  for (const Node& node : nodes) {
    if (!node.alive) continue;
    for (int k = 0; k < node.edge_count(); ++k)
      for (RegionId r = nodes[node.edges[k].to.index].region; r && !is_ancestor(r, node.region);
           r = regions[r.index].parent)
        entered[r.index] = node.edges[k].to;
  }
  for (std::uint32_t r = 0; r < lifted.regions.size(); ++r)
    if (lifted.regions[r].setup != kNoOffset && entered[r])
      setups[lifted.regions[r].setup].push_back(r);
  std::unordered_map<std::uint64_t, BlockId> made;
  // the block at an offset, for a statement in region `around`
  auto find = [&](std::uint32_t after, RegionId around) {
    BlockId found;
    bool known = is_known(after);
    if (auto setup = setups.find(after); setup != setups.end()) {
      known = true;
      for (std::uint32_t q : setup->second)
        if (is_ancestor(regions[q].parent, around)) found = entered[q];
    } else {
      for (const Begin& begin : begin_at(after))
        if (is_ancestor(nodes[begin.block.index].region, around)) found = begin.block;
    }
    if (!found && is_known(after) && place_at(after)->value && setups.find(after) == setups.end()) {
      // in the middle of a block, because nothing else leads there: the block is split, so that the
      // statement's end can be named
      const auto [in_code, b, v] = *place_at(after);
      Node& node = nodes[b.index];
      auto place = std::find(node.body.begin(), node.body.end(), v);
      if (place == node.body.end() || place == node.body.begin() || node.match != UINT32_MAX ||
          !is_ancestor(node.region, around))
        return found;
      for (auto p = place; p != node.body.end(); ++p)
        for (ValueId operand : at(*p).operands)
          if (std::find(node.body.begin(), place, resolve(operand)) != place)
            return found;  // no statement begins here
      if (node.value && std::find(node.body.begin(), place, resolve(node.value)) != place)
        return found;
      found = split_test(b, static_cast<std::size_t>(node.body.end() - place));
      const Begin begin{after, found};
      begins.insert(std::upper_bound(begins.begin(), begins.end(), begin), begin);
      for (ValueId moved : nodes[found.index].body)
        if (Place* moved_to = place_at(at(moved).offset)) *moved_to = {true, found, moved};
    }
    if (found || known) return found;
    BlockId& made_here = made[(std::uint64_t{after} << 32) | (around ? around.index : UINT32_MAX)];
    if (!made_here) {
      Node nothing;
      nothing.term = TermKind::Unreachable;
      nothing.term_offset = after;
      nothing.region = around;
      made_here = BlockId(static_cast<std::uint32_t>(nodes.size()));
      nodes.push_back(nothing);
      ++changes;
    }
    return made_here;
  };
  for (const ElseSpan& span : lifted.elses) {
    const BlockId begin = alone_at(span.begin);
    if (!begin) continue;
    BlockId& behind = elses[span.begin];
    behind = alone_at(span.end);
    if (!behind && begin_at(span.end).empty() && is_known(span.end))
      behind = find(span.end, nodes[begin.index].region);
  }
  ends_behind.assign(regions.size(), BlockId());
  for (std::uint32_t r = 0; r < lifted.regions.size(); ++r)
    if (lifted.regions[r].after != kNoOffset &&
        (regions[r].kind == RegionKind::Except || regions[r].kind == RegionKind::Finally))
      ends_behind[r] = find(lifted.regions[r].after, regions[r].parent);
  loops_behind.assign(lifted.loops.size(), BlockId());
  for (std::size_t i = 0; i < lifted.loops.size(); ++i) {
    const LoopSpan& loop = lifted.loops[i];
    if (loop.after == kNoOffset) continue;
    RegionId around;
    if (auto setup = setups.find(loop.begin); setup != setups.end()) {
      if (setup->second.size() != 1) continue;  // copies
      around = regions[setup->second[0]].parent;
    } else if (auto iterator = iterates.find(loop.begin);
               iterator != iterates.end() && iterator->second) {
      around = nodes[iterator->second.index].region;
    } else {
      const BlockId begin = alone_at(loop.begin);
      if (!begin) continue;
      around = nodes[begin.index].region;
    }
    loops_behind[i] = find(loop.after, around);
  }
}

}  // namespace depyf
