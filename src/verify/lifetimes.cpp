#include "verify/lifetimes.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "simplify/simplify.h"

namespace depyf::verify_detail {

namespace {

using Bits = std::vector<std::uint64_t>;

/// Neither runs code of the program nor drops the last reference to a value.
bool is_quiet(Op op) {
  return op == Op::LOAD_FAST || op == Op::STORE_FAST || op == Op::DELETE_FAST ||
         op == Op::LOAD_CONST || op == Op::POP_TOP || op == Op::POP_EXCEPT;
}

/// LOAD_FAST and DELETE_FAST do where the local is unbound.
bool may_raise(Op op) { return !is_quiet(op) || op == Op::LOAD_FAST || op == Op::DELETE_FAST; }

/// By block: does every path from it leave the frame by an exception? `spend` is called before each
/// pass; the result is empty if it returns false, which ends the search.
template <class Spend>
std::vector<bool> ways_out(const Lifted& lifted, Spend&& spend) {
  std::vector<bool> leaves(lifted.blocks.size(), true);
  const auto leads_out = [&](BlockId to) { return !to.valid() || leaves[to.index]; };
  for (bool changed = true; changed;) {
    changed = false;
    if (!spend()) return {};
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const LiftedBlock& block = lifted.blocks[i];
      const BlockId to = block.edges[0].to, other = block.edges[1].to;
      const BlockId handler =
          block.region.valid() ? lifted.regions[block.region.index].handler : BlockId();
      const bool out = (block.term == TermKind::Reraise || to.valid()) && leads_out(to) &&
                       leads_out(other) && leads_out(handler);
      changed |= leaves[i] && !out;
      leaves[i] = leaves[i] && out;
    }
  }
  return leaves;
}

class Holding {
 public:
  Holding(const Lifted& lifted, const Module& module, const std::vector<bool>& slots, Which side)
      : lifted_(lifted), module_(module), side_(side), bit_(slots.size(), kNone) {
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      if (!slots[slot]) continue;
      bit_[slot] = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back(static_cast<std::uint32_t>(slot));
    }
    words_ = (slots_.size() + 63) / 64;
    find_arguments();
  }

  /// Finds the slots that keep a value which nothing reads any more; `first` says where. False if
  /// the code is too large.
  bool run() {
    found_.assign(words_, 0);
    if (slots_.empty()) return true;
    const std::size_t n = lifted_.blocks.size();
    live_.assign(n, Bits(words_, 0));
    bound_.assign(n, Bits(words_, 0));
    // The work is bounded: larger code is not proven.
    std::size_t budget = 64 * (n + lifted_.values.size()) + 10000;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = n; i-- > 0;) changed |= live_into(i);
      if (!spend(budget)) return false;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < n; ++i) changed |= bound_behind(i);
      if (!spend(budget)) return false;
    }
    for (std::size_t i = 0; i < n; ++i) look(i);
    if (!any()) return true;
    if (!find_ways_out(budget)) return false;
    found_.assign(words_, 0);
    first_ = kNone;
    for (std::size_t i = 0; i < n; ++i)
      if (!leaves_[i] || !is_copy(lifted_.blocks[i])) look(i);
    return true;
  }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (found_[i / 64] >> i % 64 & 1) out.push_back(name(i));
    return out;
  }

  Difference difference() const {
    Difference out;
    out.offset_a = out.offset_b = first_offset_;
    out.has_offsets = false;
    out.text = "at offset " + std::to_string(first_offset_) +
               (side_ == kA ? " of the first, " : " of the second, ") + quoted(name(first_)) +
               " keeps a value that nothing reads any more";
    if (side_ == kA) out.text += ", and the second has dropped it";
    return out;
  }

  bool any() const { return first_ != kNone; }

  static Difference too_large() {
    Difference out;
    out.text = "not proven: the code is larger than the budget of the comparison";
    out.has_offsets = false;
    return out;
  }

 private:
  const Lifted& lifted_;
  const Module& module_;
  Which side_;
  std::vector<std::uint32_t> bit_, slots_;
  std::vector<bool> kept_;  // by slot: see find_arguments
  std::size_t words_ = 0;
  Bits found_;
  std::vector<bool> leaves_;  // by block: every way from it is an exception's, out of the frame
  static constexpr std::size_t kSeveral = SIZE_MAX;
  std::unordered_map<std::uint32_t, std::size_t> home_;  // of an offset: its block, or kSeveral
  std::uint32_t first_ = kNone, first_offset_ = 0;
  std::vector<Bits> live_, bound_;  // at each block's entry: read later; may hold a value

  bool spend(std::size_t& budget) const {
    const std::size_t round = lifted_.values.size() + lifted_.blocks.size() * (1 + words_);
    if (budget < round / 4) return false;
    budget -= round / 4;
    return true;
  }

  std::string_view name(std::size_t bit) const {
    return module_[module_[lifted_.code].slots[slots_[bit]].name];
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

  /// Up to 3.8 one body of `finally` serves both ways, and cannot clear on the exception's way what
  /// the other one reads. That way leaves the frame, which the traceback keeps anyway.
  bool find_ways_out(std::size_t& budget) {
    const std::size_t n = lifted_.blocks.size();
    leaves_ = ways_out(lifted_, [&] { return spend(budget); });
    if (leaves_.empty()) return false;
    for (std::size_t i = 0; i < n; ++i)
      for (ValueId id : lifted_.blocks[i].body) {
        const auto at = home_.emplace(lifted_[id].offset, i).first;
        if (at->second != i) at->second = kSeveral;
      }
    return true;
  }

  /// Do other blocks do the same at the same places in the bytecode?
  bool is_copy(const LiftedBlock& block) const {
    return std::all_of(block.body.begin(), block.body.end(), [&](ValueId id) {
      return home_.find(lifted_[id].offset)->second == kSeveral;
    });
  }

  /// Runs code of the program after the block's operations.
  static bool runs_at_end(const LiftedBlock& block) {
    return block.term == TermKind::Branch || block.term == TermKind::ForIter ||
           block.term == TermKind::Send;
  }
  static bool raises_at_end(const LiftedBlock& block) {
    return runs_at_end(block) || block.term == TermKind::Raise || block.term == TermKind::Reraise;
  }

  BlockId handler(const LiftedBlock& block) const {
    return block.region.valid() ? lifted_.regions[block.region.index].handler : BlockId();
  }

  /// What is read after the block's operations, and by its handler.
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
    for (ValueId id : block.body) {
      const Value& value = lifted_[id];
      // What is stored last in a `try` body is not there in its handler: nothing raises after it.
      if (to.valid() && may_raise(value.op)) changed |= merge(bound_[to.index], bound);
      if (const std::uint32_t bit = bit_of(value); bit != kNone) step(bound, value, bit);
    }
    if (to.valid() && raises_at_end(block)) changed |= merge(bound_[to.index], bound);
    for (const Edge& edge : block.edges)
      if (edge.to.valid()) changed |= merge(bound_[edge.to.index], bound);
    return changed;
  }

  void step(Bits& bound, const Value& value, std::uint32_t bit) const {
    if (value.op == Op::STORE_FAST) {
      // Such as a constant that is stored to clear the slot: nobody could miss it.
      if (stays_anyway(value.operands[0], true))
        clear(bound, bit);
      else
        set(bound, bit);
    } else if (value.op != Op::LOAD_FAST) {
      clear(bound, bit);
    }
  }

  /// Parameters that nothing binds again, deletes or clears: the frame holds the caller's argument.
  void find_arguments() {
    const CodeObject& code = module_[lifted_.code];
    kept_.assign(code.slots.size(), false);
    for (std::uint32_t i = 0; i < kept_.size() && i < code.parameter_count(); ++i)
      kept_[i] = code.slots[i].kind == kLocal;
    for (const LiftedBlock& block : lifted_.blocks)
      for (ValueId id : block.body) {
        const Value& value = lifted_[id];
        const bool changes = (value.op == Op::STORE_FAST && !stores_itself(value)) ||
                             value.op == Op::DELETE_FAST || value.op == Op::LOAD_FAST_AND_CLEAR;
        if (changes && value.arg < kept_.size()) kept_[value.arg] = false;
      }
  }

  /// `x = x`
  bool stores_itself(const Value& store) const {
    const Value& value = lifted_[store.operands[0]];
    return value.kind == ValueKind::Operation && value.op == Op::LOAD_FAST &&
           value.arg == store.arg;
  }

  /// Does something else hold `id` for as long as the frame lives? This is so for arguments that
  /// their parameters hold, constants, modules, globals that torch installed, and the attributes of
  /// modules that torch imports.
  bool stays_anyway(ValueId id, bool whole) const {
    const Value& value = lifted_[id];
    if (value.kind != ValueKind::Operation) return false;
    if (value.op == Op::LOAD_CONST) return whole;
    if (value.op == Op::LOAD_FAST) return whole && value.arg < kept_.size() && kept_[value.arg];
    if (value.op == Op::LOAD_ATTR) return whole && stays_anyway(value.operands[0], false);
    if (value.op != Op::LOAD_GLOBAL) return value.op == Op::IMPORT_NAME;
    const StrId global(value.arg);
    return installed_by_dynamo(module_, global) &&
           (whole || module_[global].starts_with("__import_"));
  }

  void look(std::size_t index) {
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
      if (!is_quiet(value.op)) idle(bound, live[i], value.offset);
      if (const std::uint32_t bit = bit_of(value); bit != kNone) step(bound, value, bit);
    }
    if (runs_at_end(block)) idle(bound, live.back(), block.term_offset);
  }

  void idle(const Bits& bound, const Bits& live, std::uint32_t offset) {
    for (std::size_t i = 0; i < words_; ++i) {
      const std::uint64_t both = bound[i] & ~live[i];
      if (both == 0) continue;
      found_[i] |= both;
      if (first_ != kNone) continue;
      first_ = static_cast<std::uint32_t>(64 * i);
      while (!(both >> first_ % 64 & 1)) ++first_;
      first_offset_ = offset;
    }
  }
};

}  // namespace

std::optional<Difference> held_too_long(const Lifted& lifted, const Module& module,
                                        const std::vector<bool>& slots, Which side) {
  Holding holding(lifted, module, slots, side);
  if (!holding.run()) return Holding::too_large();
  if (holding.any()) return holding.difference();
  return std::nullopt;
}

std::vector<std::string_view> outliving(const Lifted& lifted, const Module& module,
                                        const std::vector<bool>& slots) {
  Holding holding(lifted, module, slots, kA);
  return holding.run() ? holding.names() : std::vector<std::string_view>();
}

std::vector<bool> only_raises_on(const Lifted& lifted) {
  std::size_t passes = 64;
  return ways_out(lifted, [&] { return passes-- != 0; });
}

}  // namespace depyf::verify_detail
