// List, set and dict comprehensions that 3.12+ inlines (PEP 709): a loop in the middle of an
// expression, under a region whose handler restores the locals that the comprehension's own
// variables had hidden; without a region where it has no variables.
#include "structure/comprehensions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ast/comprehension.h"
#include "ast/walk.h"
#include "structure/graph.h"
#include "structure/steps.h"
#include "support/error.h"

namespace depyf {
namespace {

/// The values that LOAD_FAST_AND_CLEAR saved and the handler puts back; empty when the handler does
/// anything else.
std::vector<ValueId> restored_values(StructureGraph& s, BlockId handler) {
  const Node& node = s.nodes[handler.index];
  std::vector<ValueId> saved;
  if (node.term != TermKind::Reraise) return saved;
  for (ValueId v : node.body) {
    if (!gives_back(s, v)) return {};
    saved.push_back(s.resolve(s.at(v).operands[0]));
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
  Excerpt(StructureGraph& s, const Extent& extent) : s_(s), entry_(s.entry) {
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
  StructureGraph& s_;
  BlockId entry_;
  std::vector<Node> nodes_;
  std::vector<StructRegion> regions_;
};

/// Does the operation make the empty collection of a comprehension of that kind?
bool makes_collection(const StructureGraph& s, ValueId v, ExprKind& kind) {
  const Value& value = s.at(v);
  if (value.kind != ValueKind::Operation || !value.operands.empty()) return false;
  if (value.op != Op::BUILD_LIST && value.op != Op::BUILD_SET && value.op != Op::BUILD_MAP)
    return false;
  kind = value.op == Op::BUILD_LIST  ? ExprKind::ListComp
         : value.op == Op::BUILD_SET ? ExprKind::SetComp
                                     : ExprKind::DictComp;
  return true;
}

/// The collection that the block makes last, beside the iterator; not the one that is iterated over
/// (`for x in {}: pass`).
ValueId collection_beside(StructureGraph& s, BlockId before, ValueId iterator, ExprKind& kind) {
  const std::vector<ValueId>& body = s[before].body;
  iterator = s.resolve(iterator);
  if (body.size() < 2) return ValueId();
  if (!s.is_op(iterator, Op::GET_ITER) && !s.is_op(iterator, Op::GET_AITER)) return ValueId();
  const ValueId last = body.back(), other = body[body.size() - 2];
  if (other == iterator && makes_collection(s, last, kind)) return last;
  if (last == iterator && s.resolve(s.at(iterator).operands[0]) != other &&
      makes_collection(s, other, kind))
    return other;
  return ValueId();
}

/// Does the loop's exit hand on nothing of the loop but the collection?
bool hands_on(StructureGraph& s, const Extent& extent, ValueId collection) {
  const std::span<const ValueId> args = s[extent.entry].edges[1].args;
  return std::all_of(args.begin(), args.end(), [&](ValueId arg) {
    if (!arg || s.resolve(arg) == collection) return true;
    return !std::binary_search(extent.members.begin(), extent.members.end(),
                               s.at(s.resolve(arg)).block);
  });
}

/// Calls `see` with each name that the target binds.
template <class See>
void bound_by(const Ast& ast, ExprId id, See see) {
  ExprIds targets = {id};
  while (!targets.empty()) {
    const Expr& target = ast[targets.back()];
    targets.pop_back();
    if (target.kind == ExprKind::Name) see(target.a);
    if (target.kind == ExprKind::Tuple || target.kind == ExprKind::List ||
        target.kind == ExprKind::Starred)
      for (ExprId kid : target.kids) targets.push_back(kid);
  }
}

/// The names that comprehensions and walruses in `all` bind.
FlatMap<bool> bound_in(StructureGraph& s, const ExprIds& all) {
  FlatMap<bool> bound;
  for (ExprId id : all)
    if (const Expr& e = s.ast[id];
        e.kind == ExprKind::Comprehension || e.kind == ExprKind::NamedExpr)
      bound_by(s.ast, e.kids[0], [&](std::uint32_t name) { bound[name] = true; });
  return bound;
}

/// The variables that are saved around a comprehension, and that nothing in it binds: code that the
/// compiler removed did.
struct Unbound {
  std::vector<ExprId> in_condition;  // saved before those that the element binds
  std::vector<ExprId> in_element;
  std::vector<ExprId> read;   // those of comprehensions inside it that such code read
  bool holds_others = false;  // comprehensions
};

/// Is it part of the code that it stands in?
bool is_inlined(const Expr& e) {
  return (e.kind == ExprKind::ListComp || e.kind == ExprKind::SetComp ||
          e.kind == ExprKind::DictComp) &&
         e.a == UINT32_MAX;
}

Unbound unbound_variables(StructureGraph& s, ExprId comprehension, std::span<const ValueId> saved) {
  Unbound names;
  if (saved.empty()) return names;
  ExprIds all = {comprehension};
  collect_below(s.ast, all);
  names.holds_others =
      std::any_of(all.begin() + 1, all.end(), [&](ExprId id) { return is_inlined(s.ast[id]); });
  ExprIds element;
  if (const ExprId first = s.ast[comprehension].kids[0]) element.push_back(first);  // none: `**x`
  collect_below(s.ast, element);
  const CodeObject& code = s.module[s.lifted.code];
  FlatMap<bool> bound = bound_in(s, all);
  const FlatMap<bool> bound_late = bound_in(s, element);
  // In a class those that it reads are saved, too.
  if (code.parent && !(code.flags & kOptimized))
    for (ExprId id : all)
      if (const Expr& e = s.ast[id]; e.kind == ExprKind::Name || e.kind == ExprKind::CellRef)
        bound[e.a] = true;
  for (auto v = saved.rbegin(); v != saved.rend(); ++v) {  // the last one is put back first
    const std::uint32_t slot = s.at(*v).arg;
    if (slot >= code.slots.size()) continue;
    const StrId name = code.slots[slot].name;
    if (bound_late.at(name.index)) {
      names.in_condition.insert(names.in_condition.end(), names.in_element.begin(),
                                names.in_element.end());
      names.in_element.clear();
    }
    if (!s.module[name].starts_with('.') &&  // a compiler's
        !std::exchange(bound[name.index], true))
      names.in_element.push_back(s.ast.name(name));
  }
  if (element.empty())
    std::ranges::move(std::exchange(names.in_element, {}), std::back_inserter(names.in_condition));
  return names;
}

/// Is the name that of a parameter, or does a statement store to it?
bool is_stored(StructureGraph& s, StrId name) {
  const CodeObject& code = s.module[s.lifted.code];
  std::uint32_t slot = 0;
  while (slot < code.slots.size() && code.slots[slot].name != name) ++slot;
  if (slot < code.parameter_count()) return true;
  return std::ranges::any_of(s.nodes, [&](const Node& node) {
    return node.alive && std::ranges::any_of(node.body, [&](ValueId v) {
             return s.is_op(v, Op::STORE_FAST) && s.at(v).arg == slot &&
                    !s.is_op(s.resolve(s.at(v).operands[0]), Op::LOAD_FAST_AND_CLEAR);
           });
  });
}

/// A comprehension inside the one that is looked at, which is the first of them.
struct Scope {
  std::size_t outer = 0;
  FlatMap<bool> reads;
  std::vector<std::uint32_t> binds;  // with what those inside it bind and it does not read
};

/// The variables of comprehensions inside this one that are not saved around it, too, as the
/// compiler does with those that it does not read itself: code that the compiler removed read them.
std::vector<ExprId> read_by_removed(StructureGraph& s, ExprId comprehension,
                                    std::span<const ValueId> saved) {
  std::vector<ExprId> out;
  const CodeObject& code = s.module[s.lifted.code];
  if (code.parent && !(code.flags & kOptimized)) return out;
  std::vector<Scope> scopes;
  std::vector<std::pair<ExprId, std::size_t>> work;  // in which of them
  const auto enter = [&](ExprId id, std::size_t outer) {
    const std::size_t number = scopes.size();
    scopes.push_back({outer, {}, {}});
    bool first = true;
    for (ExprId kid : s.ast[id].kids) {
      if (!kid) continue;
      const Expr& clause = s.ast[kid];
      if (clause.kind != ExprKind::Comprehension) {
        work.emplace_back(kid, number);
        continue;
      }
      for (std::size_t k = 0; k < clause.kids.size(); ++k)
        work.emplace_back(clause.kids[k], first && k == 1 ? outer : number);
      bound_by(s.ast, clause.kids[0],
               [&](std::uint32_t name) { scopes[number].binds.push_back(name); });
      first = false;
    }
  };
  enter(comprehension, 0);
  while (!work.empty()) {
    const auto [id, scope] = work.back();
    work.pop_back();
    const Expr& e = s.ast[id];
    if (is_inlined(e)) {
      enter(id, scope);
      continue;
    }
    if (e.kind == ExprKind::Name || e.kind == ExprKind::CellRef) scopes[scope].reads[e.a] = true;
    for (ExprId kid : e.kids)
      if (kid) work.emplace_back(kid, scope);
  }
  FlatMap<bool> known = std::move(scopes[0].reads);
  for (ValueId v : saved)
    if (s.at(v).arg < code.slots.size()) known[code.slots[s.at(v).arg].name.index] = true;
  for (std::size_t i = scopes.size(); --i > 0;)
    for (const std::uint32_t name : scopes[i].binds) {
      Scope& outer = scopes[scopes[i].outer];
      if (scopes[i].outer == 0) {
        if (std::exchange(known[name], true)) continue;
        out.push_back(s.ast.name(StrId(name)));
        if (!is_stored(s, StrId(name)))
          s.ast[out.back()].op =
              static_cast<std::uint8_t>(code.parent ? NameScope::Global : NameScope::Name);
      } else if (!outer.reads.at(name)) {
        outer.binds.push_back(name);
      }
    }
  return out;
}

/// `[None for name in ()]`, of these variables.
ExprId comprehension_of(StructureGraph& s, std::span<const ExprId> names) {
  const ExprId target = names.size() == 1 ? names[0] : s.ast.expr(ExprKind::Tuple, names);
  const ExprId clause =
      s.ast.expr(ExprKind::Comprehension, {target, s.ast.expr(ExprKind::Tuple, {})});
  return s.ast.expr(ExprKind::ListComp, {s.literal(ConstKind::None), clause});
}

/// Gives the comprehension these variables: `x` becomes `x if True else [None for name in ()]`, or
/// its last clause gets `if True or [None for name in ()]`, and `if True or y` of those that are
/// read.
void add_variables(StructureGraph& s, ExprId comprehension, const Unbound& names) {
  const ExprId clause = s.ast[comprehension].kids.back();
  const Expr last = s.ast[clause];
  if (!names.in_element.empty()) {
    ExprId value = comprehension_of(s, names.in_element);
    const bool never = last.kids.size() > 2 && s.ast[last.kids.back()].kind == ExprKind::Constant &&
                       s.module[ConstId(s.ast[last.kids.back()].a)].kind == ConstKind::False;
    const ExprId element = s.ast[comprehension].kids[0];
    if (!never) value = s.ast.expr(ExprKind::IfExp, {s.literal(ConstKind::True), element, value});
    s.ast[comprehension].kids[0] = value;
  }
  std::vector<ExprId> alternatives = names.read;
  if (!names.in_condition.empty()) alternatives.push_back(comprehension_of(s, names.in_condition));
  if (alternatives.empty()) return;
  alternatives.insert(alternatives.begin(), s.literal(ConstKind::True));
  std::vector<ExprId> kids(last.kids.begin(), last.kids.end());
  kids.push_back(s.ast.expr(ExprKind::BoolOp, alternatives, UINT32_MAX, 1));
  s.ast[clause].kids = s.ast.arena.copy(std::span<const ExprId>(kids));
}

/// Replaces the comprehension by one value; false where it is none. Its variables are `saved`
/// around it.
bool fold(StructureGraph& s, const Extent& extent, std::span<const ValueId> saved = {}) {
  const auto& [members, before, entry, after, one_way] = extent;
  if (!one_way || !before || !after || !s[before].alive || !s[entry].params.empty()) return false;
  // The collection, and the loop over the first iterable.
  ValueId collection;
  ExprKind kind = ExprKind::ListComp;
  for (ValueId v : s[entry].body)
    if (makes_collection(s, v, kind)) {
      collection = v;
      break;
    }
  // Without variables of its own the comprehension has no region, and begins at its loop.
  const bool bare = !collection && s[entry].term == TermKind::ForIter;
  if (bare) collection = collection_beside(s, before, s[entry].value, kind);
  if (!collection || !(s[after].params.empty() || (bare && hands_on(s, extent, collection))))
    return false;
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
                                                     {outer, s.known(outer).built},
                                                     {collection, s.known(collection).built}};
  for (BlockId b : members) {
    for (ValueId v : s[b].body) kept_built.emplace_back(v, s.known(v).built);
    for (ValueId v : s[b].params) kept_built.emplace_back(v, s.known(v).built);
    if (s[b].item) kept_built.emplace_back(s[b].item, s.known(s[b].item).built);
  }
  const std::uint32_t kept_temporaries = s.temporaries.count;
  const std::size_t kept_named = s.temporaries.named.size();
  const ExprId hole = s.ast.expr(ExprKind::Raw, {});
  s.note(iterator).built = hole;
  s.note(outer).built = hole;
  if (bare) s.note(collection).built = hole;
  ExprId expression;
  try {
    const Excerpt excerpt(s, extent);
    std::span<StmtId> statements =
        emit_statements(s, Excerpt::place(extent, entry), RegionId(), excerpt.stop());
    if (!statements.empty() && statements.size() <= 2)
      expression = comprehension_from_loop(s.ast, kind, statements.last(1));
  } catch (const Error&) {
    expression = ExprId();
  }
  for (const auto& [value, built] : kept_built)
    if (s.known(value).built != built) s.note(value).built = built;
  s.forget_temporaries(kept_named, kept_temporaries);
  if (!expression) return false;
  Unbound names = unbound_variables(s, expression, saved);
  if (names.holds_others) names.read = read_by_removed(s, expression, saved);
  add_variables(s, expression, names);
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
  if (bare) std::erase(s[before].body, collection);
  s[before].body.push_back(id);
  s[before].edges[0] = Edge{after, bare ? s[entry].edges[1].args : std::span<ValueId>()};
  return true;
}

/// `x = [a for a in b]`: the compiler stores x first, and puts `a` back behind it, where the target
/// and the comprehension are of one row. A store behind those that put back tells that they were
/// not (`x: List[…\n] = [a …]`), or that a jump led to the store.
template <class Restores>
void put_on_rows(StructureGraph& s, std::span<const ValueId> body, const Restores& puts_back) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    const std::size_t first = i;
    while (i < body.size() && s.is_op(body[i], Op::STORE_FAST) && puts_back(body[i])) ++i;
    if (i == first || i == body.size() || !s.is_op(body[i], Op::STORE_FAST)) continue;
    const ValueId stored = s.resolve(s.at(body[i]).operands[0]);
    if (s.at(stored).kind != ValueKind::Select) continue;
    const Select& select = s.select_of(stored);
    if (select.kind != Select::Prebuilt) continue;
    // To one of its own variables the compiler stores behind them on one row, too, and so it does
    // with a value that is copied.
    if (s.uses[stored.index] != 1) continue;
    if (std::none_of(body.begin() + static_cast<std::ptrdiff_t>(first),
                     body.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](ValueId v) { return s.at(v).arg == s.at(body[i]).arg; }))
      s.ast[select.rest].op = s.at(body[i]).line > 0 && s.at(body[i]).line == s.at(body[i - 1]).line
                                  ? kStoredLast
                                  : kOnRows;
  }
}

/// Does the block give back the variables with the one first that its value would lie below? The
/// compiler swaps the two where both are of one row.
bool gives_back_last_first(StructureGraph& s, BlockId after, std::span<const ValueId> saved) {
  const std::vector<ValueId>& body = s[after].body;
  if (saved.size() < 2 || body.size() < saved.size()) return false;
  // There it also swaps the value that a statement drops, which is of no row.
  if (s.module.version.drops_repeated_stores()) return false;
  for (std::size_t i = 0; i < saved.size(); ++i)
    if (!s.is_op(body[i], Op::STORE_FAST) ||
        s.resolve(s.at(body[i]).operands[0]) != saved[(i + 1) % saved.size()])
      return false;
  return true;
}

/// Is the block where the region of a comprehension is entered?
bool begins_region(StructureGraph& s, BlockId block) {
  const RegionId region = s[block].region;
  if (!region || restored_values(s, s.regions[region.index].handler).empty()) return false;
  return std::any_of(s.nodes.begin(), s.nodes.end(), [&](const Node& from) {
    bool enters = false;
    for (int k = 0; k < from.edge_count(); ++k)
      enters |= from.alive && from.region != region && from.edges[k].to == block;
    return enters;
  });
}

/// The blocks of a loop that adds to a collection which lies on the stack below its iterator, and
/// whose targets are no variables (`for q.x in a`): nothing has to be restored after it, so that
/// it has no region. Empty where the block's loop is none.
Extent bare_comprehension(StructureGraph& s, BlockId before) {
  Extent extent;
  const Node& node = s[before];
  if (!node.alive || node.term != TermKind::Jump) return extent;
  const BlockId header = node.edges[0].to;
  if (s[header].term != TermKind::ForIter) return extent;
  ExprKind kind = ExprKind::ListComp;
  const ValueId collection = collection_beside(s, before, s[header].value, kind);
  if (!collection || begins_region(s, before)) return extent;
  std::vector<BlockId> work{header};
  FlatMap<std::uint8_t> seen;
  bool adds = false, reads = false;
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    if (std::exchange(seen[b.index], 1)) continue;
    extent.members.push_back(b);
    extent.one_way &= s[b].alive && s[b].region == node.region && b != before;
    for (ValueId v : s[b].body) {
      const Value& value = s.at(v);
      for (ValueId operand : value.operands) reads |= operand && s.resolve(operand) == collection;
      adds |= (value.op == Op::LIST_APPEND || value.op == Op::SET_ADD || value.op == Op::MAP_ADD ||
               value.op == Op::LIST_EXTEND || value.op == Op::SET_UPDATE ||
               value.op == Op::DICT_UPDATE) &&
              value.kind == ValueKind::Operation && !value.operands.empty() &&
              s.resolve(value.operands[0]) == collection;
    }
    const int ways = b == header ? 1 : s[b].edge_count();  // the other one leads past the loop
    for (int k = 0; k < ways; ++k) work.push_back(s[b].edges[k].to);
  }
  std::sort(extent.members.begin(), extent.members.end());
  extent.before = before;
  extent.entry = header;
  extent.after = s[header].edges[1].to;
  // Only a comprehension keeps a collection on the stack over a loop that does not add to it.
  adds |= !reads && s.uses[collection.index] > 0;
  extent.one_way &= adds && !seen.at(extent.after.index);
  return extent;
}

bool fold_bare_comprehensions(StructureGraph& s) {
  bool any = false;
  for (std::uint32_t i = 0; i < s.nodes.size(); ++i) {
    const BlockId before(i);
    Extent extent = bare_comprehension(s, before);
    if (extent.members.empty() || !extent.one_way) continue;
    std::vector<std::uint8_t> inside(s.nodes.size(), 0);
    for (BlockId b : extent.members) inside[b.index] = 1;
    fold_expressions(s, &inside);
    extent = bare_comprehension(s, before);
    if (extent.members.empty() || !extent.one_way || !fold(s, extent)) continue;
    any = true;
    s.recount();
    s.tidy_jumps();
    s.recount();
  }
  return any;
}

bool fold_comprehensions_in_regions(StructureGraph& s) {
  bool folded = false;
  for (bool any = !s.regions.empty(); any; folded = true) {
    // Innermost ones first: what they become is part of the expression of the next.
    std::vector<std::vector<ValueId>> saved(s.regions.size());
    std::vector<std::uint8_t> has_inner(s.regions.size(), 0);
    for (std::size_t i = 0; i < s.regions.size(); ++i)
      if (s.regions[i].kind == RegionKind::Finally)
        saved[i] = restored_values(s, s.regions[i].handler);
    if (std::all_of(saved.begin(), saved.end(), [](const auto& some) { return some.empty(); }))
      return folded;
    for (std::size_t i = 0; i < s.regions.size(); ++i)
      if (s.regions[i].kind != RegionKind::Erased)
        for (RegionId p = s.regions[i].parent; p && !has_inner[p.index];
             p = s.regions[p.index].parent)
          has_inner[p.index] = 1;
    std::vector<RegionId> comprehension_of(
        s.regions.size());  // by region: the innermost comprehension around it
    for (std::size_t i = 0; i < s.regions.size(); ++i) {
      RegionId r(static_cast<std::uint32_t>(i));
      while (r && (saved[r.index].empty() || has_inner[r.index])) r = s.regions[r.index].parent;
      comprehension_of[i] = r;
    }
    const auto around = [&](BlockId b) {
      return s.nodes[b.index].region ? comprehension_of[s.nodes[b.index].region.index] : RegionId();
    };
    std::vector<std::uint8_t> inside(s.nodes.size(), 0);
    for (std::uint32_t i = 0; i < s.nodes.size(); ++i)
      inside[i] = static_cast<bool>(around(BlockId(i)));
    if (std::find(inside.begin(), inside.end(), 1) == inside.end()) return folded;
    fold_expressions(s, &inside);  // conditions, to find statements as those of a loop
    std::vector<Extent> extents(s.regions.size());
    for (std::uint32_t i = 0; i < s.nodes.size(); ++i) {
      const BlockId b(i);
      if (!s.nodes[i].alive) continue;
      const RegionId from = around(b);
      if (from) extents[from.index].members.push_back(b);
      for (int k = 0; k < s.nodes[i].edge_count(); ++k) {
        const BlockId to = s.nodes[i].edges[k].to;
        const RegionId into = around(to);
        if (from == into) continue;
        if (into) {
          Extent& extent = extents[into.index];
          extent.one_way &= !extent.before && s.nodes[i].term == TermKind::Jump;
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
    std::vector<std::uint8_t> restored(s.lifted.values.size(), 0);
    std::vector<ValueId> turned;
    for (std::size_t i = 0; i < s.regions.size(); ++i) {
      if (comprehension_of[i].index != i || !fold(s, extents[i], saved[i])) continue;
      any = true;
      if (gives_back_last_first(s, extents[i].after, saved[i]))
        turned.push_back(s[extents[i].before].body.back());
      for (ValueId v : saved[i]) restored[v.index] = 1;
      Node& handler = s.nodes[s.regions[i].handler.index];
      handler.alive = false;
      handler.body.clear();
      s.regions[i].kind = RegionKind::Erased;
    }
    if (!any) return folded;
    s.count_uses();
    for (ValueId v : turned)
      if (s.uses[v.index] == 0) s.ast[s.select_of(v).rest].op = kDroppedFirst;
    const auto of_restored = [&](ValueId v) {
      if (s.is_op(v, Op::STORE_FAST)) v = s.resolve(s.at(v).operands[0]);
      return v.index < restored.size() && restored[v.index] != 0;
    };
    for (Node& node : s.nodes) {
      if (!node.alive) continue;
      put_on_rows(s, node.body, of_restored);
      std::erase_if(node.body, of_restored);
    }
    s.recount();
    s.tidy_jumps();
    s.recount();
  }
  return folded;
}

}  // namespace

bool gives_back(StructureGraph& s, ValueId store) {
  return s.is_op(store, Op::STORE_FAST) &&
         s.is_op(s.resolve(s.at(store).operands[0]), Op::LOAD_FAST_AND_CLEAR);
}

BlockId behind_comprehensions(StructureGraph& s, BlockId block) {
  const RegionId around = s[block].region;
  for (std::size_t n = 0; n < s.nodes.size() && s[block].term == TermKind::Jump; ++n) {
    BlockId entry = s[block].edges[0].to;
    const RegionId own = s[entry].region;
    if (own == around || !own || s.regions[own.index].parent != around ||
        restored_values(s, s.regions[own.index].handler).empty())
      break;
    if (s[entry].term == TermKind::Jump) entry = s[entry].edges[0].to;
    if (s[entry].term != TermKind::ForIter) break;
    BlockId after = s[entry].edges[1].to;
    if (s[after].body.empty() && s[after].is_plain_jump() && s[after].pred_count == 1)
      after = s[after].edges[0].to;  // out of the region that restores a handled exception
    if (s[after].region != around || s[after].pred_count != 1 || !s[after].params.empty()) break;
    block = after;
  }
  return block;
}

void fold_inlined_comprehensions(StructureGraph& s) {
  for (bool any = true; any;) {
    any = fold_bare_comprehensions(s);
    any = fold_comprehensions_in_regions(s) || any;
  }
}

}  // namespace depyf
