#include "structure/parts.h"

#include <algorithm>

#include "flow/dominators.h"
#include "structure/dispatch.h"
#include "structure/graph.h"
#include "structure/steps.h"
#include "support/error.h"

namespace depyf {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
/// How often structure is tried for one body.
constexpr int kTrials = 40;

bool is_function(const Lifted& lifted, const Module& module) {
  return (module[lifted.code].flags & kOptimized) != 0;
}

int edge_count(const LiftedBlock& block) {
  return kEdgeCounts[static_cast<std::size_t>(block.term)];
}

/// The end of a module or class is not a statement: it becomes a separate block, which belongs to
/// no part.
void split_ends(Lifted& lifted, const Module& module) {
  if (is_function(lifted, module)) return;
  const std::size_t count = lifted.blocks.size();
  for (std::size_t i = 0; i < count; ++i) {
    LiftedBlock& block = lifted.blocks[i];
    if (block.term != TermKind::Return || !block.value) continue;
    Value value = lifted[block.value];
    if (value.kind != ValueKind::Operation || value.op != Op::LOAD_CONST) continue;
    const BlockId id(static_cast<std::uint32_t>(lifted.blocks.size()));
    value.block = id;
    LiftedBlock end;
    end.value = lifted.add(value);
    end.body.push_back(end.value);
    end.term = TermKind::Return;
    end.term_offset = block.term_offset;
    end.term_line = block.term_line;
    end.term_columns = block.term_columns;
    block.term = TermKind::Jump;
    block.value = ValueId();
    block.edges[0] = Edge{id, {}};
    lifted.blocks.push_back(std::move(end));
  }
}

/// Splits a block of several statements before the last one: the statements before it need no
/// dispatch loop.
void split_statements(Lifted& lifted) {
  constexpr std::uint32_t kElsewhere = UINT32_MAX - 1;
  std::vector<std::uint32_t> last(lifted.values.size(), 0);  // where in its block a value is read
  const auto use = [&](ValueId v, std::uint32_t block, std::size_t at) {
    if (!v) return;
    const bool here = lifted[v].block.index == block && lifted[v].kind == ValueKind::Operation;
    std::uint32_t& known = last[v.index];
    known = std::max(known, here ? static_cast<std::uint32_t>(at) : kElsewhere);
  };
  const auto count = static_cast<std::uint32_t>(lifted.blocks.size());
  for (std::uint32_t b = 0; b < count; ++b) {
    const LiftedBlock& block = lifted.blocks[b];
    for (std::size_t i = 0; i < block.body.size(); ++i)
      for (ValueId operand : lifted[block.body[i]].operands) use(operand, b, i);
    use(block.value, b, block.body.size());
    for (ValueId v : block.raise_args) use(v, b, block.body.size());
    for (int k = 0; k < edge_count(block); ++k)
      for (ValueId v : block.edges[k].args) use(v, b, block.body.size());
    for (ValueId v : block.handler_args) use(v, kNone, 0);
  }
  // what is read of an operation's several results is read of the operation
  for (std::size_t v = 0; v < lifted.values.size(); ++v) {
    const Value& value = lifted.values[v];
    if (value.kind == ValueKind::Result && !value.operands.empty() && value.operands[0] && last[v])
      last[value.operands[0].index] = kElsewhere;
  }
  for (std::uint32_t b = 0; b < count; ++b) {
    const std::vector<ValueId>& body = lifted.blocks[b].body;
    std::size_t split = 0, open = 0;  // open: up to where values made so far are read
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (i > 0 && open < i) split = i;
      open = std::max<std::size_t>(open, last[body[i].index]);
    }
    if (split == 0) continue;
    LiftedBlock head = lifted.blocks[b];
    const BlockId id(static_cast<std::uint32_t>(lifted.blocks.size()));
    LiftedBlock tail = head;
    tail.params.clear();
    tail.body.erase(tail.body.begin(), tail.body.begin() + static_cast<std::ptrdiff_t>(split));
    for (ValueId v : tail.body) lifted[v].block = id;
    if (tail.item) lifted[tail.item].block = id;
    head.body.resize(split);
    head.term = TermKind::Jump;
    head.jump = JumpRole::Plain;
    head.value = head.item = ValueId();
    head.raise_args = {};
    head.falls = 0;
    head.edges[0] = Edge{id, {}};
    head.term_offset = lifted[head.body.back()].offset;
    head.term_line = lifted[head.body.back()].line;
    head.term_columns = 0;
    lifted.blocks[b] = std::move(head);
    lifted.blocks.push_back(std::move(tail));
  }
}

/// The blocks of a part, and where control continues after it.
struct Extent {
  std::vector<BlockId> blocks, exits;
  std::vector<std::uint8_t> holds;    // by block
  std::vector<std::uint8_t> regions;  // by region: is all of it in the part?
  RegionId around;                    // protects all of the part
};

class Parts {
 public:
  Parts(const Lifted& lifted, const Module& module)
      : lifted_(lifted), function_(is_function(lifted, module)) {
    const std::size_t n = lifted.blocks.size();
    Graph graph;
    graph.offsets.push_back(0);
    for (const LiftedBlock& block : lifted.blocks) {
      for (int k = 0; k < edge_count(block); ++k) graph.edges.push_back(block.edges[k].to.index);
      for (RegionId r = block.region; r; r = lifted.regions[r.index].parent)
        graph.edges.push_back(lifted.regions[r.index].handler.index);
      graph.offsets.push_back(static_cast<std::uint32_t>(graph.edges.size()));
    }
    dom = dominators(graph, lifted.entry.index);
    size.assign(n, 1);
    children.resize(n);
    for (std::size_t i = dom.order.size(); i > 0; --i) {
      const std::uint32_t u = dom.order[i - 1];
      if (dom.idom[u] == kNone) continue;
      size[dom.idom[u]] += size[u];
      children[dom.idom[u]].push_back(u);
    }
  }

  Dominators dom;
  std::vector<std::uint32_t> size;  // by block: how many it dominates
  std::vector<std::vector<std::uint32_t>> children;

  /// Can a dispatch loop replace it? Control must enter at one block, no value on the stack may
  /// cross the border, and each region around one of its blocks protects all of it or lies in it.
  bool find(const Part& part, Extent& extent) const {
    std::vector<RegionId> around;
    for (RegionId r = lifted_[part.entry].region;; r = lifted_.regions[r.index].parent) {
      around.push_back(r);
      if (!r) break;
    }
    // a `try` that the part begins with is in it, where that does
    while (!around.empty()) {
      if (find(part, around.back(), extent)) return true;
      around.pop_back();
    }
    return false;
  }

 private:
  bool find(const Part& part, RegionId around, Extent& extent) const {
    const std::size_t n = lifted_.blocks.size();
    const LiftedBlock& first = lifted_[part.entry];
    if (!first.params.empty() || dom.number[part.entry.index] == kNone) return false;
    if (around && around != first.region &&
        !lifted_[lifted_.regions[around.index].handler].params.empty())
      return false;  // what its handler would get is not known here
    extent = {};
    extent.around = around;
    extent.holds.assign(n, 0);
    extent.regions.assign(lifted_.regions.size(), 0);
    std::vector<std::uint8_t> is_exit(n, 0);
    bool fits = true;
    const auto is_inside = [&](BlockId t) {
      if (t == part.stop || !dom.dominates(part.entry.index, t.index)) return false;
      if (!function_ && lifted_[t].term == TermKind::Return) return false;
      return is_ancestor(around, lifted_[t].region);
    };
    const auto add = [&](BlockId t) {
      if (extent.holds[t.index]) return;
      extent.holds[t.index] = 1;
      extent.blocks.push_back(t);
    };
    if (!function_ && first.term == TermKind::Return) return false;
    add(part.entry);
    for (std::size_t i = 0; i < extent.blocks.size() && fits; ++i) {
      const LiftedBlock& block = lifted_[extent.blocks[i]];
      fits = block.term != TermKind::Return || !around;  // nothing runs on its way out
      for (int k = 0; k < edge_count(block); ++k) {
        const BlockId t = block.edges[k].to;
        if (is_inside(t)) {
          add(t);
          continue;
        }
        fits &= block.edges[k].args.empty() && is_ancestor(lifted_[t].region, around);
        if (!is_exit[t.index]) extent.exits.push_back(t);
        is_exit[t.index] = 1;
      }
      for (RegionId r = block.region; r && r != around; r = lifted_.regions[r.index].parent) {
        extent.regions[r.index] = 1;
        const BlockId handler = lifted_.regions[r.index].handler;
        fits &= is_inside(handler);
        if (fits) add(handler);
      }
    }
    return fits && is_closed(part, extent) && keeps_values(extent, around);
  }

  bool is_ancestor(RegionId outer, RegionId inner) const {
    if (!outer) return true;
    for (; inner; inner = lifted_.regions[inner.index].parent)
      if (inner == outer) return true;
    return false;
  }

  bool is_closed(const Part& part, const Extent& extent) const {
    for (std::size_t r = 0; r < lifted_.regions.size(); ++r)
      if (!extent.regions[r] && extent.holds[lifted_.regions[r].handler.index]) return false;
    for (std::size_t b = 0; b < lifted_.blocks.size(); ++b) {
      if (extent.holds[b]) continue;
      const LiftedBlock& block = lifted_.blocks[b];
      for (int k = 0; k < edge_count(block); ++k)
        if (extent.holds[block.edges[k].to.index] && block.edges[k].to != part.entry) return false;
      for (RegionId r = block.region; r; r = lifted_.regions[r.index].parent)
        if (extent.regions[r.index]) return false;
    }
    return true;
  }

  bool keeps_values(const Extent& extent, RegionId around) const {
    std::vector<std::uint8_t> made(lifted_.values.size(), 0);  // in the part
    for (BlockId b : extent.blocks) {
      const LiftedBlock& block = lifted_[b];
      for (ValueId v : block.params) made[v.index] = 1;
      for (ValueId v : block.body) made[v.index] = 1;
      if (block.item) made[block.item.index] = 1;
    }
    for (std::size_t v = 0; v < lifted_.values.size(); ++v) {
      const Value& value = lifted_.values[v];
      if (value.kind == ValueKind::Result && !value.operands.empty() && value.operands[0] &&
          made[value.operands[0].index])
        made[v] = 1;
      if (value.kind != ValueKind::Operation && value.block && extent.holds[value.block.index])
        made[v] = 1;
    }
    for (std::size_t b = 0; b < lifted_.blocks.size(); ++b) {
      const LiftedBlock& block = lifted_.blocks[b];
      const bool inside = extent.holds[b] != 0;
      bool fits = true;
      const auto use = [&](ValueId v) {
        if (v && lifted_[v].kind != ValueKind::Null) fits &= (made[v.index] != 0) == inside;
      };
      for (ValueId v : block.body) {
        const Value& value = lifted_[v];
        // a loop's iterator that `break` drops
        if (inside && value.op == Op::POP_TOP) continue;
        for (ValueId operand : value.operands) use(operand);
      }
      use(block.value);
      for (ValueId v : block.raise_args) use(v);
      for (int k = 0; k < edge_count(block); ++k)
        for (ValueId v : block.edges[k].args) use(v);
      if (!inside || block.region != around) {
        for (ValueId v : block.handler_args) use(v);
      } else {
        for (ValueId v : block.handler_args) fits &= !v || !made[v.index];
      }
      if (!fits) return false;
    }
    return true;
  }

  const Lifted& lifted_;
  const bool function_;
};

class Search {
 public:
  Search(const Parts& parts, const Lifted& lifted,
         const std::function<bool(std::span<const Part>)>& works)
      : parts_(parts), lifted_(lifted), works_(works) {}

  std::vector<Part> run() {
    std::vector<Part> found;
    if (!along(lifted_.entry, BlockId(), {}, found)) return {};
    for (std::size_t i = 0; i < found.size(); ++i) refine(found, i);
    return found;
  }

 private:
  bool fits(const Part& part) const {
    Extent extent;
    return parts_.find(part, extent);
  }

  bool works(std::vector<Part> all, const Part& last) {
    if (trials_ >= kTrials) return false;
    if (!fits(last)) return false;
    ++trials_;
    all.push_back(last);
    return works_(all);
  }

  /// The consecutive statements from `entry` on: down the dominator tree, each time to the child
  /// that dominates most blocks.
  std::vector<BlockId> row(BlockId entry, BlockId stop) const {
    std::vector<BlockId> out;
    for (std::uint32_t at = entry.index; at != kNone && at != stop.index;) {
      out.push_back(BlockId(at));
      std::uint32_t next = kNone;
      for (std::uint32_t c : parts_.children[at])
        if (next == kNone || parts_.size[c] > parts_.size[next]) next = c;
      at = next;
    }
    return out;
  }

  /// Finds parts of the statements from `entry` on such that the body has a structure when they and
  /// `others` are dispatch loops. Bisection finds where each part begins, the first one first.
  bool along(BlockId entry, BlockId stop, const std::vector<Part>& others,
             std::vector<Part>& found) {
    const std::vector<BlockId> places = row(entry, stop);
    std::vector<Part> all(others);
    std::size_t from = 0;
    for (;;) {
      // the last statement such that a part from there on is enough for the rest
      std::size_t low = from, high = places.size();
      bool any = false;
      while (low < high) {
        std::size_t middle = (low + high) / 2;
        while (middle > low && !fits({places[middle], stop})) --middle;
        if (works(all, {places[middle], stop})) {
          any = true;
          from = middle;
          low = middle + 1;
        } else {
          if (middle == low)
            low = (low + high) / 2 + 1;
          else
            high = middle;
        }
      }
      if (!any) return false;
      // up to the next place at which control is in one place again
      bool next = false;
      for (std::size_t j = from + 1; j < places.size() && j < from + 6 && !next; ++j) {
        const Part part{places[from], places[j]};
        if (!fits(part)) continue;
        if (works(all, part)) {
          found.push_back(part);
          return true;
        }
        // there is more trouble: does all of it follow this part?
        std::vector<Part> both(all);
        both.push_back(part);
        const std::size_t begin = first_fitting(places, j, stop);
        if (begin == places.size() || !works(both, {places[begin], stop})) continue;
        found.push_back(part);
        all.push_back(part);
        from = begin;
        next = true;
      }
      if (next) continue;
      found.push_back({places[from], stop});
      return true;
    }
  }

  std::size_t first_fitting(const std::vector<BlockId>& places, std::size_t from,
                            BlockId stop) const {
    for (; from < places.size(); ++from)
      if (fits({places[from], stop})) break;
    return from;
  }

  /// Replaces part i by a smaller part inside it, if that is enough.
  void refine(std::vector<Part>& found, std::size_t i) {
    for (bool again = true; again && trials_ < kTrials;) {
      again = false;
      const Part part = found[i];
      std::vector<Part> others(found);
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      std::vector<std::uint32_t> inner(parts_.children[part.entry.index]);
      std::stable_sort(inner.begin(), inner.end(), [&](std::uint32_t a, std::uint32_t b) {
        return parts_.size[a] > parts_.size[b];
      });
      if (inner.size() > 6) inner.resize(6);
      for (std::uint32_t c : inner) {
        if (BlockId(c) == part.stop || !works(others, {BlockId(c), part.stop})) continue;
        std::vector<Part> smaller;
        if (!along(BlockId(c), part.stop, others, smaller)) smaller = {{BlockId(c), part.stop}};
        found[i] = smaller[0];
        found.insert(found.end(), smaller.begin() + 1, smaller.end());
        again = true;
        break;
      }
    }
  }

  const Parts& parts_;
  const Lifted& lifted_;
  const std::function<bool(std::span<const Part>)>& works_;
  int trials_ = 0;
};

/// The statements of one part.
DispatchedPart dispatch(Lifted lifted, const Extent& extent, BlockId entry, Ast& ast,
                        const StructureOptions& options, std::uint32_t& temporaries) {
  const RegionId around = extent.around;
  std::vector<BlockId> exits;
  std::vector<BlockId> exit_of(lifted.blocks.size());
  for (BlockId t : extent.exits) {
    exits.push_back(BlockId(static_cast<std::uint32_t>(lifted.blocks.size())));
    exit_of[t.index] = exits.back();
    lifted.blocks.emplace_back();
  }
  for (std::size_t b = 0; b < extent.holds.size(); ++b) {
    LiftedBlock& block = lifted.blocks[b];
    if (!extent.holds[b]) {
      block = {};
      continue;
    }
    for (int k = 0; k < edge_count(block); ++k)
      if (const BlockId t = block.edges[k].to; !extent.holds[t.index])
        block.edges[k] = Edge{exit_of[t.index], {}};
    if (block.region != around) continue;
    block.region = RegionId();
    block.handler_args = {};
  }
  for (std::size_t r = 0; r < lifted.regions.size(); ++r)
    if (extent.regions[r] && lifted.regions[r].parent == around)
      lifted.regions[r].parent = RegionId();
  lifted.entry = entry;
  StructureGraph s(lifted, ast, options);
  s.temporaries.count = temporaries;
  DispatchedPart out = dispatch_part(s, exits);
  temporaries = s.temporaries.count;
  return out;
}

void drop_regions(Lifted& lifted, const std::vector<std::uint8_t>& dropped) {
  std::vector<RegionId> number(lifted.regions.size());
  std::vector<Region> kept;
  for (std::size_t r = 0; r < lifted.regions.size(); ++r) {
    if (dropped[r]) continue;
    number[r] = RegionId(static_cast<std::uint32_t>(kept.size()));
    kept.push_back(lifted.regions[r]);
  }
  for (Region& region : kept)
    if (region.parent) region.parent = number[region.parent.index];
  for (LiftedBlock& block : lifted.blocks)
    if (block.region) block.region = number[block.region.index];
  lifted.regions = std::move(kept);
}

/// Behind the part's statements: to the exit that control took.
void leave(StructureGraph& s, BlockId entry, ValueId part, const std::vector<BlockId>& exits,
           const DispatchedPart& loop) {
  s.ast[loop.statements.back()].origin = s.origin(part);
  Node blank = s[entry];
  blank.params.clear();
  blank.body.clear();
  blank.term = TermKind::Jump;
  // after what drops the names of the loop
  const auto to_exit = [&](std::size_t exit) {
    if (loop.forget[exit].empty()) return exits[exit];
    Value value = s.at(part);
    value.arg = static_cast<std::uint32_t>(s.parts.size());
    s.parts.push_back(loop.forget[exit]);
    Node node = blank;
    node.body = {s.add_value(value)};
    node.edges[0] = Edge{exits[exit], {}};
    return s.add_node(std::move(node));
  };
  BlockId at = entry;
  for (std::size_t exit = 0; exit < exits.size(); ++exit) {
    const BlockId to = to_exit(exit);
    if (exit + 1 == exits.size()) {
      s[at].term = TermKind::Jump;
      s[at].edges[0] = Edge{to, {}};
      break;
    }
    const ValueId operand = s.add_none(at);
    Select select;
    select.kind = Select::Prebuilt;
    select.rest = loop.left_by[exit];
    const ValueId test = s.add_select(select, at, operand, part);
    s[at].body.push_back(operand);
    s[at].body.push_back(test);
    const BlockId next = s.add_node(blank);
    s[at].term = TermKind::Branch;
    s[at].value = test;
    s[at].edges[0] = Edge{to, {}};
    s[at].edges[1] = Edge{next, {}};
    s[at].falls = 1;
    at = next;
  }
}

}  // namespace

std::vector<Part> find_parts(Lifted& lifted, const Module& module,
                             const std::function<bool(std::span<const Part>)>& works) {
  split_ends(lifted, module);
  split_statements(lifted);
  const Parts parts(lifted, module);
  return Search(parts, lifted, works).run();
}

void structure_around(std::span<const Part> parts, const std::function<Lifted()>& lift_again,
                      Ast& ast, const StructureOptions& options, const std::string& reason) {
  const Module& module = *ast.module;
  const auto fresh = [&] {
    Lifted lifted = lift_again();
    split_ends(lifted, module);
    split_statements(lifted);
    return lifted;
  };
  const auto first_expr = static_cast<std::uint32_t>(ast.exprs.size()),
             first_stmt = static_cast<std::uint32_t>(ast.stmts.size());
  Lifted lifted = fresh();
  std::vector<Extent> extents;
  {
    const Parts all(lifted, module);
    for (const Part& part : parts)
      if (!all.find(part, extents.emplace_back()))
        throw Error("structure: a part of the code does not stand alone");
  }
  std::vector<std::uint8_t> dropped(lifted.regions.size(), 0), taken(lifted.blocks.size(), 0);
  std::uint32_t temporaries = 0;
  std::vector<DispatchedPart> loops;
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const BlockId entry = parts[i].entry;
    loops.push_back(dispatch(fresh(), extents[i], entry, ast, options, temporaries));
    LiftedBlock& first = lifted[entry];
    Value value;
    value.kind = ValueKind::Statements;
    value.block = entry;
    value.arg = static_cast<std::uint32_t>(i);
    value.offset = first.body.empty() ? first.term_offset : lifted[first.body[0]].offset;
    value.line = first.body.empty() ? first.term_line : lifted[first.body[0]].line;
    values.push_back(lifted.add(value));
    for (BlockId b : extents[i].blocks) {
      if (taken[b.index]) throw Error("structure: parts of the code overlap");
      taken[b.index] = 1;
      if (b != entry) lifted[b] = {};
    }
    first.body = {values.back()};
    if (first.region != extents[i].around) {
      first.region = extents[i].around;
      first.handler_args = {};
    }
    first.term = TermKind::Unreachable;
    first.jump = JumpRole::Plain;
    first.value = first.item = ValueId();
    first.raise_args = {};
    first.falls = 0;
    first.term_offset = value.offset;
    first.term_line = value.line;
    first.term_columns = 0;
    for (std::size_t r = 0; r < dropped.size(); ++r) dropped[r] |= extents[i].regions[r];
  }
  drop_regions(lifted, dropped);
  StructureGraph s(lifted, ast, options);
  s.temporaries.count = temporaries;
  s.temporaries.made = true;
  s.first_expr = first_expr;
  s.first_stmt = first_stmt;
  ast.bodies[lifted.code.index].first_expr = first_expr;
  ast.bodies[lifted.code.index].first_stmt = first_stmt;
  for (DispatchedPart& loop : loops) s.parts.push_back(loop.statements);
  for (std::size_t i = 0; i < parts.size(); ++i)
    leave(s, parts[i].entry, values[i], extents[i].exits, loops[i]);
  make_statements(s);
  s.diagnose(5, 0, reason);
}

}  // namespace depyf
