// Rules "trivial parameter", "dead value", "dead parameter".
#include <algorithm>

#include "simplify/rules.h"

namespace depyf::simplifying {

// Rule: a parameter whose arguments are all one value v, or itself, is v.
// Proof: whenever the block is entered, the parameter gets v or the value it had before, which was
// v by induction. v dominates every edge that passes it; an edge that passes the parameter itself
// comes from a block which the parameter's own block dominates; so v dominates the block.
void remove_trivial_params(Lifted& lifted) {
  const Order order(lifted);
  std::vector<ValueId> work;
  for (std::uint32_t b : order.blocks)
    for (ValueId param : lifted.blocks[b].params) work.push_back(param);
  if (work.empty()) return;
  std::vector<ValueId> replacement(lifted.values.size());
  auto find = [&](ValueId id) {
    while (id.valid() && replacement[id.index].valid()) id = replacement[id.index];
    return id;
  };
  constexpr std::uint32_t kEnd = UINT32_MAX;
  std::vector<std::uint32_t> head(lifted.values.size(), kEnd), next;
  std::vector<ValueId> user;
  auto each_arg = [&](ValueId param, auto&& visit) {
    const Value& value = lifted[param];
    for (const Predecessor& edge : order.into(value.block.index)) {
      ValueId arg = arguments(lifted, edge)[value.arg];
      if (arg.valid()) visit(arg);
    }
  };
  for (ValueId param : work)
    each_arg(param, [&](ValueId arg) {
      if (lifted[arg].kind != ValueKind::Param || arg == param) return;
      next.push_back(head[arg.index]);
      user.push_back(param);
      head[arg.index] = static_cast<std::uint32_t>(next.size() - 1);
    });
  std::reverse(work.begin(), work.end());
  bool any = false;
  while (!work.empty()) {
    ValueId param = work.back();
    work.pop_back();
    if (replacement[param.index].valid()) continue;
    ValueId only;
    bool trivial = true;
    each_arg(param, [&](ValueId arg) {
      arg = find(arg);
      if (arg == param) return;
      if (only.valid() && arg != only) trivial = false;
      only = arg;
    });
    if (!trivial || !only.valid()) continue;
    replacement[param.index] = only;
    any = true;
    std::uint32_t last = kEnd;
    for (std::uint32_t k = head[param.index]; k != kEnd; k = next[k]) {
      work.push_back(user[k]);
      last = k;
    }
    if (last != kEnd && lifted[only].kind == ValueKind::Param) {
      next[last] = head[only.index];
      head[only.index] = head[param.index];
    }
  }
  if (!any) return;
  remove_params(lifted, order, [&](ValueId param) { return replacement[param.index].valid(); });
  replace_uses(lifted, replacement);
}

// Rule "dead value": an operation without effect that cannot raise and whose result nobody reads is
// dropped. Proof: by pure_values() it does nothing else than to produce its result. (What
// Lifted::held names counts as read: who asked for it wants to know how long it lives.) Rule "dead
// parameter": a parameter that is read by nothing, or only handed on to such parameters, is dropped
// with its arguments. Proof: passing a value has no effect.
void drop_dead(Lifted& lifted, const Module& module, bool dynamo) {
  const Order order(lifted);
  const std::vector<bool> pure = pure_values(lifted, module, order, dynamo);
  std::vector<bool> live(lifted.values.size(), false);
  std::vector<ValueId> work;
  auto use = [&](ValueId id) {
    if (!id.valid() || live[id.index]) return;
    live[id.index] = true;
    work.push_back(id);
  };
  for (std::uint32_t b : order.blocks) {
    const LiftedBlock& block = lifted.blocks[b];
    for (ValueId id : block.body) {
      if (pure[id.index]) continue;
      use(id);
      if (id.index < lifted.held.size())
        for (ValueId one : lifted.held[id.index]) use(one);
    }
    use(block.value);
    for (ValueId id : block.raise_args) use(id);
    if (b < lifted.held_at_end.size())
      for (ValueId id : lifted.held_at_end[b]) use(id);
  }
  while (!work.empty()) {
    ValueId id = work.back();
    work.pop_back();
    const Value& value = lifted[id];
    for (ValueId operand : value.operands) use(operand);
    if (value.kind == ValueKind::Param)
      for (const Predecessor& edge : order.into(value.block.index))
        use(arguments(lifted, edge)[value.arg]);
  }
  remove_params(lifted, order, [&](ValueId param) { return !live[param.index]; });
  for (std::uint32_t b : order.blocks) {
    LiftedBlock& block = lifted.blocks[b];
    std::erase_if(block.body, [&](ValueId id) { return !live[id.index]; });
  }
  for (std::uint32_t i = 0; i < lifted.held.size(); ++i)
    if (!live[i]) lifted.held[i].clear();
}

}  // namespace depyf::simplifying
