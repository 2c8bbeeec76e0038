#include "bytecode/effect.h"

#include <array>
#include <bit>

namespace depyf {

namespace {
/// The columns `pops` and `pushes` of op.def, with the names that they use.
constexpr StackEffect effect_of(const Instr& instr) {
  struct Pushes {
    std::uint64_t falls_through, at_target;
    constexpr Pushes(std::uint64_t both) : falls_through(both), at_target(both) {}
    constexpr Pushes(std::uint64_t f, std::uint64_t t) : falls_through(f), at_target(t) {}
  };
  [[maybe_unused]] constexpr auto either = [](std::uint64_t falls_through,
                                              std::uint64_t at_target) {
    return Pushes(falls_through, at_target);
  };
  [[maybe_unused]] constexpr auto ones = [](std::uint64_t bits) {
    return static_cast<std::uint64_t>(std::popcount(bits));
  };
  const std::uint64_t n = instr.arg, aux = instr.aux, nulls = instr.aux == kPlain ? 0 : 1;
  const auto effect = [](std::uint64_t pops, Pushes pushes) -> StackEffect {
    return {pops, pushes.falls_through, pushes.at_target};
  };
  switch (instr.op) {
#define OP(name, operand, raising, pops, pushes) \
  case Op::name:                                 \
    return effect(pops, pushes);
#include "opcode/op.def"
  }
  return {};
}

/// An operation that does the same to the stack for several operands does it for all: what depends
/// on them differs by one of the first values.
constexpr FixedEffect fixed_effect(Op op) {
  Instr instr;
  instr.op = op;
  const StackEffect effect = effect_of(instr);
  for (std::uint32_t operands = 1; operands < 16; ++operands) {
    instr.arg = operands / 4;
    instr.aux = operands % 4;
    if (effect_of(instr) != effect) return {};
  }
  return {true, static_cast<std::uint8_t>(effect.pops), static_cast<std::uint8_t>(effect.pushes),
          static_cast<std::uint8_t>(effect.target_pushes)};
}

constexpr std::array<FixedEffect, 256> fixed_effects() {
  std::array<FixedEffect, 256> all{};
  for (std::size_t op = 0; op < all.size(); ++op) all[op] = fixed_effect(static_cast<Op>(op));
  return all;
}

}  // namespace

constexpr std::array<FixedEffect, 256> kFixedEffects = fixed_effects();

StackEffect operand_effect(const Instr& instr) { return effect_of(instr); }

}  // namespace depyf
