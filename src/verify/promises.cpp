#include "verify/promises.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "bytecode/effect.h"
#include "bytecode/scan.h"
#include "opcode/op_set.h"
#include "opcode/tables.h"

namespace depyf::verify_detail {

namespace {

constexpr std::uint32_t kGenerators = kGenerator | kCoroutine | kAsyncGenerator;

/// The instruction at `offset` as its version names it.
std::string_view raw_name(const CodeObject& code, const VersionTable& table, std::size_t offset) {
  while (offset + 1 < code.code.size() && code.code[offset] == table.extended_arg) offset += 2;
  return offset < code.code.size() ? table.opcodes[code.code[offset]].name : std::string_view();
}

bool has_opcode(const VersionTable& table, std::string_view name) {
  return std::any_of(table.opcodes.begin(), table.opcodes.end(),
                     [&](const OpcodeInfo& info) { return info.name == name; });
}

bool has_operation(const VersionTable& table, Op op) {
  return std::any_of(table.opcodes.begin(), table.opcodes.end(),
                     [&](const OpcodeInfo& info) { return info.op == op; });
}

bool wraps(const Instr& instr) {
  return instr.op == Op::INTRINSIC_1 &&
         instr.arg == static_cast<std::uint32_t>(Intrinsic1::AsyncGenWrap);
}

/// The set locals at the entry of each block, and whether all that are read unchecked are set.
class SetLocals {
 public:
  SetLocals(const CodeObject& code, const VersionTable& table, const Cfg& cfg)
      : code_(code), table_(table), cfg_(cfg), words_((code.slots.size() + 63) / 64) {}

  /// The slot of a local that is read unset, or the number of slots.
  std::size_t find(std::size_t arguments) {
    const std::size_t none = code_.slots.size();
    if (words_ * cfg_.size() > (std::size_t{1} << 20)) return none;
    in_.assign(cfg_.size(), {});
    Bits first(words_, 0);
    for (std::size_t i = 0; i < std::min(arguments, none); ++i) set(first, i, true);
    enter(cfg_.entry, first);
    while (!work_.empty()) {
      const std::uint32_t at = work_.back();
      work_.pop_back();
      walk(at, none);
    }
    for (std::uint32_t at = 0; at < cfg_.size(); ++at) {
      if (in_[at].empty() && words_ > 0) continue;
      if (const std::size_t slot = walk(at, none); slot != none) return slot;
    }
    return none;
  }

 private:
  using Bits = std::vector<std::uint64_t>;
  const CodeObject& code_;
  const VersionTable& table_;
  const Cfg& cfg_;
  std::size_t words_;
  std::vector<Bits> in_;  // empty: not reached
  std::vector<std::uint32_t> work_;

  static bool has(const Bits& bits, std::size_t slot) { return bits[slot / 64] >> slot % 64 & 1; }
  static void set(Bits& bits, std::size_t slot, bool value) {
    const std::uint64_t bit = std::uint64_t{1} << slot % 64;
    bits[slot / 64] = value ? bits[slot / 64] | bit : bits[slot / 64] & ~bit;
  }

  void enter(BlockId to, const Bits& bits) {
    if (!to.valid()) return;
    Bits& known = in_[to.index];
    bool changed = known.empty();
    if (changed) known = bits;
    for (std::size_t w = 0; w < words_; ++w) {
      changed |= (known[w] & ~bits[w]) != 0;
      known[w] &= bits[w];
    }
    if (changed) work_.push_back(to.index);
  }

  std::size_t walk(std::uint32_t at, std::size_t none) {
    const Block& block = cfg_.blocks[at];
    Bits now = in_[at];
    if (now.empty()) return none;
    std::size_t unset = none;
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const Instr& instr = cfg_.instrs[i];
      // Whatever raises does so with the locals as they are before it.
      if (block.region.valid()) enter(cfg_[block.region].handler, now);
      if (instr.arg >= none) continue;
      if (instr.op == Op::STORE_FAST) {
        set(now, instr.arg, true);
      } else if (instr.op == Op::DELETE_FAST || instr.op == Op::LOAD_FAST_AND_CLEAR) {
        set(now, instr.arg, false);
      } else if (instr.op == Op::LOAD_FAST) {
        if (unset == none && !has(now, instr.arg) && code_.slots[instr.arg].kind == kLocal &&
            raw_name(code_, table_, instr.offset) != "LOAD_FAST_CHECK")
          unset = instr.arg;
        set(now, instr.arg, true);  // else it raised
      }
    }
    enter(block.next, now);
    enter(block.target, now);
    return unset;
  }
};

/// Follows what handlers are given on the stack (the position of the instruction that raised, and
/// the exception that was handled before), bools, the two halves of a method that is called next,
/// and locals that the stack borrows.
class Stacks {
 public:
  Stacks(const Module& module, CodeId id, const Cfg& cfg)
      : module_(module),
        code_(module[id]),
        table_(version_table(code_.version)),
        borrows_(table_ && has_opcode(*table_, "LOAD_FAST_BORROW")),
        drops_halves_(table_ && has_opcode(*table_, "LOAD_SPECIAL")),
        cfg_(cfg),
        format_test_(format_test()),
        in_(cfg.size()),
        met_(cfg.size(), false) {}

  StackProblems find() {
    enter(cfg_.entry, {});
    while (!work_.empty() && problem_.empty()) {
      const std::uint32_t at = work_.back();
      work_.pop_back();
      walk(cfg_.blocks[at], in_[at]);
      if (entered_ > kMostEntered) problem_ = "its stacks are too large to follow";
    }
    return {problem_, tests_other_, tests_format_, deepest_, waits_};
  }

 private:
  enum class Kind : std::uint8_t {
    Other,
    Bool,
    Int,
    Iterator,
    Position,
    Saved,
    Method,   // what LOAD_METHOD and its like push: the function,
    Self,     // and what it is called with, or NULL and the attribute
    Null,     // what PUSH_NULL pushes: calls alone know what it is
    Cleared,  // what a local held that may have held nothing: only such a local takes it
    Unusable  // any of the last six, or something else: it depends on the way that was taken
  };
  struct Item {
    Kind kind = Kind::Other;
    std::uint32_t from = 0;      // Method, Self: offset of the instruction
    std::uint32_t slot = kNone;  // the local that holds the object, where the stack borrows it
    bool null = false;           // there may be no object at all, on one of the ways at least
    bool operator==(const Item&) const = default;
  };
  using Stack = std::vector<Item>;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kMostEntered = std::size_t{1} << 24;

  const Module& module_;
  const CodeObject& code_;
  const VersionTable* table_;
  const bool borrows_;       // some loads of locals count no reference
  const bool drops_halves_;  // POP_TOP takes half of a method
  const Cfg& cfg_;
  const std::uint32_t format_test_;  // offset, or kNone
  std::vector<Stack> in_;
  std::vector<bool> met_;
  std::vector<std::uint32_t> work_;
  std::string problem_;
  bool tests_other_ = false, tests_format_ = false;
  std::uint64_t deepest_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> waits_;
  std::size_t entered_ = 0;  // values

  /// The branch at the end of the first block, where that is `if format > 2:` as the compiler
  /// begins annotations from 3.14 on, without bool() (codegen_setup_annotations_scope of
  /// Python/codegen.c).
  std::uint32_t format_test() const {
    const Block& block = cfg_[cfg_.entry];
    if (block.end - block.first < 4) return kNone;
    const Instr* const last = cfg_.instrs.data() + block.end - 1;
    const bool compares = last[0].op == Op::BRANCH_FALSE && last[-1].op == Op::COMPARE &&
                          last[-1].aux == 0 && is_int(last[-2]) && last[-3].op == Op::LOAD_FAST;
    return compares ? last->offset : kNone;
  }

  void say(const Instr& instr, std::string_view what) {
    problem_ = "at offset " + std::to_string(instr.offset) + " " + std::string(op_name(instr.op)) +
               " " + std::string(what);
  }

  void enter(BlockId to, const Stack& stack) {
    if (!to.valid()) return;
    entered_ += stack.size() + 1;
    Stack& known = in_[to.index];
    bool changed = !met_[to.index];
    if (changed) {
      met_[to.index] = true;
      known = stack;
    } else if (known.size() != stack.size()) {
      problem_ = "the depth of the stack depends on the way that was taken";
      return;
    }
    for (std::size_t i = 0; i < known.size(); ++i)
      if (const Item met = meet(known[i], stack[i]); met != known[i]) {
        known[i] = met;
        changed = true;
      }
    if (changed) work_.push_back(to.index);
  }

  static Item meet(const Item& a, const Item& b) {
    if (a == b) return a;
    const bool same = a.kind == b.kind && a.from == b.from;
    const Kind kind = same                                       ? a.kind
                      : is_special(a.kind) || is_special(b.kind) ? Kind::Unusable
                                                                 : Kind::Other;
    // Borrowed on one of the ways at least; of two locals, both would have to stay.
    const std::uint32_t slot = a.slot == kNone ? b.slot : a.slot;
    const bool two = a.slot != b.slot && a.slot != kNone && b.slot != kNone;
    return {two ? Kind::Unusable : kind, same && !two ? a.from : 0, slot, a.null || b.null};
  }

  void raise(RegionId id, const Stack& stack) {
    const Region& region = cfg_[id];
    Stack at(region.depth);
    std::copy_n(stack.begin(), std::min(stack.size(), at.size()), at.begin());
    if (region.entry == HandlerEntry::Six) {
      // Of no exception there is a type, None, but neither a value nor a traceback.
      at.insert(at.end(), 2, {.kind = Kind::Saved, .null = true});
      at.insert(at.end(), {Kind::Saved});
      at.insert(at.end(), 2, {});
    }
    if (region.lasti) at.push_back({Kind::Position});
    at.push_back({});
    enter(region.handler, at);
  }

  /// Where a table says what is protected, the exception that was handled before is restored by
  /// another handler alone: it has to find it on the stack.
  bool loses_exception(const Instr& instr, const Block& block, const Stack& stack) const {
    if (!code_.version.has_exception_table() || cannot_raise(instr.op)) return false;
    const bool branches = instr.op == Op::BRANCH_FALSE || instr.op == Op::BRANCH_TRUE;
    if (branches && !stack.empty() && stack.back().kind == Kind::Bool) return false;
    const std::size_t kept = block.region.valid() ? region_depth(block) : 0;
    return std::any_of(stack.begin() + static_cast<std::ptrdiff_t>(std::min(kept, stack.size())),
                       stack.end(), [](const Item& item) { return item.kind == Kind::Saved; });
  }

  void walk(const Block& block, Stack stack) {
    Stack taken = stack, raised;
    bool has_raised = false;
    for (std::uint32_t i = block.first; i < block.end && problem_.empty(); ++i) {
      const Instr& instr = cfg_.instrs[i];
      const StackEffect effect = stack_effect(instr);
      if (effect.pops > stack.size()) return say(instr, "takes more than the stack holds");
      if (loses_exception(instr, block, stack))
        return say(instr, "may raise in a handler that nothing leads out of");
      if (block.region.valid() && !cannot_raise(instr.op)) {
        Stack below(stack.begin(),
                    stack.begin() + static_cast<std::ptrdiff_t>(
                                        std::min<std::size_t>(stack.size(), region_depth(block))));
        if (!has_raised || below != raised) raise(block.region, below);
        raised = std::move(below);
        has_raised = true;
      }
      if (instr.op == Op::YIELD_FROM) waits_.emplace_back(instr.offset, stack.size());
      taken = stack;
      step(instr, effect, stack, taken);
      const auto iterators = std::ranges::count(stack, Kind::Iterator, &Item::kind);
      deepest_ = std::max(deepest_, stack.size() + static_cast<std::uint64_t>(iterators));
    }
    if (!problem_.empty()) return;
    enter(block.next, stack);
    enter(block.target, taken);
  }

  /// Is it no value that an operation may take as one of its own?
  static bool is_special(Kind kind) { return kind >= Kind::Position; }
  static bool is_special(const Item& item) { return is_special(item.kind); }

  /// Is a bool what it leaves on top?
  bool gives_bool(const Instr& instr) const {
    static constexpr OpSet bools{Op::TO_BOOL,       Op::CONTAINS,        Op::IS,
                                 Op::EXC_MATCH,     Op::CHECK_EXC_MATCH, Op::MATCH_MAPPING,
                                 Op::MATCH_SEQUENCE};
    if (instr.op == Op::COMPARE) return instr.aux != 0;
    if (instr.op == Op::LOAD_COMMON) {
      const auto which = static_cast<CommonConstant>(instr.arg);
      return which == CommonConstant::True_ || which == CommonConstant::False_;
    }
    if (instr.op != Op::LOAD_CONST) return bools[instr.op];
    const ConstKind kind = module_[ConstId(instr.arg)].kind;
    return kind == ConstKind::True || kind == ConstKind::False;
  }

  bool is_int(const Instr& instr) const {
    return instr.op == Op::LOAD_CONST && module_[ConstId(instr.arg)].kind == ConstKind::Int;
  }

  std::size_t region_depth(const Block& block) const { return cfg_[block.region].depth; }

  /// The two halves of what is called, and whether they belong together or are no halves.
  bool takes_halves(const Stack& stack, const Instr& instr, std::size_t pops) const {
    const Item &low = stack[stack.size() - pops], &high = stack[stack.size() - pops + 1];
    if (low.kind != Kind::Method && high.kind != Kind::Self) return true;
    return (instr.op == Op::CALL || instr.op == Op::CALL_KW) && instr.aux != kPlain &&
           low.kind == Kind::Method && high.kind == Kind::Self && low.from == high.from;
  }

  static bool is_half_or_null(const Item& item) {
    return item.kind == Kind::Null || item.kind == Kind::Method || item.kind == Kind::Self;
  }

  /// Does a call find `item`, at `distance` from the top, where it looks for what it calls?
  static bool is_callee(const Instr& instr, std::size_t pops, std::size_t distance,
                        const Item& item) {
    if (instr.op == Op::CALL_EX) return item.kind == Kind::Null;
    return (instr.op == Op::CALL || instr.op == Op::CALL_KW) && instr.aux != kPlain &&
           distance + 1 >= pops && is_half_or_null(item);
  }

  /// A local that the stack borrows must keep its value until the stack has lost it.
  bool breaks_loan(const Instr& instr, const Stack& stack) const {
    static constexpr OpSet replaces{Op::STORE_FAST, Op::DELETE_FAST, Op::LOAD_FAST_AND_CLEAR};
    if (!borrows_ || !replaces[instr.op]) return false;
    // Nor does one local borrow from another, or from itself.
    if (instr.op == Op::STORE_FAST && stack.back().slot != kNone) return true;
    return std::ranges::any_of(stack, [&](const Item& item) { return item.slot == instr.arg; });
  }

  /// COPY, SWAP, ROT and what else moves values about; false for all others.
  bool move(const Instr& instr, Stack& stack) {
    const std::size_t n = instr.arg;
    const auto at = [&](std::size_t distance) { return stack.end() - std::ptrdiff_t(distance); };
    if (instr.op == Op::COPY && n > 0) {
      const Item item = *at(n);
      if (item.null) say(instr, "copies what may be no object");
      // POP_EXCEPT takes the copy, after which the other is nothing any more.
      if (item.kind == Kind::Saved) at(n)->kind = Kind::Unusable;
      stack.push_back(item);
    } else if (instr.op == Op::SWAP && n > 0) {
      std::swap(*at(1), *at(n));
    } else if (instr.op == Op::ROT && n > 0) {
      std::rotate(at(n), at(1), stack.end());
    } else if (instr.op == Op::PUSH_EXC_INFO) {
      stack.insert(stack.end() - 1, {Kind::Saved});
    }
    static constexpr OpSet moves{Op::COPY, Op::SWAP, Op::ROT, Op::PUSH_EXC_INFO};
    return moves[instr.op];
  }

  /// What ends a handler, or calls the exit function of a `with` in one; false for all others.
  bool end_handler(const Instr& instr, Stack& stack) {
    const std::size_t size = stack.size(), n = instr.arg;
    const auto at = [&](std::size_t distance) { return stack.end() - std::ptrdiff_t(distance); };
    if (instr.op == Op::WITH_EXCEPT_START) {
      const bool halves = n > 1 && at(n)->kind == Kind::Method && at(n - 1)->kind == Kind::Self &&
                          at(n)->from == at(n - 1)->from;
      if (n == 0 || (is_special(*at(n)) && !halves) || is_special(*at(1)))
        say(instr, "finds no exit function where it looks for one");
      stack.push_back({});
      return true;
    }
    if (instr.op == Op::POP_EXCEPT) {
      for (std::size_t i = 1; i <= n; ++i)
        if (at(i)->kind != Kind::Saved) say(instr, "takes what is no saved exception");
      stack.resize(size - n);
      return true;
    }
    if (instr.op == Op::END_ASYNC_FOR && n == 7) {  // restores what was saved, as POP_EXCEPT does
      for (std::size_t i = 1; i <= n; ++i) {
        const bool saved = at(i)->kind == Kind::Saved;
        if (saved != (i > 3 && i < 7) || (!saved && is_special(*at(i))))
          say(instr, "takes what is no saved exception");
      }
      stack.resize(size - n);
      return true;
    }
    return false;
  }

  /// `taken`: the stack where a branch is taken.
  void step(const Instr& instr, const StackEffect& effect, Stack& stack, Stack& taken) {
    if (move(instr, stack) || end_handler(instr, stack)) return;
    const std::size_t size = stack.size();
    const auto at = [&](std::size_t distance) { return stack.end() - std::ptrdiff_t(distance); };
    static constexpr OpSet grow{Op::LIST_APPEND, Op::SET_ADD,     Op::MAP_ADD,   Op::LIST_EXTEND,
                                Op::SET_UPDATE,  Op::DICT_UPDATE, Op::DICT_MERGE};
    if (grow[instr.op]) {  // what lies between the collection and its items stays as it is
      const std::size_t items = effect.pops - effect.pushes;
      bool wrong = is_special(*at(effect.pops));
      for (std::size_t i = 1; i <= items; ++i) wrong |= is_special(*at(i));
      if (wrong) return say(instr, "takes what only handlers may take");
      stack.resize(size - items);
      return;
    }
    if (instr.op == Op::RERAISE && instr.arg == 1 && instr.aux != 0 &&
        (instr.aux >= size || at(instr.aux + 1)->kind != Kind::Position))
      return say(instr, "finds no position of an instruction where it looks for one");
    const bool calls = (instr.op == Op::CALL || instr.op == Op::CALL_KW) && effect.pops >= 2;
    if (calls && !takes_halves(stack, instr, effect.pops))
      return say(instr, "takes half of a method");
    // Where LOAD_SPECIAL is, what it pushed is dropped so, and whether it is NULL is looked at.
    if (instr.op == Op::POP_TOP && at(1)->null && (at(1)->kind == Kind::Null || !drops_halves_))
      return say(instr, "drops what may be no object");
    const bool restores = instr.op == Op::STORE_FAST && at(1)->kind == Kind::Cleared;
    for (std::size_t i = 1; instr.op != Op::POP_TOP && !restores && i <= effect.pops; ++i)
      if (is_special(*at(i)) && !is_callee(instr, effect.pops, i, *at(i)))
        return say(instr, "takes what only handlers and calls of methods may take");
    if (breaks_loan(instr, stack))
      return say(instr, "replaces a local that the stack borrows, or borrows for another");
    const bool is_not =
        instr.op == Op::UNARY && instr.arg == static_cast<std::uint32_t>(UnaryOp::Not);
    if (is_not || instr.op == Op::BRANCH_FALSE || instr.op == Op::BRANCH_TRUE) {
      bool& tests = instr.offset == format_test_ ? tests_format_ : tests_other_;
      tests |= at(1)->kind != Kind::Bool;
    }
    const Stack popped(at(effect.pops), stack.end());
    stack.resize(size - effect.pops);
    taken = stack;
    stack.resize(stack.size() + effect.pushes);
    taken.resize(taken.size() + effect.target_pushes);
    give(instr, effect, popped, stack);
  }

  /// What is known of the values that an operation leaves on `stack`.
  void give(const Instr& instr, const StackEffect& effect, const Stack& popped,
            Stack& stack) const {
    const auto at = [&](std::size_t distance) { return stack.end() - std::ptrdiff_t(distance); };
    if (effect.pushes == 0) return;
    if (instr.op == Op::PUSH_NULL) *at(1) = {.kind = Kind::Null, .null = true};
    if (instr.op == Op::LOAD_FAST_AND_CLEAR) *at(1) = {.kind = Kind::Cleared, .null = true};
    const bool is_not =
        instr.op == Op::UNARY && instr.arg == static_cast<std::uint32_t>(UnaryOp::Not);
    // What `match` compares with the length of a sequence is no test of another value.
    const bool ints = instr.op == Op::COMPARE && std::ranges::all_of(popped, [](const Item& item) {
                        return item.kind == Kind::Int;
                      });
    if (is_not || ints || gives_bool(instr)) at(1)->kind = Kind::Bool;
    if (instr.op == Op::GET_LEN || is_int(instr)) at(1)->kind = Kind::Int;
    if (instr.op == Op::GET_ITER || instr.op == Op::GET_YIELD_FROM_ITER)
      at(1)->kind = Kind::Iterator;
    if (instr.op == Op::FOR_ITER) at(2)->kind = Kind::Iterator;
    const bool halves = instr.op == Op::LOAD_METHOD || instr.op == Op::LOAD_SPECIAL ||
                        (instr.op == Op::LOAD_SUPER_ATTR && effect.pushes == 2);
    if (halves) {
      *at(2) = {Kind::Method, instr.offset, kNone, true};
      *at(1) = {Kind::Self, instr.offset, kNone, true};
    }
    if (effect.pushes == 3 && (instr.op == Op::WITH_ENTER || instr.op == Op::ASYNC_WITH_ENTER)) {
      *at(3) = {Kind::Method, instr.offset, kNone, true};
      *at(2) = {Kind::Self, instr.offset, kNone, true};
    }
    if (!borrows_) return;
    if (instr.op == Op::LOAD_FAST &&
        raw_name(code_, *table_, instr.offset).starts_with("LOAD_FAST_BORROW"))
      at(1)->slot = instr.arg;
    // What leaves an operand on the stack, or may: an exact string is its own text, a generator its
    // own iterator.
    static constexpr OpSet keeps_first{
        Op::GET_YIELD_FROM_ITER,    Op::GET_ANEXT,       Op::GET_LEN,     Op::MATCH_MAPPING,
        Op::MATCH_SEQUENCE,         Op::CHECK_EXC_MATCH, Op::IMPORT_FROM, Op::MATCH_KEYS,
        Op::SET_FUNCTION_ATTRIBUTE, Op::END_SEND,        Op::SEND};
    const bool keeps = keeps_first[instr.op] || (halves && instr.op != Op::LOAD_SPECIAL) ||
                       (instr.op == Op::FORMAT && effect.pops == 1) ||
                       (instr.op == Op::GET_ITER && iterators_take_two(code_.version));
    if (!keeps) return;
    for (std::size_t i = 0; i < popped.size(); ++i)
      if (popped[i].slot != kNone) (halves ? *at(1) : *at(effect.pushes)).slot = popped[i].slot;
  }
};

}  // namespace

StackProblems broken_stacks(const Module& module, CodeId id, const Cfg& cfg) {
  StackProblems out = Stacks(module, id, cfg).find();
  const VersionTable* table = version_table(module[id].version);
  const bool takes_bools = table && has_operation(*table, Op::TO_BOOL);
  out.tests_other &= takes_bools;
  out.tests_format &= takes_bools;
  return out;
}

std::string uninterruptible_loop(const CodeObject& code, const Cfg& cfg) {
  const VersionTable* table = version_table(code.version);
  if (!table) return {};
  const auto unchecked = [&](std::uint32_t offset) {
    return raw_name(code, *table, offset) == "JUMP_BACKWARD_NO_INTERRUPT";
  };
  const auto ends_unchecked = [&](const Block& block) {
    return block.end > block.first && cfg.instrs[block.end - 1].op == Op::JUMP &&
           unchecked(cfg.instrs[block.end - 1].offset);
  };
  if (std::ranges::none_of(cfg.blocks, ends_unchecked)) return {};
  // Without the blocks and edges that let others run: is there still a cycle?
  static constexpr OpSet lets{Op::CALL,        Op::CALL_KW,    Op::CALL_EX,
                              Op::YIELD_VALUE, Op::YIELD_FROM, Op::SEND};
  const auto offset = [&](BlockId id) {
    const Block& block = cfg[id];
    return block.first < block.end ? cfg.instrs[block.first].offset : UINT32_MAX;
  };
  std::vector<std::vector<std::uint32_t>> edges(cfg.size());
  std::vector<std::uint32_t> incoming(cfg.size(), 0), work;
  for (std::uint32_t b = 0; b < cfg.size(); ++b) {
    const Block& block = cfg.blocks[b];
    bool checked = false;
    for (std::uint32_t i = block.first; i < block.end; ++i) checked |= lets[cfg.instrs[i].op];
    if (checked || block.first == block.end) continue;
    const bool no_check = ends_unchecked(block);
    for (const BlockId to : {block.next, block.target}) {
      if (!to.valid() || (!no_check && offset(to) <= cfg.instrs[block.end - 1].offset)) continue;
      edges[b].push_back(to.index);
      ++incoming[to.index];
    }
  }
  for (std::uint32_t b = 0; b < cfg.size(); ++b)
    if (incoming[b] == 0) work.push_back(b);
  std::size_t sorted = work.size();
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    for (const std::uint32_t to : edges[b])
      if (--incoming[to] == 0) {
        work.push_back(to);
        ++sorted;
      }
  }
  return sorted == cfg.size() ? std::string() : "a loop never lets signals and other threads run";
}

std::string broken_generator(const CodeObject& code, const InstrList& list) {
  const VersionTable* table = version_table(code.version);
  if (!table || !has_opcode(*table, "RETURN_GENERATOR")) return {};
  // What stands before it; 3.15 asks for a generator expression's iterator there.
  static constexpr std::string_view kPrologue[] = {
      "COPY_FREE_VARS", "MAKE_CELL",        "EXTENDED_ARG", "NOP",      "RESUME",
      "LOAD_FAST",      "LOAD_FAST_BORROW", "GET_ITER",     "GET_AITER"};
  bool made = false, prologue = true;
  for (std::size_t i = 0; i + 1 < code.code.size(); i += 2) {
    const OpcodeInfo& info = table->opcodes[code.code[i]];
    if (info.name == "RETURN_GENERATOR") {
      if (made || !prologue) return "the code makes a generator after it began to run";
      made = true;
    }
    prologue = prologue && std::ranges::find(kPrologue, info.name) != std::end(kPrologue);
    i += 2 * std::size_t{info.caches};
  }
  if (made != ((code.flags & kGenerators) != 0))
    return made ? "the code makes a generator, but its flags do not say so"
                : "the flags say that the code makes a generator, but it makes none";
  for (std::size_t i = 0; i < list.instrs.size(); ++i) {
    if (list.instrs[i].op != Op::YIELD_VALUE) continue;
    if ((i > 0 && wraps(list.instrs[i - 1])) != ((code.flags & kAsyncGenerator) != 0))
      return "the flags do not fit to what the code yields";
  }
  return {};
}

std::string unchecked_local(const Module& module, CodeId id, const Cfg& cfg) {
  const CodeObject& code = module[id];
  const VersionTable* table = version_table(code.version);
  if (!table || code.slots.empty() || !has_opcode(*table, "LOAD_FAST_CHECK")) return {};
  const std::size_t arguments = code.parameter_count();
  const std::size_t slot = SetLocals(code, *table, cfg).find(arguments);
  return slot < code.slots.size() ? std::string(module[code.slots[slot].name]) : std::string();
}

}  // namespace depyf::verify_detail
