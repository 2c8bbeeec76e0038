#include "verify/locals.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "opcode/op_set.h"

namespace depyf::verify_detail {
namespace {

using Bits = std::vector<std::uint64_t>;

/// Follows a set of slots forwards from `entry`, until the sets where blocks begin grow no more
/// (union over the ways that lead there; a handler is entered after any operation).
/// `operation(value, now)` changes the set, `end(block, now)` sees it at the end of a block.
template <typename Operation, typename End>
void follow_slots(const Lifted& lifted, Bits entry, Operation&& operation, End&& end) {
  const std::size_t words = entry.size();
  if (words == 0) return;
  std::vector<Bits> in(lifted.blocks.size());
  std::vector<std::uint32_t> work;
  const auto enter = [&](BlockId to, const Bits& bits) {
    if (!to.valid()) return;
    Bits& at = in[to.index];
    bool changed = at.empty();
    at.resize(words);
    for (std::size_t w = 0; w < words; ++w) {
      changed |= (bits[w] & ~at[w]) != 0;
      at[w] |= bits[w];
    }
    if (changed) work.push_back(to.index);
  };
  enter(lifted.entry, entry);
  while (!work.empty()) {
    const LiftedBlock& block = lifted.blocks[work.back()];
    Bits now = in[work.back()], ever = now;
    work.pop_back();
    for (ValueId id : block.body) {
      if (lifted[id].kind != ValueKind::Operation) continue;
      operation(lifted[id], now);
      for (std::size_t w = 0; w < words; ++w) ever[w] |= now[w];
    }
    end(block, now);
    enter(block.edges[0].to, now);
    enter(block.edges[1].to, now);
    if (block.region.valid()) enter(lifted.regions[block.region.index].handler, ever);
  }
}

}  // namespace

bool is_made_up(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == name.size()) return false;
  const std::string_view stem = name.substr(0, last + 1);
  return stem == "tmp_" || stem == "graph_out_" || stem == "random_values_" || stem == "__temp_";
}

std::unordered_map<std::uint32_t, std::uint32_t> copies_of_slots(const Lifted& lifted,
                                                                 const Module& module) {
  std::unordered_map<std::uint32_t, std::uint32_t> found, changes;
  if (!lifted.entry.valid()) return found;
  for (const LiftedBlock& block : lifted.blocks)
    for (const Edge& edge : block.edges)
      if (edge.to == lifted.entry) return found;
  for (const Region& region : lifted.regions)
    if (region.handler == lifted.entry) return found;
  const std::size_t parameters = module[lifted.code].parameter_count();
  std::unordered_set<std::uint32_t> stored;
  std::unordered_map<std::uint32_t, std::uint32_t> holder;  // of a value: the first slot
  for (const LiftedBlock& block : lifted.blocks)
    for (ValueId id : block.body) {
      const Value& value = lifted[id];
      if (value.kind != ValueKind::Operation) continue;
      if (value.op == Op::DELETE_FAST || value.op == Op::LOAD_FAST_AND_CLEAR)
        changes[value.arg] += 2;
      const bool in_entry = &block == &lifted[lifted.entry];
      // what a slot gives before it is stored into, an argument, is not what it keeps
      if (value.op == Op::LOAD_FAST && in_entry && stored.count(value.arg))
        holder.emplace(id.index, value.arg);
      if (value.op != Op::STORE_FAST) continue;
      ++changes[value.arg];
      if (!in_entry) continue;
      const auto known = holder.emplace(value.operands[0].index, value.arg);
      if (!known.second && known.first->second != value.arg && value.arg >= parameters)
        found.emplace(value.arg, known.first->second);
      stored.insert(value.arg);
    }
  for (auto it = found.begin(); it != found.end();)
    it = changes[it->first] == 1 && changes[it->second] == 1 ? std::next(it) : found.erase(it);
  return found;
}

std::vector<bool> without_copies(const Lifted& lifted, const Module& module,
                                 std::vector<bool> slots) {
  const auto copies = copies_of_slots(lifted, module);
  for (const auto& [to, first] : copies) {
    std::uint32_t from = first;
    for (auto next = copies.find(from); from < slots.size() && slots[from] && next != copies.end();
         next = copies.find(from))
      from = next->second;
    if (to < slots.size() && from < slots.size() && !slots[from]) slots[to] = false;
  }
  return slots;
}

std::vector<Exposure> exposure_of(const Lifted& lifted, const Module& module) {
  const std::size_t slots = module[lifted.code].slots.size(), words = (slots + 63) / 64;
  std::vector<Exposure> out(slots, Exposure::None);
  if (slots == 0) return out;
  if (words * lifted.blocks.size() > (std::size_t{1} << 20)) {
    out.assign(slots, Exposure::Call);
    return out;
  }
  const auto show = [&](const Bits& bits, Exposure how) {
    for (std::size_t w = 0; w < words; ++w)
      for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1) {
        Exposure& slot = out[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
        slot = std::max(slot, how);
      }
  };
  const auto operation = [&](const Value& value, Bits& now) {
    // who sees the locals while the operation runs
    enum class Sees : std::uint8_t { Inner, Nothing, Bound, Unbound, Callee, Frame };
    static constexpr OpTable<Sees> kSees{
        {Sees::Bound, {Op::STORE_FAST}},
        {Sees::Unbound, {Op::DELETE_FAST, Op::LOAD_FAST_AND_CLEAR}},
        {Sees::Nothing,
         {Op::LOAD_CONST, Op::LOAD_COMMON, Op::LOAD_FAST, Op::LOAD_CLOSURE, Op::STORE_DEREF,
          Op::BUILD_TUPLE, Op::BUILD_LIST, Op::BUILD_SLICE, Op::LIST_APPEND, Op::LIST_TO_TUPLE,
          Op::MAKE_FUNCTION, Op::SET_FUNCTION_ATTRIBUTE, Op::IS, Op::POP_TOP, Op::POP_EXCEPT}},
        {Sees::Callee, {Op::CALL, Op::CALL_KW, Op::CALL_EX}},
        {Sees::Frame, {Op::LOAD_LOCALS, Op::IMPORT_STAR, Op::PRINT_EXPR}},
    };
    switch (kSees[value.op]) {
      case Sees::Bound:
        if (value.arg < slots) now[value.arg / 64] |= std::uint64_t{1} << (value.arg % 64);
        break;
      case Sees::Unbound:
        if (value.arg < slots) now[value.arg / 64] &= ~(std::uint64_t{1} << (value.arg % 64));
        break;
      case Sees::Nothing:
        break;
      case Sees::Callee:
        // A function that the code itself has just made has a frame of its own.
        show(now, lifted[value.operands[0]].op == Op::MAKE_FUNCTION &&
                          lifted[value.operands[0]].kind == ValueKind::Operation
                      ? Exposure::Inner
                      : Exposure::Call);
        break;
      case Sees::Frame:
        show(now, Exposure::Call);
        break;
      case Sees::Inner:
        show(now, Exposure::Inner);
        break;
    }
  };
  const auto end = [&](const LiftedBlock& block, const Bits& now) {
    if (block.term != TermKind::Return && block.term != TermKind::Jump) show(now, Exposure::Inner);
  };
  follow_slots(lifted, Bits(words, 0), operation, end);
  return out;
}

std::vector<bool> may_be_read_unset(const Lifted& lifted, const Module& module) {
  const CodeObject& code = module[lifted.code];
  const std::size_t slots = code.slots.size(), words = (slots + 63) / 64;
  std::vector<bool> out(slots, false);
  if (words * lifted.blocks.size() > (std::size_t{1} << 20)) {
    out.assign(slots, true);
    return out;
  }
  const auto bit = [](std::uint32_t i) { return std::uint64_t{1} << (i % 64); };
  Bits entry(words, ~std::uint64_t{0});
  const std::uint64_t arguments = code.parameter_count();
  for (std::uint32_t i = 0; i < arguments && i < slots; ++i) entry[i / 64] &= ~bit(i);
  const auto operation = [&](const Value& value, Bits& now) {
    if (value.arg >= slots) return;
    const bool unset = (now[value.arg / 64] & bit(value.arg)) != 0;
    if (value.op == Op::LOAD_FAST || value.op == Op::DELETE_FAST)
      out[value.arg] = out[value.arg] || unset;
    // An inlined comprehension gives its variable back as it was, unset or not.
    const bool gives_back = value.op == Op::STORE_FAST &&
                            lifted[value.operands[0]].op == Op::LOAD_FAST_AND_CLEAR &&
                            lifted[value.operands[0]].kind == ValueKind::Operation;
    if (value.op == Op::DELETE_FAST || value.op == Op::LOAD_FAST_AND_CLEAR || gives_back)
      now[value.arg / 64] |= bit(value.arg);
    else if (value.op == Op::LOAD_FAST || value.op == Op::STORE_FAST)
      now[value.arg / 64] &= ~bit(value.arg);
  };
  follow_slots(lifted, std::move(entry), operation, [](const LiftedBlock&, const Bits&) {});
  return out;
}

bool makes_values(const Lifted& lifted) {
  static constexpr OpSet makers{
      Op::CALL,        Op::CALL_KW,         Op::CALL_EX,     Op::BINARY,     Op::INPLACE,
      Op::UNARY,       Op::COMPARE,         Op::LOAD_SUBSCR, Op::LOAD_SLICE, Op::LOAD_ATTR,
      Op::LOAD_METHOD, Op::LOAD_SUPER_ATTR, Op::YIELD_VALUE, Op::YIELD_FROM, Op::IMPORT_NAME,
      Op::STORE_FAST,  Op::DELETE_FAST,     Op::GET_ITER,    Op::FORMAT};
  for (const LiftedBlock& block : lifted.blocks)
    for (ValueId id : block.body)
      if (lifted[id].kind == ValueKind::Operation && makers[lifted[id].op]) return true;
  return false;
}

void order_first_stores(Lifted& lifted, const Module& module) {
  const CodeObject& code = module[lifted.code];
  const std::size_t slots = code.slots.size(), words = (slots + 63) / 64;
  if (words * lifted.blocks.size() > (std::size_t{1} << 20)) return;
  const auto stores = [&](ValueId id) {
    const Value& value = lifted[id];
    return value.kind == ValueKind::Operation && value.op == Op::STORE_FAST && value.arg < slots &&
           code.slots[value.arg].kind == kLocal;
  };
  const auto two = [&](ValueId one, ValueId next) { return stores(one) && stores(next); };
  if (std::ranges::none_of(lifted.blocks, [&](const LiftedBlock& block) {
        return std::ranges::adjacent_find(block.body, two) != block.body.end();
      }))
    return;
  std::vector<bool> replaces(lifted.values.size());  // the store may end a value
  Bits entry(words, 0);
  for (std::size_t i = 0; i < slots; ++i)
    if (i < code.parameter_count() || code.slots[i].kind != kLocal)
      entry[i / 64] |= std::uint64_t{1} << (i % 64);
  const auto operation = [&](const Value& value, Bits& now) {
    if (value.arg >= slots) return;
    std::uint64_t& word = now[value.arg / 64];
    const std::uint64_t bit = std::uint64_t{1} << (value.arg % 64);
    if (value.op == Op::STORE_FAST) {
      if (word & bit) replaces[static_cast<std::size_t>(&value - lifted.values.data())] = true;
      word |= bit;
    } else if (value.op == Op::DELETE_FAST || value.op == Op::LOAD_FAST_AND_CLEAR) {
      word &= ~bit;
    }
  };
  follow_slots(lifted, std::move(entry), operation, [](const LiftedBlock&, const Bits&) {});
  const auto first = [&](ValueId id) { return stores(id) && !replaces[id.index]; };
  for (LiftedBlock& block : lifted.blocks)
    for (auto at = block.body.begin(); at != block.body.end();) {
      const auto begin = std::find_if(at, block.body.end(), first);
      at = std::find_if_not(begin, block.body.end(), first);
      std::sort(begin, at, [&](ValueId x, ValueId y) { return lifted[x].arg < lifted[y].arg; });
    }
}

namespace {

/// Does `body[i]` store to the local that the next operation stores to?
bool is_overwritten(const Lifted& lifted, const Module& module, std::span<const ValueId> body,
                    std::size_t i) {
  if (i + 1 >= body.size()) return false;
  const Value &first = lifted[body[i]], &next = lifted[body[i + 1]];
  const auto stores = [](const Value& value) {
    return value.kind == ValueKind::Operation && value.op == Op::STORE_FAST;
  };
  const std::span<const Slot> slots = module[lifted.code].slots;
  return stores(first) && stores(next) && first.arg == next.arg && first.arg < slots.size() &&
         slots[first.arg].kind == kLocal;
}

}  // namespace

bool has_overwritten_store(const Lifted& lifted, const Module& module) {
  return std::ranges::any_of(lifted.blocks, [&](const LiftedBlock& block) {
    for (std::size_t i = 0; i < block.body.size(); ++i)
      if (is_overwritten(lifted, module, block.body, i)) return true;
    return false;
  });
}

void drop_overwritten_stores(Lifted& lifted, const Module& module) {
  for (LiftedBlock& block : lifted.blocks) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < block.body.size(); ++i)
      if (!is_overwritten(lifted, module, block.body, i)) block.body[kept++] = block.body[i];
    block.body.resize(kept);
  }
}

}  // namespace depyf::verify_detail
