#include "verify/lifetimes.h"

#include <string>

namespace depyf::verify_detail {

namespace {

using Bits = std::vector<std::uint64_t>;

/// Neither runs code of the program nor lets go of a value that another variable does not hold.
bool is_quiet(Op op) {
  switch (op) {
    case Op::LOAD_FAST:
    case Op::STORE_FAST:
    case Op::DELETE_FAST:
    case Op::LOAD_CONST:
    case Op::POP_TOP:
    case Op::POP_EXCEPT:
      return true;
    default:
      return false;
  }
}

class Holding {
 public:
  Holding(const Lifted& lifted, const Module& module, const std::vector<bool>& slots)
      : lifted_(lifted), module_(module), bit_(slots.size(), kNone) {
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      if (!slots[slot]) continue;
      bit_[slot] = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back(static_cast<std::uint32_t>(slot));
    }
    words_ = (slots_.size() + 63) / 64;
  }

  std::optional<Difference> run() {
    if (slots_.empty()) return std::nullopt;
    const std::size_t n = lifted_.blocks.size();
    live_.assign(n, Bits(words_, 0));
    bound_.assign(n, Bits(words_, 0));
    // The work is bounded: what is larger is not proven.
    std::size_t budget = 64 * (n + lifted_.values.size()) + 10000;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = n; i-- > 0;) changed |= live_into(i);
      if (!spend(budget)) return too_large();
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < n; ++i) changed |= bound_behind(i);
      if (!spend(budget)) return too_large();
    }
    for (std::size_t i = 0; i < n; ++i)
      if (std::optional<Difference> found = look(i)) return found;
    return std::nullopt;
  }

 private:
  const Lifted& lifted_;
  const Module& module_;
  std::vector<std::uint32_t> bit_, slots_;
  std::size_t words_ = 0;
  std::vector<Bits> live_, bound_;  // at each block's entry: read later; may hold a value

  bool spend(std::size_t& budget) const {
    const std::size_t round = lifted_.values.size() + lifted_.blocks.size() * (1 + words_);
    if (budget < round / 4) return false;
    budget -= round / 4;
    return true;
  }

  Difference too_large() const {
    Difference out;
    out.text = "not proven: the code is larger than the budget of the comparison";
    out.has_offsets = false;
    return out;
  }

  std::uint32_t bit_of(const Value& value) const {
    if (value.op != Op::LOAD_FAST && value.op != Op::STORE_FAST && value.op != Op::DELETE_FAST &&
        value.op != Op::LOAD_FAST_AND_CLEAR)
      return kNone;
    return value.arg < bit_.size() ? bit_[value.arg] : kNone;
  }

  static bool reads(Op op) { return op == Op::LOAD_FAST || op == Op::LOAD_FAST_AND_CLEAR; }
  static void set(Bits& bits, std::uint32_t bit) { bits[bit / 64] |= std::uint64_t(1) << bit % 64; }
  static void clear(Bits& bits, std::uint32_t bit) {
    bits[bit / 64] &= ~(std::uint64_t(1) << bit % 64);
  }
  static bool merge(Bits& into, const Bits& more) {
    bool changed = false;
    for (std::size_t i = 0; i < into.size(); ++i) {
      changed |= (more[i] & ~into[i]) != 0;
      into[i] |= more[i];
    }
    return changed;
  }

  BlockId handler(const LiftedBlock& block) const {
    return block.region.valid() ? lifted_.regions[block.region.index].handler : BlockId();
  }

  /// What is read behind the block's operations, and by its handler.
  Bits live_behind(const LiftedBlock& block) const {
    Bits out(words_, 0);
    for (const Edge& edge : block.edges)
      if (edge.to.valid()) merge(out, live_[edge.to.index]);
    if (handler(block).valid()) merge(out, live_[handler(block).index]);
    return out;
  }

  void step_back(Bits& live, const Value& value, const Bits* in_handler) const {
    const std::uint32_t bit = bit_of(value);
    if (bit == kNone) return;
    if (reads(value.op))
      set(live, bit);
    else if (!in_handler || !((*in_handler)[bit / 64] >> bit % 64 & 1))
      clear(live, bit);
  }

  bool live_into(std::size_t index) {
    const LiftedBlock& block = lifted_.blocks[index];
    const BlockId to = handler(block);
    Bits live = live_behind(block);
    for (auto at = block.body.rbegin(); at != block.body.rend(); ++at)
      step_back(live, lifted_[*at], to.valid() ? &live_[to.index] : nullptr);
    return merge(live_[index], live);
  }

  bool bound_behind(std::size_t index) {
    const LiftedBlock& block = lifted_.blocks[index];
    const BlockId to = handler(block);
    bool changed = false;
    Bits bound = bound_[index];
    if (to.valid()) changed |= merge(bound_[to.index], bound);
    for (ValueId id : block.body) {
      const std::uint32_t bit = bit_of(lifted_[id]);
      if (bit != kNone) step(bound, lifted_[id], bit);
      if (bit != kNone && to.valid()) changed |= merge(bound_[to.index], bound);
    }
    for (const Edge& edge : block.edges)
      if (edge.to.valid()) changed |= merge(bound_[edge.to.index], bound);
    return changed;
  }

  void step(Bits& bound, const Value& value, std::uint32_t bit) const {
    if (value.op == Op::STORE_FAST) {
      // A constant stored to clear the slot is nothing that anybody could miss.
      const Value& stored = lifted_[value.operands[0]];
      if (stored.kind == ValueKind::Operation && stored.op == Op::LOAD_CONST)
        clear(bound, bit);
      else
        set(bound, bit);
    } else if (value.op != Op::LOAD_FAST) {
      clear(bound, bit);
    }
  }

  std::optional<Difference> look(std::size_t index) const {
    const LiftedBlock& block = lifted_.blocks[index];
    const BlockId to = handler(block);
    // What is live before each operation, then once more from the front with what is bound.
    std::vector<Bits> live(block.body.size() + 1);
    live.back() = live_behind(block);
    for (std::size_t i = block.body.size(); i-- > 0;) {
      live[i] = live[i + 1];
      step_back(live[i], lifted_[block.body[i]], to.valid() ? &live_[to.index] : nullptr);
    }
    Bits bound = bound_[index];
    for (std::size_t i = 0; i < block.body.size(); ++i) {
      const Value& value = lifted_[block.body[i]];
      if (!is_quiet(value.op))
        if (std::optional<Difference> found = idle(bound, live[i], value.offset)) return found;
      if (const std::uint32_t bit = bit_of(value); bit != kNone) step(bound, value, bit);
    }
    if (block.term == TermKind::Branch || block.term == TermKind::ForIter ||
        block.term == TermKind::Send)
      return idle(bound, live.back(), block.term_offset);
    return std::nullopt;
  }

  std::optional<Difference> idle(const Bits& bound, const Bits& live, std::uint32_t offset) const {
    for (std::size_t i = 0; i < words_; ++i) {
      const std::uint64_t both = bound[i] & ~live[i];
      if (both == 0) continue;
      std::uint32_t bit = static_cast<std::uint32_t>(64 * i);
      while (!(both >> bit % 64 & 1)) ++bit;
      Difference out;
      out.offset_a = out.offset_b = offset;
      out.has_offsets = false;
      out.text = "at offset " + std::to_string(offset) + " of the second, " +
                 quoted(module_[module_[lifted_.code].slots[slots_[bit]].name]) +
                 " keeps a value that nothing reads any more";
      return out;
    }
    return std::nullopt;
  }
};

}  // namespace

std::optional<Difference> held_too_long(const Lifted& lifted, const Module& module,
                                        const std::vector<bool>& slots) {
  return Holding(lifted, module, slots).run();
}

}  // namespace depyf::verify_detail
