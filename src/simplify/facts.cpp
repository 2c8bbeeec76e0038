// What the rules ask about the code: edges, uses, definitely bound locals, purity.
#include "flow/dominators.h"
#include "simplify/rules.h"

namespace depyf {
namespace simplifying {

Order::Order(const Lifted& lifted) {
  const std::uint32_t n = static_cast<std::uint32_t>(lifted.blocks.size());
  Graph graph;
  graph.offsets.push_back(0);
  first.assign(n + 1, 0);
  auto each = [&](std::uint32_t b, auto&& visit) {
    const LiftedBlock& block = lifted.blocks[b];
    for (std::uint8_t k = 0; k < 2; ++k)
      if (block.edges[k].to.valid()) visit(block.edges[k].to.index, k);
    if (block.region.valid()) visit(lifted.regions[block.region.index].handler.index, kExceptional);
  };
  for (std::uint32_t b = 0; b < n; ++b) {
    each(b, [&](std::uint32_t to, std::uint8_t) { graph.edges.push_back(to); });
    graph.offsets.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  blocks = reverse_postorder(graph, lifted.entry.index);
  number.assign(n, UINT32_MAX);
  for (std::uint32_t i = 0; i < blocks.size(); ++i) number[blocks[i]] = i;
  // Edges from unreachable blocks do not count.
  for (std::uint32_t b : blocks) each(b, [&](std::uint32_t to, std::uint8_t) { ++first[to + 1]; });
  for (std::uint32_t b = 0; b < n; ++b) first[b + 1] += first[b];
  edges.resize(first[n]);
  std::vector<std::uint32_t> fill(first.begin(), first.end() - 1);
  for (std::uint32_t b : blocks)
    each(b, [&](std::uint32_t to, std::uint8_t k) { edges[fill[to]++] = {b, k}; });
}

void replace_uses(Lifted& lifted, std::vector<ValueId>& replacement) {
  replacement.resize(lifted.values.size());
  auto find = [&](ValueId id) {
    if (!id.valid()) return id;
    ValueId root = id;
    while (replacement[root.index].valid()) root = replacement[root.index];
    while (replacement[id.index].valid()) {
      ValueId next = replacement[id.index];
      replacement[id.index] = root;
      id = next;
    }
    return root;
  };
  auto all = [&](std::span<ValueId> list) {
    for (ValueId& id : list) id = find(id);
  };
  for (Value& value : lifted.values) all(value.operands);
  each_held(lifted, all);
  for (LiftedBlock& block : lifted.blocks) {
    block.value = find(block.value);
    block.item = find(block.item);
    all(block.raise_args);
    all(block.edges[0].args);
    all(block.edges[1].args);
    all(block.handler_args);
    all(block.stack_in);
  }
}

std::vector<std::uint32_t> count_uses(const Lifted& lifted) {
  std::vector<std::uint32_t> uses(lifted.values.size(), 0);
  auto use = [&](ValueId id) {
    if (!id.valid()) return;
    ++uses[id.index];
    // A use of a result is one of its operation.
    const Value& value = lifted[id];
    if (value.kind == ValueKind::Result)
      for (ValueId of : value.operands) ++uses[of.index];
  };
  for (const LiftedBlock& block : lifted.blocks) {
    for (ValueId id : block.body)
      for (ValueId operand : lifted[id].operands) use(operand);
    use(block.value);
    for (ValueId id : block.raise_args) use(id);
    for (const Edge& edge : block.edges)
      for (ValueId id : edge.args) use(id);
    for (ValueId id : block.handler_args) use(id);
  }
  return uses;
}

// A local is bound where every way from the entry passes a store (or it is an argument) with no
// delete after it. Exceptions leave a block anywhere: towards the handler a slot counts as bound
// only when it was at the entry and the block never unbinds it. Only the frame itself stores and
// deletes its locals, so nothing else has to be considered. A load that did not raise proves its
// slot bound, too.
Bound::Bound(const Lifted& lifted, const Module& module, const Order& order) : lifted_(lifted) {
  const CodeObject& code = module[lifted.code];
  const std::size_t slots = code.slots.size();
  words_ = (slots + 63) / 64;
  auto look = [&](std::span<const ValueId> args) {
    for (ValueId id : args)
      if (id.valid())
        may_carry_null_ |=
            lifted[id].kind == ValueKind::Null ||
            (lifted[id].kind == ValueKind::Operation && lifted[id].op == Op::LOAD_FAST_AND_CLEAR);
  };
  for (const LiftedBlock& block : lifted.blocks) {
    look(block.edges[0].args);
    look(block.edges[1].args);
    look(block.handler_args);
  }
  const std::uint64_t ones = ~std::uint64_t{0};
  entry_.assign(lifted.blocks.size() * words_, ones);
  std::vector<std::uint64_t> in(words_), out(lifted.blocks.size() * words_, ones),
      to_handler(lifted.blocks.size() * words_, ones);
  const std::uint64_t arguments = code.parameter_count();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t b : order.blocks) {
      if (b == lifted.entry.index)
        for (std::size_t w = 0; w < words_; ++w)
          in[w] = arguments >= 64 * (w + 1) ? ones
                  : arguments <= 64 * w     ? 0
                                            : (std::uint64_t{1} << (arguments - 64 * w)) - 1;
      else
        in.assign(words_, ones);
      for (const Predecessor& edge : order.into(b)) {
        const auto& from = edge.edge == kExceptional ? to_handler : out;
        for (std::size_t w = 0; w < words_; ++w) in[w] &= from[edge.from * words_ + w];
      }
      std::vector<std::uint64_t> state = in, always = in;
      for (ValueId id : lifted.blocks[b].body) {
        step(state, lifted[id]);
        for (std::size_t w = 0; w < words_; ++w) always[w] &= state[w];
      }
      for (std::size_t w = 0; w < words_; ++w) {
        std::uint64_t& old_out = out[b * words_ + w];
        std::uint64_t& old_handler = to_handler[b * words_ + w];
        if (old_out != state[w] || old_handler != always[w] || entry_[b * words_ + w] != in[w])
          changed = true;
        old_out = state[w];
        old_handler = always[w];
        entry_[b * words_ + w] = in[w];
      }
    }
  }
}

void Bound::step(std::vector<std::uint64_t>& state, const Value& operation) const {
  if (operation.arg / 64 >= state.size()) return;
  const std::uint64_t bit = std::uint64_t{1} << (operation.arg % 64);
  std::uint64_t& word = state[operation.arg / 64];
  if (operation.op == Op::LOAD_FAST) {
    word |= bit;
  } else if (operation.op == Op::STORE_FAST) {
    // Storing a NULL unbinds; so may storing back what an inlined comprehension put aside, or a
    // parameter that carries either.
    const Value& stored = lifted_[operation.operands[0]];
    const bool certain =
        stored.kind == ValueKind::Param
            ? !may_carry_null_
            : stored.kind != ValueKind::Null &&
                  !(stored.kind == ValueKind::Operation && stored.op == Op::LOAD_FAST_AND_CLEAR);

    word = certain ? word | bit : word & ~bit;
  } else if (operation.op == Op::DELETE_FAST || operation.op == Op::LOAD_FAST_AND_CLEAR) {
    word &= ~bit;
  }
}

std::vector<bool> pure_values(const Lifted& lifted, const Module& module, const Order& order,
                              bool dynamo) {
  std::vector<bool> pure(lifted.values.size(), false);
  const auto installed = [&](const Value& value) {
    return value.arg < module.strings.size() && installed_by_dynamo(module, StrId(value.arg));
  };
  for (std::uint32_t b : order.blocks)
    for (ValueId id : lifted.blocks[b].body)
      if (const Value& value = lifted[id];
          value.op == Op::STORE_GLOBAL || value.op == Op::DELETE_GLOBAL)
        dynamo = dynamo && !installed(value);
  Bound bound(lifted, module, order);
  for (std::uint32_t b : order.blocks) {
    std::vector<std::uint64_t> state = bound.at_entry(b);
    for (ValueId id : lifted.blocks[b].body) {
      const Value& value = lifted[id];
      bool is = false;
      if (value.op == Op::LOAD_CONST || value.op == Op::LOAD_COMMON ||
          value.op == Op::LOAD_CLOSURE || value.op == Op::BUILD_TUPLE ||
          value.op == Op::BUILD_LIST || value.op == Op::BUILD_SLICE || value.op == Op::IS)
        is = true;
      else if (value.op == Op::BUILD_MAP || value.op == Op::BUILD_SET)
        is = value.operands.empty();  // hashing an item runs its __hash__
      else if (value.op == Op::LIST_APPEND)
        is = (value.aux & kInPlace) == 0;  // a version of a list that only this stack slot had
      else if (value.op == Op::LOAD_FAST)
        is = Bound::has(state, value.arg);
      else if (value.op == Op::LOAD_GLOBAL)
        is = dynamo && installed(value);
      pure[id.index] = is;
      bound.step(state, value);
    }
  }
  return pure;
}

}  // namespace simplifying

bool installed_by_dynamo(const Module& module, StrId name) {
  const std::string_view global = module[name];
  const auto numbered = [&](std::string_view prefix) {
    return global.starts_with(prefix) && global.size() > prefix.size() &&
           global[prefix.size()] >= '0' && global[prefix.size()] <= '9';
  };
  const bool named =
      numbered("__compiled_fn_") || numbered("__resume_at_") ||
      (global.starts_with("__import_") && global.size() > 9 && global != "__import__");
  const std::vector<std::string>& own = module.own_globals;
  return named && std::find(own.begin(), own.end(), global) == own.end();
}

}  // namespace depyf
