#include "verify/promises.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

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

}  // namespace

std::string broken_generator(const CodeObject& code, const InstrList& list) {
  const VersionTable* table = version_table(code.version);
  if (!table || !has_opcode(*table, "RETURN_GENERATOR")) return {};
  // What stands before it; 3.15 asks for a generator expression's iterator there.
  static constexpr std::string_view kPrologue[] = {
      "COPY_FREE_VARS", "MAKE_CELL", "EXTENDED_ARG",     "NOP",
      "RESUME",         "LOAD_FAST", "LOAD_FAST_BORROW", "GET_ITER"};
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
  const std::size_t arguments = code.argcount + code.kwonlyargcount +
                                ((code.flags & kVarArgs) != 0) + ((code.flags & kVarKeywords) != 0);
  const std::size_t slot = SetLocals(code, *table, cfg).find(arguments);
  return slot < code.slots.size() ? std::string(module[code.slots[slot].name]) : std::string();
}

}  // namespace depyf::verify_detail
