#include "structure/graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ast/negate.h"
#include "bytecode/class_end.h"
#include "support/small_vector.h"

namespace depyf {

StructureGraph::StructureGraph(Lifted& l, Ast& a, const StructureOptions& o)
    : lifted(l),
      ast(a),
      module(*a.module),
      options(o),
      entry(l.entry),
      first_expr(static_cast<std::uint32_t>(a.exprs.size())),
      first_stmt(static_cast<std::uint32_t>(a.stmts.size())) {
  if (ast.bodies.size() <= l.code.index) ast.bodies.resize(l.code.index + 1);
  if (!options.layout_tells) forget_layout();
  Body& body = ast.bodies[l.code.index];
  body.code = l.code;
  body.first_expr = first_expr;
  body.first_stmt = first_stmt;
  body.end_expr = body.end_stmt = UINT32_MAX;
  nodes.reserve(l.blocks.size());
  for (LiftedBlock& block : l.blocks) nodes.emplace_back(std::move(block));
  for (Node& node : nodes)
    node.leads_ahead = l.traits.source_order && node.term == TermKind::Jump &&
                       node.jump == JumpRole::Plain &&
                       first_offset(node.edges[0].to) > node.term_offset;
  regions.reserve(l.regions.size());
  for (const Region& region : l.regions) {
    StructRegion r;
    r.parent = region.parent;
    r.handler = region.handler;
    regions.push_back(r);
  }
  // What a parameter that nothing can stand for gets: a value too, which nobody reads.
  ValueId nothing;
  for (Node& node : nodes)
    for (int k = 0; k < node.edge_count(); ++k) {
      Node& to = nodes[node.edges[k].to.index];
      // 3.10 has lines alone, so that `if x: return` on one line looks the same: it is rare, and a
      // `return` after copies of a `finally` is not.
      to.at_test |= node.term == TermKind::Branch && to.term_columns == node.term_columns &&
                    to.term_line == node.term_line &&
                    (node.term_columns != 0 || !l.regions.empty());
      for (ValueId& arg : node.edges[k].args) {
        if (arg) continue;
        if (!nothing) {
          Value value;
          value.kind = ValueKind::Null;
          nothing = l.add(value);
        }
        arg = nothing;
      }
    }
  const std::size_t n = l.values.size(), with_added = n + n / 8 + 8;  // see add_value
  forward_.reserve(with_added);
  forward_.assign(n, ValueId());
  uses.reserve(with_added);
}

void StructureGraph::forget_layout() {
  lifted.ends_in_compound = false;
  lifted.loops.clear();
  lifted.elses.clear();
  lifted.behind_jumps.clear();
  for (Region& region : lifted.regions) region.after = kNoOffset;
}

ValueId StructureGraph::end_of_forwards(ValueId v) {
  ValueId root = v;
  while (forward_[root.index]) root = forward_[root.index];
  while (forward_[v.index]) {
    ValueId next = forward_[v.index];
    forward_[v.index] = root;
    v = next;
  }
  return root;
}

std::uint32_t StructureGraph::nesting_of_tree(ExprId e) {
  SmallVector<ExprId, 16> work{e};
  while (!work.empty()) {
    Expr& tree = ast[work.back()];
    std::uint32_t deepest = 1;
    std::size_t first = 0;
    // A display that grew has its earlier version's items in the same place.
    const bool is_long = tree.kids.size() >= kLongDisplay;
    if (is_long) {
      const auto earlier = displays_.find(tree.kids.data());
      if (earlier != displays_.end() && earlier->second.size <= tree.kids.size()) {
        first = earlier->second.size;
        deepest = earlier->second.deepest;
      }
    }
    tree.nesting = nesting_by_operands(tree, first, deepest);
    if (tree.nesting != 0) {
      if (is_long) displays_[tree.kids.data()] = {tree.kids.size(), tree.nesting};
      work.pop_back();
      continue;
    }
    for (const ExprId kid : tree.kids.subspan(first))
      if (kid && ast[kid].nesting == 0 && !ast[kid].kids.empty()) work.push_back(kid);
  }
  return ast[e].nesting;
}

ValueId StructureGraph::add_select(const Select& select, BlockId block, ValueId operand,
                                   ValueId replaced) {
  Value value;
  value.kind = ValueKind::Select;
  value.block = block;
  value.offset = at(replaced).offset;
  value.line = at(replaced).line;
  value.columns = at(replaced).columns;
  const ValueId operands[] = {operand};
  value.operands = lifted.arena.copy(operands);
  const ValueId id = add_value(value);
  note(id).select = static_cast<std::uint32_t>(selects.size());
  selects.push_back(select);
  return id;
}

ValueId StructureGraph::add_value(const Value& value) {
  ValueId id = lifted.add(value);
  forward_.emplace_back();
  uses.push_back(0);
  return id;
}

bool StructureGraph::lists_attributes(const Value& store) const {
  if (stored_name(module, lifted.code, store.op, store.arg) != "__static_attributes__")
    return false;
  if (!attribute_lists_) attribute_lists_ = attribute_lists(module, lifted.code);
  return std::ranges::find(*attribute_lists_, store.offset) != attribute_lists_->end();
}

ValueId StructureGraph::add_param(BlockId block) {
  Value param;
  param.kind = ValueKind::Param;
  param.block = block;
  return add_value(param);
}

ExprId StructureGraph::literal(ConstKind kind, std::int64_t integer) {
  Const made;
  made.kind = kind;
  made.integer = integer;
  return ast.constant(module.add(made));
}

StrId StructureGraph::temporary_for(ValueId v) {
  StrId& name = note(v).named;
  if (!name) {
    temporaries.made = true;
    name = module.intern(std::string(options.temp_prefix) + std::to_string(temporaries.count++));
    temporaries.named.push_back(v);
  }
  return name;
}

void StructureGraph::forget_temporaries(std::size_t kept, std::uint32_t count) {
  for (std::size_t i = kept; i < temporaries.named.size(); ++i)
    note(temporaries.named[i]).named = StrId();
  temporaries.named.resize(kept);
  temporaries.count = count;
}

std::vector<ValueId> StructureGraph::results_of(ValueId op) const {
  std::vector<ValueId> out;
  for (std::uint32_t i = op.index + 1; i < lifted.values.size(); ++i) {
    const Value& v = lifted.values[i];
    if (v.kind != ValueKind::Result || v.operands.empty() || v.operands[0] != op) break;
    out.push_back(ValueId(i));
  }
  return out;
}

void StructureGraph::add_edge_uses(const Edge& edge, int delta) {
  for (ValueId arg : edge.args) uses[resolve(arg).index] += static_cast<std::uint32_t>(delta);
}

void StructureGraph::count_uses() {
  ++changes;
  forwarded_since_count_ = false;
  uses.assign(lifted.values.size(), 0);
  SmallVector<ValueId, 64> constants;
  // Local pointers: a store to `counts` cannot change where the tables are, which the compiler
  // would else load again after each store.
  std::uint32_t* const counts = uses.data();
  const ValueId* const forwards = forward_.data();
  const Value* const values = lifted.values.data();
  const auto count = [&](std::span<ValueId> read) {
    for (ValueId& v : read) {
      if (!v) continue;
      if (forwards[v.index]) [[unlikely]]
        v = end_of_forwards(v);
      ++counts[v.index];
    }
  };
  for (Node& node : nodes) {
    if (!node.alive) continue;
    for (ValueId v : node.body) {
      const Value& value = values[v.index];
      if (value.op == Op::LOAD_CONST) constants.push_back(v);
      count(value.operands);
    }
    count({&node.value, 1});
    count(node.raise_args);
    for (int i = 0; i < node.edge_count(); ++i) count(node.edges[i].args);
  }
  // A constant that nobody reads is nothing, and would keep a block from being empty.
  const auto unread = [&](ValueId v) { return uses[v.index] == 0 && is_const(v); };
  if (std::none_of(constants.begin(), constants.end(), unread)) return;
  for (Node& node : nodes)
    if (node.alive) std::erase_if(node.body, unread);
}

void StructureGraph::count_preds() {
  ++changes;
  for (Node& node : nodes) node.pred_count = 0;
  for (Node& node : nodes) {
    if (!node.alive) continue;
    for (int i = 0; i < node.edge_count(); ++i) ++nodes[node.edges[i].to.index].pred_count;
  }
  ++nodes[entry.index].pred_count;
  for (StructRegion& region : regions)
    if (region.handler && region.kind != RegionKind::Erased && region.kind != RegionKind::Scope)
      ++nodes[region.handler.index].pred_count;
}

void StructureGraph::recount() {
  count_uses();
  count_preds();
  counted_at_ = changes;
}

bool StructureGraph::is_ancestor(RegionId outer, RegionId inner) const {
  if (!outer) return true;
  while (inner && inner != outer) inner = regions[inner.index].parent;
  return inner == outer;
}

/// Does the place of the jump tell that it was written (3.11+)? What the compiler adds has the
/// place of what comes before it.
bool StructureGraph::is_written_break(const Node& node) const {
  return !node.body.empty() && is_written(node, "break");
}

bool StructureGraph::is_written_continue(const Node& node) const {
  if (node.term_columns != 0) return is_written(node, "continue");
  return source_layout_tells() && has_row_of_its_own(node);
}

bool StructureGraph::is_continue_behind(const Node& node) const {
  return !node.body.empty() && at(node.body.back()).line < node.term_line &&
         is_written_continue(node);
}

bool StructureGraph::is_written(const Node& node, std::string_view keyword) const {
  return source_layout_tells() && !node.at_test && has_width_of(node.term_columns, {keyword}) &&
         has_row_of_its_own(node);
}

bool StructureGraph::has_row_of_its_own(const Node& node) const {
  if (node.body.empty()) return true;
  const Value& before = at(node.body.back());
  return before.line != node.term_line && before.line > 0;
}

bool StructureGraph::can_merge(BlockId a) const {
  const Node& node = nodes[a.index];
  if (!node.is_plain_jump()) return false;
  BlockId b = node.edges[0].to;
  if (b == a || b == entry || b == body_end || is_written_break(node)) return false;
  const Node& next = nodes[b.index];
  return next.pred_count == 1 && next.region == node.region &&
         next.params.size() == node.edges[0].args.size();
}

void StructureGraph::merge(BlockId a) {
  ++changes;
  Node& node = nodes[a.index];
  BlockId b = node.edges[0].to;
  Node& next = nodes[b.index];
  Edge edge = node.edges[0];
  for (std::size_t i = 0; i < next.params.size(); ++i) {
    ValueId arg = resolve(edge.args[i]);
    ValueId param = next.params[i];
    uses[arg.index] += uses[param.index] - 1;
    replace_by(param, arg);
  }
  for (ValueId v : next.body) lifted.values[v.index].block = a;
  node.body.insert(node.body.end(), next.body.begin(), next.body.end());
  node.term = next.term;
  node.jump = next.jump;
  node.leads_ahead = next.leads_ahead;
  node.in_place |= next.in_place;
  node.at_test = next.at_test;
  node.value = next.value;
  node.item = next.item;
  node.raise_args = next.raise_args;
  node.edges[0] = next.edges[0];
  node.edges[1] = next.edges[1];
  node.falls = next.falls;
  node.take_position(next);
  node.async_for = next.async_for;
  node.match = next.match;
  next.alive = false;
  next.body.clear();
  next.params.clear();
  next.pred_count = 0;
}

std::vector<BlockId> StructureGraph::reverse_postorder_blocks() {
  SmallVector<bool, 256> seen(nodes.size());
  std::vector<BlockId> order(nodes.size());  // filled from the end
  std::size_t first = order.size();
  struct Visit {
    BlockId block;
    RegionId region;  // next region whose handler is to be visited
    int left;         // normal edges still to be visited, from the last one on
  };
  SmallVector<Visit, 64> stack;
  const Node* const graph = nodes.data();
  const auto push = [&](BlockId b) {
    if (seen[b.index]) return;
    seen[b.index] = true;
    const Node& node = graph[b.index];
    if (!node.region && node.edge_count() == 0)
      order[--first] = b;
    else
      stack.push_back({b, node.region, node.edge_count()});
  };
  push(entry);
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (top.region) {  // handlers first, so that they come late in the order
      const StructRegion& region = regions[top.region.index];
      top.region = region.parent;
      if (region.handler && region.kind != RegionKind::Erased && region.kind != RegionKind::Scope)
        push(region.handler);
    } else if (top.left > 0) {
      push(graph[top.block.index].edges[--top.left].to);
    } else {
      order[--first] = top.block;
      stack.pop_back();
    }
  }
  order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first));
  return order;
}

bool StructureGraph::any_edge_back() const {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (int k = 0; k < nodes[i].edge_count(); ++k)
      if (nodes[i].edges[k].to.index <= i) return true;
  return false;
}

/// By node: does control get there, with exceptions or without?
std::vector<std::uint8_t> StructureGraph::reached(bool with_exceptions, BlockId from,
                                                  BlockId barrier) const {
  std::vector<std::uint8_t> reached(nodes.size(), 0);
  if (barrier) reached[barrier.index] = 1;
  SmallVector<BlockId, 64> work;
  const auto reach = [&](BlockId to) {
    if (std::exchange(reached[to.index], 1) == 0) work.push_back(to);
  };
  reach(from);
  while (!work.empty()) {
    const Node& node = nodes[work.back().index];
    work.pop_back();
    for (int k = 0; k < node.edge_count(); ++k) reach(node.edges[k].to);
    for (RegionId r = node.region; with_exceptions && r; r = regions[r.index].parent)
      if (const StructRegion& region = regions[r.index];
          region.handler && region.kind != RegionKind::Erased && region.kind != RegionKind::Scope)
        reach(region.handler);
  }
  return reached;
}

std::vector<std::uint32_t> StructureGraph::positions(std::span<const BlockId> order) const {
  std::vector<std::uint32_t> positions(nodes.size(), UINT32_MAX);
  for (std::uint32_t i = 0; i < order.size(); ++i) positions[order[i].index] = i;
  return positions;
}

std::vector<std::vector<BlockId>> StructureGraph::predecessors(
    std::span<const BlockId> order) const {
  std::vector<std::vector<BlockId>> preds(nodes.size());
  for (BlockId b : order)
    for (int k = 0; k < nodes[b.index].edge_count(); ++k)
      preds[nodes[b.index].edges[k].to.index].push_back(b);
  return preds;
}

bool StructureGraph::tidy_jumps() {
  const bool threaded = thread_empty_blocks(), merged = merge_straight_lines();
  return threaded || merged;
}

namespace {

/// An empty block that only jumps is skipped. Kept: a block that stands before a protected region
/// and is entered more than once, because it tells a `try` inside a loop from a loop inside a
/// `try`; and where the operands of an `and` or `or` meet whose value is dropped.
class EmptyBlocks {
 public:
  explicit EmptyBlocks(StructureGraph& s) : s_(s), empties_(s.nodes.size()) {}

  bool skip() {
    bool none = true;
    for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
      empties_[i] = is_empty(s_.nodes[i]);
      none &= !empties_[i];
    }
    if (none) return false;
    find_dropped_operands();
    bool any = false;
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i)
      for (int k = 0; s_.nodes[i].alive && k < s_.nodes[i].edge_count(); ++k)
        for (int steps = 0; steps < kMostHops && may_skip(s_.nodes[i], k); ++steps) {
          skip(i, k);
          any = true;
        }
    if (!unclear_.empty()) std::sort(statements_.begin(), statements_.end());
    for (const Unclear& u : unclear_)
      if (Edge& edge = s_.nodes[u.node].edges[u.k];
          !edge.written && s_.nodes[u.node].alive &&
          std::binary_search(statements_.begin(), statements_.end(), u.empty))
        edge.written = u.jump;
    return any;
  }

 private:
  struct Unclear {
    std::uint32_t node;
    int k;
    BlockId empty;
    WrittenJump jump;
  };

  /// With the drop of a loop's iterator, which marks the loop's end: no mark is needed where other
  /// ways lead there too, see may_skip().
  bool is_empty(const Node& node) const {
    return node.is_plain_jump() && std::all_of(node.body.begin(), node.body.end(),
                                               [&](ValueId v) { return s_.is_op(v, Op::POP_TOP); });
  }

  void find_dropped_operands() {
    if (s_.options.made_by_dynamo) return;
    for (const Node& node : s_.nodes) {
      if (node.term != TermKind::Branch || !node.alive) continue;
      for (const Edge& edge : node.edges)
        for (std::size_t i = 0; i < edge.args.size(); ++i)
          if (s_.resolve(edge.args[i]) == s_.resolve(node.value) &&
              s_.uses[s_[edge.to].params[i].index] == 0)
            drops_operands_.push_back(edge.to);
    }
    std::sort(drops_operands_.begin(), drops_operands_.end());
  }

  bool may_skip(const Node& node, int k) {
    const BlockId to = node.edges[k].to;
    if (!empties_[to.index] || to == s_.entry) return false;
    const Node& empty = s_[to];
    const BlockId behind = empty.edges[0].to;
    const Node& target = s_[behind];
    if (behind == to || (!empty.body.empty() && target.pred_count < 2) ||
        std::binary_search(drops_operands_.begin(), drops_operands_.end(), to))
      return false;
    if (target.region != empty.region && s_.is_ancestor(empty.region, target.region)) {
      if (empty.pred_count > 1) return false;
      // out of the region and back into it, past no copy of what a `finally` or `with` does
      RegionId entered = target.region;
      while (s_.regions[entered.index].parent != empty.region)
        entered = s_.regions[entered.index].parent;
      if (s_.is_ancestor(entered, node.region) &&
          (!cleans_up(s_.regions[entered.index].kind) || empty.behind_copy))
        return false;
    }
    // all that a statement protects: `with a: pass`
    if (empty.region && s_.regions[empty.region.index].kind != RegionKind::Scope &&
        !s_.is_ancestor(empty.region, node.region) && !s_.is_ancestor(empty.region, target.region))
      return false;
    return std::all_of(empty.params.begin(), empty.params.end(), [&](ValueId param) {
      std::uint32_t passed_on = 0;
      for (ValueId arg : empty.edges[0].args) passed_on += s_.resolve(arg) == param;
      return s_.uses[param.index] == passed_on;
    });
  }

  void skip(std::uint32_t i, int k) {
    const Node& node = s_.nodes[i];
    Edge& edge = s_.nodes[i].edges[k];
    const BlockId skipped = edge.to;
    Node& empty = s_[skipped];
    SmallVector<ValueId, 8> args;
    for (ValueId arg : empty.edges[0].args) {
      ValueId v = s_.resolve(arg);
      const auto param = std::find(empty.params.begin(), empty.params.end(), v);
      if (param != empty.params.end())
        v = s_.resolve(edge.args[static_cast<std::size_t>(param - empty.params.begin())]);
      args.push_back(v);
    }
    s_.add_edge_uses(edge, -1);
    const BlockId to = empty.edges[0].to;
    --empty.pred_count;
    edge = Edge{to, s_.lifted.arena.copy(args), written_jump(node, k, skipped, i)};
    s_.add_edge_uses(edge, 1);
    ++s_[to].pred_count;
    if (empty.pred_count == 0) {
      s_.add_edge_uses(empty.edges[0], -1);
      --s_[to].pred_count;
      empty.alive = false;
    }
  }

  /// A jump right after a test, of another line, is a statement of its own.
  WrittenJump written_jump(const Node& node, int k, BlockId skipped, std::uint32_t i) {
    const Node& empty = s_[skipped];
    const WrittenJump known = node.edges[k].written;
    if (!known && node.term == TermKind::Jump && node.term_line > 0 &&
        empty.term_line > node.term_line && s_.is_written_continue(empty))
      return {empty.term_line, empty.term_offset, empty.term_columns, empty.leads_ahead};
    if (known || node.term != TermKind::Branch || node.term_line <= 0 ||
        empty.term_line == node.term_line || empty.term_offset <= node.term_offset)
      return known;
    const std::uint32_t other = s_.first_offset(node.edges[1 - k].to);
    const WrittenJump jump{empty.term_line, empty.term_offset, empty.term_columns,
                           empty.leads_ahead};
    if (other > empty.term_offset || other <= node.term_offset ||
        is_jump_width(empty.term_columns)) {
      statements_.push_back(skipped);
      return jump;
    }
    unclear_.push_back({i, k, skipped, jump});
    return known;
  }

  StructureGraph& s_;
  SmallVector<bool, 256> empties_;
  SmallVector<BlockId, 16> drops_operands_;
  std::vector<Unclear> unclear_;         // ways past a jump that may be a statement,
  SmallVector<BlockId, 16> statements_;  // which another way tells
};

}  // namespace

bool StructureGraph::thread_empty_blocks() {
  const bool any = EmptyBlocks(*this).skip();
  if (any) ++changes;
  return any;
}

bool StructureGraph::merge_straight_lines() {
  bool any = false;
  for (std::uint32_t i = 0; i < nodes.size() && !any; ++i)
    any = nodes[i].alive && can_merge(BlockId(i));
  if (!any) return false;
  for (BlockId block : reverse_postorder_blocks())
    while (nodes[block.index].alive && can_merge(block)) merge(block);
  return true;
}

namespace {

bool same_slots(std::span<const Slot> a, std::span<const Slot> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Slot& x, const Slot& y) {
    return x.name == y.name && x.kind == y.kind;
  });
}

/// All that a program can tell of a code object but its constants and its place in the source.
bool same_code_apart_from_constants(const CodeObject& a, const CodeObject& b) {
  return a.name == b.name && a.qualname == b.qualname && a.flags == b.flags &&
         a.argcount == b.argcount && a.posonlyargcount == b.posonlyargcount &&
         a.kwonlyargcount == b.kwonlyargcount && std::ranges::equal(a.code, b.code) &&
         std::ranges::equal(a.names, b.names) && same_slots(a.slots, b.slots) &&
         std::ranges::equal(a.deref_slots, b.deref_slots) &&
         std::ranges::equal(a.exceptiontable, b.exceptiontable);
}

}  // namespace

bool StructureGraph::same_const(ConstId a, ConstId b) const {
  SmallVector<ConstId, 16> work{a, b};
  for (std::size_t pairs = 0; !work.empty(); ++pairs) {
    const ConstId q = work.back();
    work.pop_back();
    const ConstId p = work.back();
    work.pop_back();
    if (p == q) continue;
    const Const &x = module[p], &y = module[q];
    if (x.kind != y.kind || pairs > kMostCompared) return false;
    std::span<const ConstId> left = x.items, right = y.items;
    switch (x.kind) {
      case ConstKind::None:
      case ConstKind::True:
      case ConstKind::False:
      case ConstKind::Ellipsis:
      case ConstKind::StopIteration:
        continue;
      case ConstKind::Int:
        if (x.big != y.big || x.integer != y.integer || x.text != y.text) return false;
        continue;
      case ConstKind::Str:
      case ConstKind::Bytes:
        if (x.text != y.text) return false;
        continue;
      case ConstKind::Float:
      case ConstKind::Complex:
        if (std::memcmp(&x.re, &y.re, sizeof x.re) != 0 ||
            std::memcmp(&x.im, &y.im, sizeof x.im) != 0)
          return false;
        continue;
      case ConstKind::Object:
        if (x.object != y.object) return false;
        continue;
      case ConstKind::Code:
        if (!same_code_apart_from_constants(module[x.code], module[y.code])) return false;
        left = module[x.code].consts;
        right = module[y.code].consts;
        break;
      case ConstKind::Tuple:
      case ConstKind::List:
      case ConstKind::Set:
      case ConstKind::FrozenSet:
      case ConstKind::Dict:
      case ConstKind::Slice:
        break;
    }
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      work.push_back(left[i]);
      work.push_back(right[i]);
    }
  }
  return true;
}

bool StructureGraph::same_operation(const Value& a, const Value& b) const {
  if (a.kind != ValueKind::Operation || b.kind != ValueKind::Operation || a.op != b.op ||
      a.aux != b.aux || a.operands.size() != b.operands.size())
    return false;
  return a.op == Op::LOAD_CONST ? same_const(ConstId(a.arg), ConstId(b.arg)) : a.arg == b.arg;
}

bool StructureGraph::same_select(ValueId a, ValueId b) {
  const Select &m = select_of(a), &n = select_of(b);
  return m.kind == n.kind && m.chained == n.chained && m.negate_first == n.negate_first &&
         same_tree(m.rest, n.rest) && same_tree(m.orelse, n.orelse) &&
         same_tree(m.decided, n.decided);
}

bool StructureGraph::negated_select(ValueId a, ValueId b, bool first_negated) {
  const Select m = select_of(a), n = select_of(b);
  const bool kinds = (m.kind == Select::And && n.kind == Select::Or) ||
                     (m.kind == Select::Or && n.kind == Select::And);
  return kinds && !m.chained && !n.chained && (m.negate_first != n.negate_first) != first_negated &&
         opposite_tests(m.rest, n.rest);
}

bool StructureGraph::opposite_tests(ExprId a, ExprId b) {
  struct Test {
    ExprId expr;
    bool negated;
  };
  const auto bare = [&](Test t) {
    while (is_not(ast[t.expr])) t = {ast[t.expr].kids[0], !t.negated};
    return t;
  };
  // 0 for `and`, 1 for `or`, by De Morgan's laws; none of them: 2
  const auto connective = [&](Test t) {
    const Expr& e = ast[t.expr];
    return e.kind == ExprKind::BoolOp ? (e.op != 0) != t.negated : 2;
  };
  const auto operands = [&](Test whole) {
    std::vector<Test> out, stack{whole};
    const int kind = connective(whole);
    while (!stack.empty()) {
      const Test t = bare(stack.back());
      stack.pop_back();
      if (connective(t) != kind) {
        out.push_back(t);
        continue;
      }
      const std::span<const ExprId> kids = ast[t.expr].kids;
      for (std::size_t i = kids.size(); i > 0; --i) stack.push_back({kids[i - 1], t.negated});
    }
    return out;
  };
  std::vector<std::pair<Test, Test>> work{{{a, true}, {b, false}}};
  while (!work.empty()) {
    const Test p = bare(work.back().first), q = bare(work.back().second);
    work.pop_back();
    if (connective(p) != connective(q)) return false;
    if (connective(p) == 2) {
      if (!same_tree(p.negated == q.negated ? p.expr : negate(ast, p.expr), q.expr)) return false;
      continue;
    }
    const std::vector<Test> left = operands(p), right = operands(q);
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) work.push_back({left[i], right[i]});
  }
  return true;
}

/// The operands of `and` or `or`, with those of a first one in parentheses (kInner).
std::vector<ExprId> StructureGraph::all_operands(const Expr& whole) const {
  std::vector<ExprId> out(whole.kids.begin(), whole.kids.end());
  for (ExprId first = out[0];
       ast[first].kind == ExprKind::BoolOp && ast[first].op == whole.op && ast[first].a == kInner;
       first = out[0]) {
    const std::span<const ExprId> kids = ast[first].kids;
    out.erase(out.begin());
    out.insert(out.begin(), kids.begin(), kids.end());
  }
  return out;
}

bool StructureGraph::same_tree(ExprId a, ExprId b) {
  std::vector<std::pair<ExprId, ExprId>> work{{a, b}};
  while (!work.empty()) {
    auto [p, q] = work.back();
    work.pop_back();
    if (p == q) continue;
    if (!p || !q) return false;
    const Expr &x = ast[p], &y = ast[q];
    if (x.kind == ExprKind::BoolOp && y.kind == x.kind && x.op == y.op) {
      // Code under a handler shows the parentheses (3.14), its copy outside does not.
      const std::vector<ExprId> left = all_operands(x), right = all_operands(y);
      if (left.size() != right.size()) return false;
      for (std::size_t i = 0; i < left.size(); ++i) work.push_back({left[i], right[i]});
      continue;
    }
    if (x.kind != y.kind || x.op != y.op || x.kids.size() != y.kids.size() ||
        !std::equal(x.extra.begin(), x.extra.end(), y.extra.begin(), y.extra.end()))
      return false;
    if (x.kind == ExprKind::Constant ? !same_const(ConstId(x.a), ConstId(y.a)) : x.a != y.a)
      return false;
    for (std::size_t i = 0; i < x.kids.size(); ++i) work.push_back({x.kids[i], y.kids[i]});
  }
  return true;
}

void StructureGraph::diagnose(std::uint8_t level, std::uint32_t offset, std::string message) {
  ast.diagnostics.push_back({Diagnostic::Ladder, level, lifted.code, offset, std::move(message)});
}

/// Does the block raise what an `assert` raises?
bool StructureGraph::fails_assertion(BlockId b) {
  const Node& node = nodes[b.index];
  const bool goes_on = !node.body.empty() && is_op(node.body.back(), Op::RAISE);  // into dead code
  const std::span<const ValueId> raised = goes_on ? at(node.body.back()).operands
                                          : node.term == TermKind::Raise ? node.raise_args
                                                                         : std::span<ValueId>();
  if (raised.size() != 1) return false;
  ValueId type = resolve(raised[0]);
  if (is_op(type, Op::CALL)) type = resolve(at(type).operands[0]);
  if (is_op(type, Op::LOAD_COMMON))
    return static_cast<CommonConstant>(at(type).arg) == CommonConstant::AssertionError;
  return lifted.traits.source_order && is_op(type, Op::LOAD_GLOBAL) &&
         module[StrId(at(type).arg)] == "AssertionError";
}

std::size_t StructureGraph::test_length(BlockId b) {
  const Node& node = nodes[b.index];
  if (node.term != TermKind::Branch) return 0;
  std::unordered_set<std::uint32_t> needed{resolve(node.value).index};
  std::size_t length = 0;
  for (std::size_t i = node.body.size(); i > 0; --i) {
    const ValueId v = node.body[i - 1];
    const Value& value = at(v);
    // a walrus: the store of a value that the test uses too
    const bool walrus = value.kind == ValueKind::Operation && is_name_store(value.op) &&
                        needed.count(resolve(value.operands[0]).index) != 0;
    if (needed.erase(v.index) == 0 && !walrus) break;
    for (ValueId operand : value.operands)
      if (const ValueId o = resolve(operand)) needed.insert(o.index);
    ++length;
  }
  return length;
}

BlockId StructureGraph::split_test(BlockId b, std::size_t length) {
  if (nodes[b.index].body.size() == length && nodes[b.index].params.empty()) return b;
  ++changes;
  return split_off(b, nodes[b.index].body.size() - length);
}

BlockId StructureGraph::split_off(BlockId b, std::size_t from) {
  Node tail = nodes[b.index];
  tail.body.erase(tail.body.begin(), tail.body.begin() + static_cast<std::ptrdiff_t>(from));
  tail.params.clear();
  const BlockId id = add_node(std::move(tail));
  for (ValueId v : nodes[id.index].body) lifted.values[v.index].block = id;
  nodes[b.index].body.resize(from);
  nodes[b.index].jump_to(id);
  return id;
}

}  // namespace depyf
