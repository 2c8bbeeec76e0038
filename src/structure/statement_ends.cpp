// Where code that nothing reaches tells what follows a statement (see Region::after,
// LoopSpan::after): an empty block stands for code that is reached from nowhere.
#include <algorithm>
#include <unordered_map>

#include "structure/graph.h"
#include "structure/steps.h"

namespace depyf {

namespace {

class StatementEndFinder {
 public:
  explicit StatementEndFinder(StructureGraph& s)
      : s_(s), places_(s.module[s.lifted.code].code.size() / 2 + 1), entered_(s.regions.size()) {
    index_offsets();
    find_entries();
  }

  void mark_elses() {
    for (const ElseSpan& span : s_.lifted.elses) {
      const BlockId begin = alone_at(span.begin);
      if (!begin) continue;
      BlockId& behind = s_.ends.of_elses[span.begin];
      behind = alone_at(span.end);
      if (!behind && begin_at(span.end).empty() && is_known(span.end))
        behind = find(span.end, s_.nodes[begin.index].region);
    }
  }

  void mark_regions() {
    const std::vector<Region>& regions = s_.lifted.regions;
    s_.ends.of_regions.assign(s_.regions.size(), BlockId());
    for (std::uint32_t r = 0; r < regions.size(); ++r)
      if (regions[r].after != kNoOffset &&
          (s_.regions[r].kind == RegionKind::Except || s_.regions[r].kind == RegionKind::Finally))
        s_.ends.of_regions[r] = find(regions[r].after, s_.regions[r].parent);
  }

  void mark_loops() {
    const std::vector<LoopSpan>& loops = s_.lifted.loops;
    s_.ends.of_loops.assign(loops.size(), BlockId());
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (loops[i].after == kNoOffset) continue;
      RegionId around;
      if (const auto setup = setups_.find(loops[i].begin); setup != setups_.end()) {
        if (setup->second.size() != 1) continue;  // copies
        around = s_.regions[setup->second[0]].parent;
      } else if (const auto iterator = iterates_.find(loops[i].begin);
                 iterator != iterates_.end() && iterator->second) {
        around = s_.nodes[iterator->second.index].region;
      } else {
        const BlockId begin = alone_at(loops[i].begin);
        if (!begin) continue;
        around = s_.nodes[begin.index].region;
      }
      s_.ends.of_loops[i] = find(loops[i].after, around);
    }
  }

 private:
  struct Begin {
    std::uint32_t offset;
    BlockId block;
    auto operator<=>(const Begin&) const = default;
  };
  struct Place {
    bool known = false;
    BlockId block;
    ValueId value;
  };

  void index_offsets() {
    for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
      const Node& node = s_.nodes[i];
      if (!node.alive) continue;
      const BlockId b(static_cast<std::uint32_t>(i));
      begins_.push_back({s_.first_offset(b), b});
      if (node.term == TermKind::ForIter && !iterates_.emplace(node.term_offset, b).second)
        iterates_[node.term_offset] = BlockId();  // copies
      for (ValueId v : node.body) add_place(s_.at(v).offset, b, v);
      add_place(node.term_offset, BlockId(), ValueId());
    }
    std::sort(begins_.begin(), begins_.end());
  }

  /// Where each region is entered, and which regions each SETUP_FINALLY begins.
  void find_entries() {
    for (RegionId r = s_.nodes[s_.entry.index].region; r; r = s_.regions[r.index].parent)
      entered_[r.index] = s_.entry;
    for (const Node& node : s_.nodes) {
      if (!node.alive) continue;
      for (int k = 0; k < node.edge_count(); ++k)
        for (RegionId r = s_.nodes[node.edges[k].to.index].region;
             r && !s_.is_ancestor(r, node.region); r = s_.regions[r.index].parent)
          entered_[r.index] = node.edges[k].to;
    }
    for (std::uint32_t r = 0; r < s_.lifted.regions.size(); ++r)
      if (s_.lifted.regions[r].setup != kNoOffset && entered_[r])
        setups_[s_.lifted.regions[r].setup].push_back(r);
  }

  std::span<const Begin> begin_at(std::uint32_t offset) const {
    const auto first =
        std::lower_bound(begins_.begin(), begins_.end(), offset,
                         [](const Begin& begin, std::uint32_t at) { return begin.offset < at; });
    const auto behind = std::find_if(first, begins_.end(),
                                     [&](const Begin& begin) { return begin.offset != offset; });
    return {first, behind};
  }
  BlockId alone_at(std::uint32_t offset) const {
    const auto begin = begin_at(offset);
    return begin.size() == 1 ? begin[0].block : BlockId();
  }
  Place* place_at(std::uint32_t offset) {
    return offset / 2 < places_.size() ? &places_[offset / 2] : nullptr;
  }
  void add_place(std::uint32_t offset, BlockId block, ValueId value) {
    if (Place* place = place_at(offset); place && !place->known) *place = {true, block, value};
  }
  bool is_known(std::uint32_t offset) { return place_at(offset) && place_at(offset)->known; }

  /// The block at an offset, for a statement in region `around`; made where nothing leads there.
  BlockId find(std::uint32_t after, RegionId around) {
    const auto setup = setups_.find(after);
    if (setup != setups_.end()) {
      BlockId found;
      for (std::uint32_t q : setup->second)
        if (s_.is_ancestor(s_.regions[q].parent, around)) found = entered_[q];
      return found;
    }
    BlockId found;
    for (const Begin& begin : begin_at(after))
      if (s_.is_ancestor(s_.nodes[begin.block.index].region, around)) found = begin.block;
    if (found) return found;
    if (is_known(after)) return place_at(after)->value ? split_at(after, around) : BlockId();
    return made_at(after, around);
  }

  /// In the middle of a block, because nothing else leads there: the block is split, so that the
  /// statement's end can be named. None where no statement begins there.
  BlockId split_at(std::uint32_t after, RegionId around) {
    const auto [in_code, b, v] = *place_at(after);
    const Node& node = s_.nodes[b.index];
    const auto place = std::find(node.body.begin(), node.body.end(), v);
    if (place == node.body.end() || place == node.body.begin() || node.match != UINT32_MAX ||
        !s_.is_ancestor(node.region, around))
      return {};
    const auto stands_before = [&](ValueId value) {
      return std::find(node.body.begin(), place, s_.resolve(value)) != place;
    };
    for (auto p = place; p != node.body.end(); ++p)
      if (std::ranges::any_of(s_.at(*p).operands, stands_before)) return {};
    if (node.value && stands_before(node.value)) return {};
    const BlockId found = s_.split_test(b, static_cast<std::size_t>(node.body.end() - place));
    const Begin begin{after, found};
    begins_.insert(std::upper_bound(begins_.begin(), begins_.end(), begin), begin);
    for (ValueId moved : s_.nodes[found.index].body)
      if (Place* moved_to = place_at(s_.at(moved).offset)) *moved_to = {true, found, moved};
    return found;
  }

  BlockId made_at(std::uint32_t after, RegionId around) {
    BlockId& made = made_[(std::uint64_t{after} << 32) | (around ? around.index : UINT32_MAX)];
    if (!made) {
      Node nothing;
      nothing.term = TermKind::Unreachable;
      nothing.term_offset = after;
      nothing.region = around;
      made = s_.add_node(nothing);
      ++s_.changes;
    }
    return made;
  }

  StructureGraph& s_;
  std::vector<Begin> begins_;     // of blocks, sorted
  std::vector<Place> places_;     // by offset: where its code is
  std::vector<BlockId> entered_;  // by region
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> setups_;  // by offset: regions
  std::unordered_map<std::uint32_t, BlockId> iterates_;  // by the offset of FOR_ITER
  std::unordered_map<std::uint64_t, BlockId> made_;      // by offset and region
};

}  // namespace

void mark_statement_ends(StructureGraph& s) {
  const bool regions_tell = std::any_of(s.lifted.regions.begin(), s.lifted.regions.end(),
                                        [](const Region& r) { return r.after != kNoOffset; });
  const bool loops_tell = std::any_of(s.lifted.loops.begin(), s.lifted.loops.end(),
                                      [](const LoopSpan& l) { return l.after != kNoOffset; });
  if (!regions_tell && !loops_tell && s.lifted.elses.empty()) return;
  if (!s.counted())
    s.recount();  // which takes away what would stand before a statement and does nothing
  StatementEndFinder ends(s);
  ends.mark_elses();
  ends.mark_regions();
  ends.mark_loops();
}

}  // namespace depyf
