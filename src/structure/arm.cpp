#include "structure/arm.h"

#include <algorithm>

#include "structure/build.h"
#include "structure/operations.h"

namespace depyf {

Arm arm_as_expression(StructureGraph& s, BlockId block, ValueId root, std::uint32_t inside_uses) {
  Node& node = s.nodes[block.index];
  root = s.resolve(root);
  for (ValueId v : node.body)
    if (s.is_op(v, Op::POP_TOP)) return {};
  // the last operation; a walrus ends in a store
  if (std::find(node.body.rbegin(), node.body.rend(), root) == node.body.rend()) return {};
  std::uint32_t saved = s.uses[root.index];
  if (saved < inside_uses) return {};
  s.uses[root.index] = saved - inside_uses + 1;
  std::uint32_t temporaries = s.temporaries.count;
  BlockBuilder builder(s, true);
  builder.run(node.body);
  ExprId e;
  if (!builder.failed) {
    e = builder.take(root);
    if (!e || builder.failed || !builder.out.empty() || builder.pending_count() != 0)
      e = ExprId::none();
    if (s.at(root).block != block && s.at(root).kind != ValueKind::Select) e = ExprId::none();
  }
  s.uses[root.index] = saved;
  s.temporaries.count = temporaries;
  if (!e) return {};
  if (builder.external) {
    const Expr& tree = s.ast[e];
    const Expr& first = tree.kind == ExprKind::BoolOp && tree.op == 0 ? s.ast[tree.kids[0]] : tree;
    if (first.kind != ExprKind::Compare || first.kids[0]) return {};
  }
  return {e, builder.external};
}

Arm prefix_as_arm(StructureGraph& s, BlockId block, std::size_t length, ValueId root,
                  std::uint32_t inside_uses) {
  std::vector<ValueId>& body = s.nodes[block.index].body;
  std::vector<ValueId> whole = body;
  body.resize(length);
  const Arm arm = arm_as_expression(s, block, root, inside_uses);
  body = std::move(whole);
  return arm;
}

std::uint32_t uses_in_tail(StructureGraph& s, const Node& node, std::size_t length, ValueId v) {
  std::uint32_t count = node.value && s.resolve(node.value) == v;
  const auto add = [&](std::span<const ValueId> taken) {
    for (ValueId each : taken) count += each && s.resolve(each) == v;
  };
  for (ValueId id : std::span(node.body).last(length)) add(s.at(id).operands);
  add(node.raise_args);
  if (node.term == TermKind::Jump) add(node.edges[0].args);
  return count;
}

std::uint32_t stores_before_tail(StructureGraph& s, const Node& node, std::size_t length,
                                 ValueId v) {
  std::uint32_t count = 0;
  for (ValueId id : std::span(node.body).first(node.body.size() - length))
    if (const Value& value = s.at(id);
        value.kind == ValueKind::Operation && is_name_store(value.op))
      count += s.resolve(value.operands[0]) == v;
  return count;
}

}  // namespace depyf
