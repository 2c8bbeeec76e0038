#include "structure/graph.h"

#include <algorithm>
#include <utility>

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
  value.operands = lifted.arena.copy(std::initializer_list<ValueId>{operand});
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

ValueId StructureGraph::add_none(BlockId block) {
  Value none;
  none.op = Op::LOAD_CONST;
  none.arg = module.add(Const()).index;
  none.block = block;
  return add_value(none);
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
    if (region.catches()) ++nodes[region.handler.index].pred_count;
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
      if (region.catches()) push(region.handler);
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
      if (regions[r.index].catches()) reach(regions[r.index].handler);
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

bool StructureGraph::merge_straight_lines() {
  bool any = false;
  for (std::uint32_t i = 0; i < nodes.size() && !any; ++i)
    any = nodes[i].alive && can_merge(BlockId(i));
  if (!any) return false;
  for (BlockId block : reverse_postorder_blocks())
    while (nodes[block.index].alive && can_merge(block)) merge(block);
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
  if (!node.tests_value()) return 0;
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
  nodes[b.index].body.resize(from);
  nodes[b.index].jump_to(id);
  return id;
}

}  // namespace depyf
