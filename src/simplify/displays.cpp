// Rule "sets of constants": SET_UPDATE(BUILD_SET(), frozenset({a, b, c})), of a set that nothing else has seen, is BUILD_SET(a, b, c), and the order of
// its constants is any.
//
// Proof: a display of three constants or more compiles to the former (compile.c, starunpack_helper; 3.9+), Dynamo builds the latter. Both make a set of
// the same items, since no two of them are equal; hashing texts, bytes, integers and singletons calls nothing of the program. In which order a set gives
// its items is nothing that the language promises, and CPython's own compiler does not keep it.
//
// Rule "maps at once": MAP_ADD(m, k, v) and DICT_UPDATE(m, n), of dicts m and n that nothing else has seen and whose keys are constants, are one BUILD_MAP of
// all their keys and values.
//
// Proof: a display of more than 15 pairs compiles to such steps (compile.c, compiler_dict), Dynamo builds it at once. Between two steps values are evaluated,
// which cannot see the dict, and if that raises, dict and values are dropped either way. Hashing and comparing such keys calls nothing of the program;
// where two are equal, the first one stays and the last value counts, either way.
#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "simplify/rules.h"

namespace depyf::simplifying {

namespace {

/// Where a constant stands in the order that all sets get. Of no two kinds is one constant equal to another: a bool would be to an integer.
bool ordered(const Const& c) {
  return c.kind == ConstKind::None || c.kind == ConstKind::Ellipsis || c.kind == ConstKind::Int || c.kind == ConstKind::Str || c.kind == ConstKind::Bytes;
}
auto place(const Const& c) { return std::tuple(c.kind, c.big, c.integer, c.text); }

/// Of numbers, texts and singletons: hashing and comparing runs no code of the program.
bool plain_key(const Const& c) {
  return ordered(c) || c.kind == ConstKind::True || c.kind == ConstKind::False || c.kind == ConstKind::Float || c.kind == ConstKind::Complex;
}

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

void build_maps_at_once(Lifted& lifted, const Module& module) {
  const auto grows = [](const Value& v) { return v.kind == ValueKind::Operation && (v.op == Op::MAP_ADD || v.op == Op::DICT_UPDATE) && !(v.aux & kInPlace); };
  if (std::none_of(lifted.values.begin(), lifted.values.end(), grows)) return;
  const std::vector<std::uint32_t> uses = count_uses(lifted);
  const auto constant = [&](ValueId v) -> const Const* {
    return lifted[v].kind == ValueKind::Operation && lifted[v].op == Op::LOAD_CONST ? &module[ConstId(lifted[v].arg)] : nullptr;
  };
  const auto is_key = [&](ValueId v) {
    const Const* c = constant(v);
    return c && plain_key(*c);
  };
  std::vector<std::uint8_t> gone(lifted.values.size(), 0);
  std::vector<ValueId> body;
  for (LiftedBlock& block : lifted.blocks) {
    if (std::none_of(block.body.begin(), block.body.end(), [&](ValueId id) { return grows(lifted[id]); })) continue;
    std::unordered_map<std::uint32_t, std::vector<ValueId>> pairs;  // by value: keys and values of a display of this block
    body.clear();
    for (ValueId id : block.body) {
      const Value value = lifted[id];
      const std::span<const ValueId> operands = value.operands;
      const auto own = [&](ValueId v) { return uses[v.index] == 1 ? pairs.find(v.index) : pairs.end(); };
      if (value.kind == ValueKind::Operation && value.op == Op::BUILD_MAP) {
        bool keys = true;
        for (std::size_t i = 0; i + 1 < operands.size(); i += 2) keys &= is_key(operands[i]);
        if (keys) pairs[id.index].assign(operands.begin(), operands.end());
      } else if (value.kind == ValueKind::Operation && value.op == Op::BUILD_CONST_KEY_MAP) {
        const Const* keys = constant(operands.back());
        if (keys && keys->kind == ConstKind::Tuple && keys->items.size() + 1 == operands.size() &&
            std::all_of(keys->items.begin(), keys->items.end(), [&](ConstId key) { return plain_key(module[key]); })) {
          std::vector<ValueId>& list = pairs[id.index];
          for (std::size_t i = 0; i < keys->items.size(); ++i) {
            Value load = lifted[operands.back()];
            load.arg = keys->items[i].index;
            load.block = value.block;
            list.push_back(lifted.add(load));
            body.push_back(list.back());
            list.push_back(operands[i]);
          }
        }
      } else if (grows(value)) {
        const auto grown = own(operands[0]);
        if (grown != pairs.end() && value.op == Op::MAP_ADD && is_key(operands[1])) {
          std::vector<ValueId> list = std::move(grown->second);
          list.insert(list.end(), operands.begin() + 1, operands.end());
          gone[operands[0].index] = 1;
          pairs[id.index] = std::move(list);
        } else if (grown != pairs.end() && value.op == Op::DICT_UPDATE && own(operands[1]) != pairs.end()) {
          std::vector<ValueId> list = std::move(grown->second);
          const std::vector<ValueId>& more = own(operands[1])->second;
          list.insert(list.end(), more.begin(), more.end());
          gone[operands[0].index] = gone[operands[1].index] = 1;
          pairs[id.index] = std::move(list);
        }
      }
      body.push_back(id);
    }
    std::erase_if(body, [&](ValueId id) { return id.index < gone.size() && gone[id.index]; });
    for (ValueId id : body)
      if (const auto made = pairs.find(id.index); made != pairs.end() && grows(lifted[id])) {
        Value& value = lifted[id];
        value.op = Op::BUILD_MAP;
        value.arg = static_cast<std::uint32_t>(made->second.size() / 2);
        value.aux = 0;
        value.operands = lifted.arena.copy(made->second);
      }
    block.body.swap(body);
  }
}

}  // namespace depyf::simplifying
