#pragma once
// The rules of simplify/, one function each, and what they share. Internal to this folder.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lift/ways.h"
#include "simplify/simplify.h"

namespace depyf::simplifying {

/// Blocks in reverse postorder (exceptional edges included) and the edges into each.
struct Order {
  std::vector<std::uint32_t> blocks;
  std::vector<std::uint32_t> number;  // UINT32_MAX: unreachable
  std::vector<std::uint32_t> first;   // into `edges`, by block; one more than blocks
  std::vector<Predecessor> edges;

  explicit Order(const Lifted& lifted);
  std::span<const Predecessor> into(std::uint32_t block) const {
    return {edges.data() + first[block], edges.data() + first[block + 1]};
  }
};

/// Replaces every use through `replacement` (by value; chains are followed), parameters' arguments
/// included.
void replace_uses(Lifted& lifted, std::vector<ValueId>& replacement);

/// What the stack holds (Lifted::held): in the place of a value that `gone` holds for, and that a
/// rule took out of the code, what it was made of.
template <class Gone>
void expand_held(Lifted& lifted, Gone&& gone) {
  std::vector<ValueId> work, out;
  each_held(lifted, [&](std::vector<ValueId>& list) {
    if (std::none_of(list.begin(), list.end(), [&](ValueId id) { return id.valid() && gone(id); }))
      return;
    work = list;
    out.clear();
    while (!work.empty()) {
      const ValueId id = work.back();
      work.pop_back();
      if (id.valid() && gone(id))
        for (ValueId part : lifted[id].operands) work.push_back(part);
      else
        out.push_back(id);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    list = out;
  });
}

/// Removes the parameters for which `gone` holds, with their arguments, and renumbers the rest.
template <class Gone>
void remove_params(Lifted& lifted, const Order& order, Gone&& gone) {
  for (std::uint32_t b : order.blocks) {
    std::vector<ValueId>& params = lifted.blocks[b].params;
    bool any = false;
    for (ValueId param : params) any |= gone(param);
    if (!any) continue;
    for (const Predecessor& edge : order.into(b)) {
      std::span<ValueId>& args = arguments(lifted, edge);
      std::size_t n = 0;
      for (std::size_t i = 0; i < params.size(); ++i)
        if (!gone(params[i])) args[n++] = args[i];
      args = args.first(n);
    }
    std::erase_if(params, [&](ValueId param) { return gone(param); });
    for (std::uint32_t i = 0; i < params.size(); ++i) lifted[params[i]].arg = i;
  }
}

/// branches.cpp; true where there was one.
bool take_decided_branches(Lifted& lifted, const Module& module);

/// Number of uses of each value: operands in bodies, terminators, arguments. stack_in is no use.
std::vector<std::uint32_t> count_uses(const Lifted& lifted);

/// Which locals hold a value wherever control gets there: one bit for each slot, at the entry of
/// each block.
class Bound {
 public:
  Bound(const Lifted& lifted, const Module& module, const Order& order);
  /// The state at the entry of `block`, to be moved on with step().
  std::vector<std::uint64_t> at_entry(std::uint32_t block) const {
    return {entry_.begin() + static_cast<std::ptrdiff_t>(block * words_),
            entry_.begin() + static_cast<std::ptrdiff_t>((block + 1) * words_)};
  }
  void step(std::vector<std::uint64_t>& state, const Value& operation) const;
  static bool has(const std::vector<std::uint64_t>& state, std::uint32_t slot) {
    return slot / 64 < state.size() && (state[slot / 64] >> (slot % 64) & 1);
  }

 private:
  const Lifted& lifted_;
  bool may_carry_null_ =
      false;  // some argument of some parameter is a NULL, or what LOAD_FAST_AND_CLEAR put aside
  std::size_t words_ = 0;
  std::vector<std::uint64_t> entry_;
};

/// By ValueId: this operation has no effect and cannot raise, so it may be dropped when nobody
/// reads it: constants, cells, builds of tuples, lists and slices, locals that are definitely
/// bound, and in code that torch wrote (`dynamo`) the globals that it installs, unless the code
/// itself binds one of them.
std::vector<bool> pure_values(const Lifted& lifted, const Module& module, const Order& order,
                              bool dynamo);

void promote_slots(Lifted& lifted, const Module& module, std::vector<bool> promotable);
void remove_trivial_params(Lifted& lifted);
void name_functions_of_code(Lifted& lifted, const Module& module, std::uint32_t iter_object);
void forget_names_of_called(Lifted& lifted, const Module& module);
void resolve_fresh_sequences(Lifted& lifted, Module& module, bool any_keyword);
void drop_dead(Lifted& lifted, const Module& module, bool dynamo);
void write_out_slices(Lifted& lifted);
void read_odd_names(Lifted& lifted, Module& module, const SimplifyOptions& options);
void write_out_displays(Lifted& lifted, const Module& module);
void order_local_stores(Lifted& lifted, const Module& module, bool dynamo);
void sink_loads(Lifted& lifted, const Module& module, bool dynamo);

}  // namespace depyf::simplifying
