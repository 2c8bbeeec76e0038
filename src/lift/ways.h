#pragma once
// What lift.cpp knows of the graph when every block was interpreted, for the passes after that: a
// way into a block hands a value to each of its parameters.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lift/lifted.h"

namespace depyf {

/// Stands for a slot that holds different values at different points of a protected block: no
/// parameter can carry it, which is harmless as long as the handler only pops it.
constexpr ValueId kConflict{UINT32_MAX - 1};

constexpr std::uint8_t kExceptional = 2;

/// An incoming edge.
struct Predecessor {
  std::uint32_t from;
  std::uint8_t edge;  // 0, 1, or kExceptional
};

/// What an edge hands to the parameters of the block that it leads to.
inline std::span<ValueId>& arguments(Lifted& lifted, const Predecessor& edge) {
  LiftedBlock& from = lifted.blocks[edge.from];
  return edge.edge == kExceptional ? from.handler_args : from.edges[edge.edge].args;
}

/// The ways into each block. Until compress_edges() an edge carries the whole stack.
struct Ways {
  std::vector<std::uint32_t> first;  // by block: of its ways in `list`; one more at the end
  std::vector<Predecessor> list;
  std::vector<std::uint8_t> done;       // by block: was it interpreted?
  std::vector<std::uint8_t> can_raise;  // by block: may an instruction in it raise?

  /// The arguments of a parameter, ignoring exceptional edges that are never taken.
  template <class Visit>
  void each_arg(Lifted& lifted, ValueId param, Visit&& visit) const {
    const Value& value = lifted[param];
    const std::uint32_t b = value.block.index;
    bool raising = false;
    for (std::uint32_t k = first[b]; k < first[b + 1]; ++k)
      raising |= list[k].edge == kExceptional && can_raise[list[k].from];
    for (std::uint32_t k = first[b]; k < first[b + 1]; ++k) {
      const Predecessor& in = list[k];
      if (!done[in.from] || (in.edge == kExceptional && raising && !can_raise[in.from])) continue;
      visit(arguments(lifted, in)[value.arg]);
    }
  }
};

/// The offset of a block's first instruction.
std::uint32_t first_offset(const Cfg& cfg, std::uint32_t block);

// ---- parameters.cpp

/// A parameter that every way hands one value is that value (Braun et al., "Simple and Efficient
/// Construction of Static Single Assignment Form", CC 2013). `order`: the blocks, from the entry.
void remove_trivial_parameters(Lifted& lifted, const Ways& ways,
                               std::span<const std::uint32_t> order);

/// Parameters that no value can stand for must be unused; they go away. Throws UnusualCode where
/// one is used.
void drop_conflicts(Lifted& lifted, const Ways& ways, const Cfg& cfg);

/// Edges carry whole stacks until here; what remains is one argument for each parameter.
void compress_edges(Lifted& lifted);

// ---- normal_forms.cpp

/// Calls without the NULL that CPython puts beside what is called, and comparisons of exceptions
/// with the exception instead of its type. `null`: the value that stands for that NULL. Throws
/// UnusualCode for calls that no compiler makes.
void take_normal_forms(Lifted& lifted, const Ways& ways, std::span<const ValueId> operations,
                       ValueId null);

[[noreturn]] void throw_unusual(std::uint32_t offset, std::string_view op, const std::string& what);

}  // namespace depyf
