// Removes unneeded block parameters after interpretation.
#include <algorithm>
#include <string>

#include "lift/ways.h"
#include "support/error.h"

namespace depyf {
namespace {

/// Finds the parameters that get the same value from every edge, and replaces them by that value.
class TrivialParameters {
 public:
  TrivialParameters(Lifted& lifted, const Ways& ways, std::span<const std::uint32_t> order)
      : lifted_(lifted), ways_(ways), order_(order) {}

  void remove() {
    if (find_trivial()) resolve();
  }

 private:
  Lifted& lifted_;
  const Ways& ways_;
  std::span<const std::uint32_t> order_;
  std::vector<ValueId> replacement_;

  ValueId find(ValueId id) {
    if (id == kConflict || !id.valid()) return id;
    ValueId root = id;
    while (replacement_[root.index].valid()) root = replacement_[root.index];
    while (replacement_[id.index].valid()) {
      ValueId next = replacement_[id.index];
      replacement_[id.index] = root;
      id = next;
    }
    return root;
  }

  /// Fills replacement_; false where nothing is replaced.
  bool find_trivial() {
    bool any = false;
    replacement_.assign(lifted_.values.size(), ValueId::none());
    std::vector<ValueId> work;
    for (std::uint32_t b : order_)
      for (ValueId param : lifted_.blocks[b].params) work.push_back(param);
    // Users of each parameter among the parameters, as linked lists.
    constexpr std::uint32_t kEnd = UINT32_MAX;
    std::vector<std::uint32_t> head(lifted_.values.size(), kEnd), next;
    std::vector<ValueId> user;
    for (ValueId param : work)
      ways_.each_arg(lifted_, param, [&](ValueId arg) {
        if (arg == kConflict || lifted_[arg].kind != ValueKind::Param || arg == param) return;
        next.push_back(head[arg.index]);
        user.push_back(param);
        head[arg.index] = static_cast<std::uint32_t>(next.size() - 1);
      });
    std::reverse(work.begin(), work.end());
    while (!work.empty()) {
      ValueId param = work.back();
      work.pop_back();
      if (replacement_[param.index].valid()) continue;
      ValueId only;
      bool trivial = true;
      ways_.each_arg(lifted_, param, [&](ValueId arg) {
        arg = find(arg);
        if (arg == param) return;
        if (arg == kConflict || (only.valid() && arg != only)) trivial = false;
        only = arg;
      });
      if (!trivial || !only.valid()) continue;
      replacement_[param.index] = only;
      any = true;
      // Its users may be trivial now; they become users of its replacement.
      std::uint32_t last = kEnd;
      for (std::uint32_t k = head[param.index]; k != kEnd; k = next[k]) {
        work.push_back(user[k]);
        last = k;
      }
      if (last != kEnd && lifted_[only].kind == ValueKind::Param) {
        next[last] = head[only.index];
        head[only.index] = head[param.index];
      }
    }
    return any;
  }

  void resolve() {
    auto all = [&](std::span<ValueId> list) {
      for (ValueId& id : list) id = find(id);
    };
    for (Value& value : lifted_.values) all(value.operands);
    each_held(lifted_, all);
    for (LiftedBlock& block : lifted_.blocks) {
      std::erase_if(block.params, [&](ValueId param) { return replacement_[param.index].valid(); });
      block.value = find(block.value);
      block.item = find(block.item);
      all(block.raise_args);
      all(block.stack_in);
      all(block.edges[0].args);
      all(block.edges[1].args);
      all(block.handler_args);
    }
  }
};

void compress(const Lifted& lifted, std::span<ValueId>& args, BlockId to) {
  const std::vector<ValueId>& params = lifted.blocks[to.index].params;
  std::size_t n = 0;
  // In place: parameters are in the order of their slots, so arg >= n always holds.
  for (ValueId param : params) {
    ValueId arg = args[lifted[param].arg];
    args[n++] = arg == kConflict ? ValueId::none() : arg;
  }
  args = args.first(n);
}

}  // namespace

void remove_trivial_parameters(Lifted& lifted, const Ways& ways,
                               std::span<const std::uint32_t> order) {
  TrivialParameters(lifted, ways, order).remove();
}

void drop_conflicts(Lifted& lifted, const Ways& ways, const Cfg& cfg) {
  std::vector<ValueId> work;
  std::vector<bool> live(lifted.values.size(), false);
  auto use = [&](ValueId id) {
    if (!id.valid() || id == kConflict || live[id.index]) return;
    live[id.index] = true;
    if (lifted[id].kind == ValueKind::Param) work.push_back(id);
  };
  for (LiftedBlock& block : lifted.blocks) {
    for (ValueId id : block.body)
      for (ValueId operand : lifted[id].operands) use(operand);
    use(block.value);
    if (block.item.valid())
      for (ValueId operand : lifted[block.item].operands) use(operand);
    for (ValueId id : block.raise_args) use(id);
  }
  while (!work.empty()) {
    ValueId param = work.back();
    work.pop_back();
    ways.each_arg(lifted, param, [&](ValueId arg) {
      if (arg == kConflict)
        throw_unusual(first_offset(cfg, lifted[param].block.index), "handler",
                      "it reads stack slot " + std::to_string(lifted[param].arg) +
                          ", which changes inside the protected code; no compiler makes that");
      use(arg);
    });
  }
  // A dead parameter that it feeds gets no argument on that edge.
  std::vector<bool> doomed(lifted.values.size(), false);
  for (LiftedBlock& block : lifted.blocks)
    for (ValueId param : block.params)
      if (!live[param.index])
        ways.each_arg(lifted, param, [&](ValueId arg) {
          if (arg == kConflict) doomed[param.index] = true;
        });
  auto blank = [&](std::span<ValueId> list) {
    for (ValueId& id : list)
      if (id.valid() && id != kConflict && doomed[id.index]) id = ValueId::none();
  };
  for (LiftedBlock& block : lifted.blocks) {
    std::erase_if(block.params, [&](ValueId param) { return doomed[param.index]; });
    blank(block.stack_in);
    blank(block.edges[0].args);
    blank(block.edges[1].args);
    blank(block.handler_args);
  }
  each_held(lifted, blank);
}

void compress_edges(Lifted& lifted) {
  for (LiftedBlock& block : lifted.blocks) {
    for (Edge& edge : block.edges)
      if (edge.to.valid()) compress(lifted, edge.args, edge.to);
    if (block.region.valid()) {
      const Region& region = lifted.regions[block.region.index];
      compress(lifted, block.handler_args, region.handler);
    }
  }
  for (LiftedBlock& block : lifted.blocks)
    for (std::uint32_t i = 0; i < block.params.size(); ++i) lifted[block.params[i]].arg = i;
}

}  // namespace depyf
