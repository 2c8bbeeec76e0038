// Rule "sets of constants": SET_UPDATE(BUILD_SET(), frozenset({a, b, c})), of a set that nothing else has seen, is BUILD_SET(a, b, c), and the order of
// its constants is any.
//
// Proof: a display of three constants or more compiles to the former (compile.c, starunpack_helper; 3.9+), Dynamo builds the latter. Both make a set of
// the same items, since no two of them are equal; hashing texts, bytes, integers and singletons calls nothing of the program. In which order a set gives
// its items is nothing that the language promises, and CPython's own compiler does not keep it.
#include <algorithm>
#include <tuple>

#include "simplify/rules.h"

namespace depyf::simplifying {

namespace {

/// Where a constant stands in the order that all sets get. Of no two kinds is one constant equal to another: a bool would be to an integer.
bool ordered(const Const& c) {
  return c.kind == ConstKind::None || c.kind == ConstKind::Ellipsis || c.kind == ConstKind::Int || c.kind == ConstKind::Str || c.kind == ConstKind::Bytes;
}
auto place(const Const& c) { return std::tuple(c.kind, c.big, c.integer, c.text); }

}  // namespace

void order_constant_sets(Lifted& lifted, const Module& module) {
  const auto is_set = [&](Op op) { return op == Op::BUILD_SET || op == Op::SET_UPDATE; };
  if (std::none_of(lifted.values.begin(), lifted.values.end(), [&](const Value& v) { return v.kind == ValueKind::Operation && is_set(v.op); })) return;
  const std::vector<std::uint32_t> uses = count_uses(lifted);
  std::vector<ValueId> body, items;
  for (LiftedBlock& block : lifted.blocks) {
    body.clear();
    for (ValueId id : block.body) {
      const Value value = lifted[id];
      items.clear();
      if (value.kind == ValueKind::Operation && value.op == Op::SET_UPDATE && !(value.aux & kInPlace)) {
        const Value& empty = lifted[value.operands[0]];
        const Value& constant = lifted[value.operands[1]];
        if (empty.op == Op::BUILD_SET && empty.kind == ValueKind::Operation && empty.operands.empty() && uses[value.operands[0].index] == 1 &&
            constant.op == Op::LOAD_CONST && constant.kind == ValueKind::Operation && module[ConstId(constant.arg)].kind == ConstKind::FrozenSet)
          for (ConstId item : module[ConstId(constant.arg)].items) {
            Value load = constant;
            load.arg = item.index;
            load.block = value.block;
            items.push_back(lifted.add(load));
          }
      } else if (value.kind == ValueKind::Operation && value.op == Op::BUILD_SET) {
        items.assign(value.operands.begin(), value.operands.end());
      }
      const auto constant_of = [&](ValueId v) -> const Const& { return module[ConstId(lifted[v].arg)]; };
      const bool constants = std::all_of(items.begin(), items.end(), [&](ValueId v) {
        return lifted[v].kind == ValueKind::Operation && lifted[v].op == Op::LOAD_CONST && ordered(constant_of(v));
      });
      if (items.size() > 1 && constants) {
        if (value.op == Op::SET_UPDATE) body.insert(body.end(), items.begin(), items.end());
        std::sort(items.begin(), items.end(), [&](ValueId a, ValueId b) { return place(constant_of(a)) < place(constant_of(b)); });
        const bool different = std::adjacent_find(items.begin(), items.end(), [&](ValueId a, ValueId b) { return place(constant_of(a)) == place(constant_of(b)); }) == items.end();
        if (different) {
          if (value.op == Op::SET_UPDATE) std::erase(body, value.operands[0]);
          lifted[id].op = Op::BUILD_SET;
          lifted[id].arg = static_cast<std::uint32_t>(items.size());
          lifted[id].aux = 0;
          lifted[id].operands = lifted.arena.copy(std::span<const ValueId>(items));
        }
      }
      body.push_back(id);
    }
    if (!std::equal(body.begin(), body.end(), block.body.begin(), block.body.end())) block.body.swap(body);
  }
}

}  // namespace depyf::simplifying
