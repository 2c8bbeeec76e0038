#include "verify/raw_code.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/effect.h"
#include "bytecode/scan.h"
#include "opcode/tables.h"

namespace depyf::verify_detail {

namespace {

/// Every instruction without EXTENDED_ARG and caches: whatever decode() leaves out shows here.
struct RawCode {
  const VersionTable* table;
  std::vector<RawInstr> instrs;
  std::vector<std::uint32_t> index;  // by code unit: instruction that starts there or later

  explicit RawCode(const CodeObject& code) : table(version_table(code.version)) {
    index.assign(code.code.size() / 2 + 1, 0);
    if (!table) return;
    std::size_t filled = 0;
    scan_instructions(code, *table, [&](const RawInstr& instr) {
      for (; filled <= instr.unit; ++filled)
        index[filled] = static_cast<std::uint32_t>(instrs.size());
      instrs.push_back(instr);
    });
    for (; filled < index.size(); ++filled)
      index[filled] = static_cast<std::uint32_t>(instrs.size());
  }

  /// Numbers of the exception table, code units replaced by instructions: begin, end, target, depth
  /// and lasti of each row.
  std::vector<std::uint64_t> rows(const CodeObject& code) const {
    std::vector<std::uint64_t> out;
    const auto instr_at = [&](std::uint64_t unit) {
      return unit < index.size() ? std::uint64_t{index[unit]} : UINT64_MAX;
    };
    scan_exception_rows(code, [&](const RawExceptionRow& row) {
      out.insert(out.end(),
                 {instr_at(row.begin), instr_at(row.end), instr_at(row.target), row.depth});
    });
    return out;
  }

  /// The code unit that a jump leads to; UINT64_MAX where it is none, or leads out of the code.
  std::uint64_t target(const RawInstr& raw, PyVersion version) const {
    const std::int64_t to = jump_target(raw.info.jump, std::int64_t{raw.unit} + 1 + raw.info.caches,
                                        raw.operand / jump_step(version));
    return to < 0 || static_cast<std::uint64_t>(to) >= index.size()
               ? UINT64_MAX
               : static_cast<std::uint64_t>(to);
  }

  /// Does the version have the opcode?
  bool knows(std::string_view name) const {
    return table && std::ranges::any_of(table->opcodes,
                                        [&](const OpcodeInfo& info) { return info.name == name; });
  }

  bool is_stop_iteration(const RawInstr& raw) const {
    if (raw.info.action != Action::Intrinsic1 || raw.operand >= table->intrinsics_1.size())
      return false;
    const OperatorInfo& meaning = table->intrinsics_1[raw.operand];
    return meaning.op == Op::INTRINSIC_1 &&
           meaning.arg == static_cast<std::uint32_t>(Intrinsic1::StopIterationError);
  }

  /// Does what begins at the code unit raise again what it handles: after it has restored the
  /// exception state, or as a RuntimeError if it is a StopIteration?
  bool hands_on(std::uint64_t unit) const {
    if (unit >= index.size()) return false;
    const std::size_t first = index[unit];
    const auto is = [&](std::size_t i, Op op) {
      return i < instrs.size() && instrs[i].info.op == op;
    };
    if (first < instrs.size() && is_stop_iteration(instrs[first]))
      return is(first + 1, Op::RERAISE);
    return is(first, Op::COPY) && instrs[first].operand == 3 && is(first + 1, Op::POP_EXCEPT) &&
           is(first + 2, Op::RERAISE);
  }

  /// How many instructions turn a StopIteration that leaves a generator into a RuntimeError.
  std::size_t stop_iteration_handlers() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(instrs, [&](const RawInstr& raw) { return is_stop_iteration(raw); }));
  }
};

constexpr std::uint64_t kNoHandler = UINT64_MAX;

/// The row of the exception table that covers each instruction.
class HandlerRows {
 public:
  HandlerRows(const RawCode& all, const CodeObject& code) : numbers_(all.rows(code)) {
    if (numbers_.empty()) return;
    covering_.assign(all.instrs.size() + 1, kUncovered);
    std::uint64_t filled = 0;
    for (std::size_t row = 0; row + 3 < numbers_.size(); row += 4) {
      const std::uint64_t end = std::min<std::uint64_t>(numbers_[row + 1], all.instrs.size());
      overlap_ |= numbers_[row] < filled;
      for (filled = std::max(filled, numbers_[row]); filled < end; ++filled)
        covering_[filled] = row;
    }
  }

  bool overlap() const { return overlap_; }

  /// Instruction that the handler begins with, or kNoHandler.
  std::uint64_t handler(std::size_t at) const {
    return covered(at) ? numbers_[covering_[at] + 2] : kNoHandler;
  }

  /// How many values the stack keeps for the handler; of a covered instruction.
  std::uint64_t depth(std::size_t at) const { return numbers_[covering_[at] + 3] >> 1; }

  /// Do exceptions of the two instructions find one handler, with one stack?
  bool alike(std::size_t one, std::size_t other) const {
    if (!covered(one) || !covered(other)) return covered(one) == covered(other);
    const std::size_t x = covering_[one], y = covering_[other];
    return numbers_[x + 2] == numbers_[y + 2] && numbers_[x + 3] == numbers_[y + 3];
  }

 private:
  static constexpr std::size_t kUncovered = SIZE_MAX;
  std::vector<std::uint64_t> numbers_;  // RawCode::rows()
  std::vector<std::size_t> covering_;   // by instruction: where its row begins in numbers_
  bool overlap_ = false;

  bool covered(std::size_t at) const {
    return at < covering_.size() && covering_[at] != kUncovered;
  }
};

/// From 3.11 on CPython reads from the operands of YIELD_VALUE and RESUME whether a generator waits
/// for another, and whether close() may pass over its handlers: decode() leaves them out. Why they
/// do not say what the code does, or empty. CPython 3.11 raises what it is thrown while it waits
/// where the loop of SEND ends (_gen_throw() of Objects/genobject.c), so that one handler must
/// cover the whole loop.
std::string broken_resume(const CodeObject& code, const RawCode& all) {
  const std::vector<RawInstr>& raw = all.instrs;
  // What may stand before the function begins; 3.15 makes a generator expression's iterator there.
  static constexpr std::string_view kPrologue[] = {
      "COPY_FREE_VARS", "MAKE_CELL", "NOP",      "RETURN_GENERATOR", "POP_TOP",
      "RESUME",         "LOAD_FAST", "GET_ITER", "GET_AITER",        "LOAD_FAST_BORROW"};
  const ResumeOperand bits = resume_operand(code.version);
  const bool tells_handlers = all.knows("CLEANUP_THROW");
  bool prologue = true, begun = false;
  const HandlerRows rows(all, code);
  if (rows.overlap()) return "two rows of the exception table cover one instruction";
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const std::string_view name = raw[i].info.name;
    if (name == "CACHE") return "the code runs into a cache";
    if (name == "RESUME" && (i == 0 || raw[i - 1].info.name != "YIELD_VALUE")) {
      // CPython looks for the 0 to know from where on the frame can be seen.
      const bool makes_iterator = i + 3 < raw.size() && raw[i + 2].info.name.starts_with("GET_") &&
                                  raw[i + 3].info.name == "RETURN_GENERATOR";
      if (!prologue || raw[i].operand != (makes_iterator ? bits.start : 0))
        return "RESUME stands where nothing begins";
      begun = true;
    }
    if (prologue && std::ranges::find(kPrologue, name) == std::end(kPrologue)) {
      if (!begun) return "the code does not begin with RESUME";
      prologue = false;
    }
    if (name != "YIELD_VALUE") continue;
    if (i + 1 == raw.size() || raw[i + 1].info.name != "RESUME")
      return "no RESUME follows a YIELD_VALUE";
    const std::uint32_t after = raw[i + 1].operand;
    const bool waits = i > 0 && raw[i - 1].info.name == "SEND";
    const std::uint32_t where = after & ~bits.alone;
    bool broken = where == 0 || where > 3 || (where >= 2) != waits;
    if (tells_handlers) {
      // close() may pass where one handler alone stands: the one that makes a StopIteration a
      // RuntimeError, or in a lambda, which has none, that of what waits for another generator.
      const std::uint64_t to = rows.handler(i);
      const bool alone = to < raw.size() && (all.is_stop_iteration(raw[to]) ||
                                             (waits && rows.handler(i - 1) == kNoHandler));
      if (bits.alone)
        broken |= raw[i].operand != waits || ((after & bits.alone) != 0) != alone;
      else
        broken |= (raw[i].operand == 0) != (to == kNoHandler) || (raw[i].operand == 1) != alone;
    } else if (waits) {
      const std::uint64_t last = std::uint64_t{raw[i - 1].unit} + raw[i - 1].operand;
      if (raw[i - 1].operand > 255 || last >= all.index.size() || !rows.alike(i - 1, i) ||
          !rows.alike(i, i + 1) || !rows.alike(i, all.index[last]))
        return "a handler covers only a part of an `await` or `yield from`";
    }
    if (broken) return "the operands of a YIELD_VALUE and its RESUME do not say what the code does";
  }
  return {};
}

/// Has the operand bits that no compiler writes? decode() drops them, and CPython mostly does: 3.12
/// counts what a starred call takes from the stack by the whole operand.
bool has_stray_bits(const RawInstr& raw) {
  const Action action = raw.info.action;
  if (action == Action::Masked) return (raw.operand & ~raw.info.arg) != 0;
  if (action == Action::FormatValue) return raw.operand > 7;
  return action == Action::Interpolation && (raw.operand & 2) == 0;
}

/// What belongs to an instruction beside what decode() reads of it, and CPython believes: inline
/// caches are empty where the code is at rest, what it makes of instructions that run often is not
/// in it, and from 3.12 on a comparison says for which of four results (unordered, less, greater,
/// equal) it holds, which is all that its fast forms look at.
std::string broken_details(const CodeObject& code, const RawCode& all) {
  const auto at = [](const RawInstr& raw) {
    return "at offset " + std::to_string(2 * std::size_t{raw.unit});
  };
  for (const RawInstr& raw : all.instrs) {
    const OpcodeInfo& info = raw.info;
    if (info.name != info.base)
      return at(raw) + " the code has " + std::string(info.name) + ", as only running code has";
    for (std::size_t i = 2 * (std::size_t{raw.unit} + 1), n = 2 * std::size_t{info.caches};
         n > 0 && i < code.code.size(); ++i, --n)
      if (code.code[i] != 0) return at(raw) + " the code has a cache that is not empty";
    if (has_stray_bits(raw)) return at(raw) + " the operand has bits that no compiler writes";
    if (info.action != Action::Comparison || info.arg < 4) continue;
    const std::size_t which = raw.operand >> info.arg;
    if (which >= all.table->comparisons.size()) continue;
    const OperatorInfo& meaning = all.table->comparisons[which];
    if (meaning.op == Op::COMPARE && (raw.operand & 15) != comparison_results(meaning.arg))
      return at(raw) + " the comparison does not say for which results it holds";
  }
  return {};
}

/// How many EXTENDED_ARG an operand needs: the compiler writes no others before these units.
std::uint32_t needed_prefixes(std::uint32_t operand) {
  return (operand > 0xff) + (operand > 0xffff) + (operand > 0xffffff);
}

/// The interpreter also looks at units beside the one that it runs (the READ rows of
/// semantics.def). Why it does not find there what it expects, or empty.
std::string broken_units(const CodeObject& code, const RawCode& all) {
  const std::vector<RawInstr>& raw = all.instrs;
  std::vector<bool> entered(all.index.size(), false);
  for (const RawInstr& one : raw)
    if (const std::uint64_t to = all.target(one, code.version); to != UINT64_MAX)
      entered[to] = true;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const OpcodeInfo& info = raw[i].info;
    const auto named = [&] {
      return std::string(info.name) + " at offset " + std::to_string(2 * std::size_t{raw[i].unit});
    };
    if (info.bare && raw[i].prefixes != needed_prefixes(raw[i].operand))
      return "EXTENDED_ARG stands before the " + named() +
             ", at which the interpreter itself looks";
    const std::size_t behind = std::size_t{raw[i].unit} + 1 + info.caches;
    const RawInstr* next = nullptr;
    if (i + 1 < raw.size() && raw[i + 1].unit == behind + needed_prefixes(raw[i + 1].operand))
      next = &raw[i + 1];
    const auto is_entered = [&] {
      return std::any_of(entered.begin() + static_cast<std::ptrdiff_t>(behind),
                         entered.begin() + next->unit + 1, [](bool one) { return one; });
    };
    if (!info.next.empty() && (!next || next->info.name != info.next || is_entered()))
      return "the interpreter takes for granted that " + std::string(info.next) + " follows the " +
             named();
    if (!info.other.empty() && next && next->info.name == info.other)
      return "the interpreter takes the " + named() + " for " + std::string(info.other);
    if (info.leads_to.empty()) continue;
    const std::uint64_t to = all.target(raw[i], code.version);
    const std::size_t found = to == UINT64_MAX ? raw.size() : all.index[to];
    if (found == raw.size() || raw[found].unit != to || raw[found].info.name != info.leads_to)
      return "the " + named() + " does not lead to " + std::string(info.leads_to) + " itself";
  }
  return {};
}

/// Two locals of one name, which stand for one another where code asks for its locals. Torch 2.15
/// gives resume functions a name twice; a slot that never holds a value is none that anything sees,
/// if it is not the last of them: up to 3.12 an empty one takes the name out of locals() again.
bool has_twins(const CodeObject& code, const RawCode& all) {
  std::vector<bool> filled(code.slots.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> places;
  for (std::size_t i = 0; i < code.slots.size(); ++i) {
    const Slot& slot = code.slots[i];
    if (slot.kind & kLocal) places.emplace_back(slot.name.index, i);
    filled[i] = i < code.parameter_count() || slot.kind != kLocal;
  }
  std::sort(places.begin(), places.end());
  const auto twins = [&](const auto& one, const auto& next) {
    return one.first == next.first && filled[one.second];
  };
  const auto names = [](const auto& one, const auto& next) { return one.first == next.first; };
  if (std::adjacent_find(places.begin(), places.end(), names) == places.end()) return false;
  const auto fill = [&](std::uint32_t slot) {
    if (slot < filled.size()) filled[slot] = true;
  };
  for (const RawInstr& raw : all.instrs) {
    const Action action = raw.info.action;
    if (action == Action::Slot || action == Action::SlotOrCell) fill(raw.operand);
    if (action != Action::SlotPair) continue;
    fill(raw.operand >> 4);
    fill(raw.operand & 15);
  }
  return std::adjacent_find(places.begin(), places.end(), twins) != places.end();
}

/// Behind an inlined comprehension's LOAD_FAST_AND_CLEAR, at `i`: does a MAKE_CELL put a new cell
/// in the slot, or, in what a type parameter evaluates, in that of the free variable of this name?
/// There CPython has a variable that is both.
OwnCell own_cell(const CodeObject& code, const std::vector<RawInstr>& raw, std::size_t i) {
  if (i + 1 >= raw.size() || raw[i].info.name != "LOAD_FAST_AND_CLEAR" ||
      raw[i + 1].info.name != "MAKE_CELL" || raw[i].operand >= code.slots.size() ||
      raw[i + 1].operand >= code.slots.size())
    return OwnCell::None;
  if (raw[i].operand == raw[i + 1].operand) return OwnCell::Slot;
  const Slot &aside = code.slots[raw[i].operand], &fresh = code.slots[raw[i + 1].operand];
  const bool both = aside.name == fresh.name && (aside.kind & kCell) != 0 &&
                    (aside.kind & kFree) == 0 && fresh.kind == kFree;
  return both ? OwnCell::Free : OwnCell::None;
}

}  // namespace

bool same_instructions(const CodeObject& a, const CodeObject& b) {
  const RawCode x(a), y(b);
  return x.rows(a) == y.rows(b) &&
         std::equal(x.instrs.begin(), x.instrs.end(), y.instrs.begin(), y.instrs.end(),
                    [](const RawInstr& p, const RawInstr& q) {
                      const bool value = p.info.operand == OperandKind::Plain ||
                                         p.info.operand == OperandKind::Compare;
                      return &p.info == &q.info && (!value || p.operand == q.operand);
                    });
}

std::size_t dropped_handlers(const CodeObject& code, const InstrList& list) {
  const std::size_t kept = static_cast<std::size_t>(
      std::count_if(list.instrs.begin(), list.instrs.end(), [](const Instr& instr) {
        return instr.op == Op::INTRINSIC_1 &&
               instr.arg == static_cast<std::uint32_t>(Intrinsic1::StopIterationError);
      }));
  return RawCode(code).stop_iteration_handlers() - kept;
}

bool lets_stop_iteration_out(const CodeObject& code, const InstrList& list) {
  return RawCode(code).knows("CALL_INTRINSIC_1") && dropped_handlers(code, list) == 0;
}

bool waits_at_other_depth(const CodeObject& code, const StackProblems& problems) {
  if (problems.waits.empty()) return false;
  const RawCode all(code);
  if (!all.knows("CLEANUP_THROW")) return false;
  const HandlerRows rows(all, code);
  return std::ranges::any_of(problems.waits, [&](const auto& wait) {
    const auto [offset, depth] = wait;
    const std::size_t yields = all.index[offset / 2] + 1;
    if (rows.handler(yields) == kNoHandler) return false;
    // Of iterators that take two places `depth` counts one.
    return iterators_take_two(code.version) ? rows.depth(yields) < depth
                                            : rows.depth(yields) != depth;
  });
}

std::string broken_promise(const CodeObject& code) {
  const RawCode all(code);
  if (std::string problem = broken_details(code, all); !problem.empty()) return problem;
  if (std::string problem = broken_units(code, all); !problem.empty()) return problem;
  if (has_twins(code, all)) return "two of its locals have one name";
  const std::vector<RawInstr>& raw = all.instrs;
  std::uint32_t free = 0, copied = 0;
  bool prologue = false;
  const bool precalls = all.knows("PRECALL");
  std::vector<std::uint8_t> made(code.slots.size(), 0);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const std::string_view name = raw[i].info.name;
    prologue |= name == "RESUME";
    // An inlined comprehension makes a cell of its own in the place of the one that it puts aside.
    if (prologue && i > 0 && own_cell(code, raw, i - 1) != OwnCell::None) continue;
    if (name == "MAKE_CELL") {
      if (raw[i].operand >= made.size() || made[raw[i].operand]++)
        return "MAKE_CELL of " + std::to_string(raw[i].operand) + " is not the making of one cell";
    } else if (name == "COPY_FREE_VARS") {
      copied += raw[i].operand;
    } else if (name == "PRECALL" && (i + 1 == raw.size() || raw[i + 1].info.name != "CALL" ||
                                     raw[i + 1].operand != raw[i].operand)) {
      return "PRECALL counts " + std::to_string(raw[i].operand) +
             " arguments, but no CALL of as many follows";
    } else if (name == "GEN_START" && i > 0) {
      return "a generator starts behind its first instruction";
    } else if (name == "CALL" && precalls && (i == 0 || raw[i - 1].info.name != "PRECALL")) {
      return "no PRECALL stands before a CALL";
    }
  }
  // It takes the first value that a generator is sent from the stack.
  if (all.knows("GEN_START") && ((code.flags & (kGenerator | kCoroutine | kAsyncGenerator)) != 0) !=
                                    (!raw.empty() && raw[0].info.name == "GEN_START"))
    return "GEN_START is not where a generator begins";
  if (!code.version.has_exception_table()) return {};
  if (std::string problem = broken_resume(code, all); !problem.empty()) return problem;
  for (std::size_t i = 0; i < code.slots.size(); ++i) {
    free += (code.slots[i].kind & kFree) != 0;
    if (((code.slots[i].kind & kCell) != 0) != (made[i] != 0))
      return "the code does not make the cells of its cell variables";
  }
  if (free != copied)
    return "the code copies " + std::to_string(copied) + " free variables and has " +
           std::to_string(free);
  return {};
}

void mark_own_cells(const CodeObject& code, InstrList& list) {
  std::vector<OwnCell> made;
  const std::vector<RawInstr> raw = RawCode(code).instrs;
  for (std::size_t i = 0; i < raw.size(); ++i)
    if (raw[i].info.name == "LOAD_FAST_AND_CLEAR") made.push_back(own_cell(code, raw, i));
  std::size_t next = 0;
  for (Instr& instr : list.instrs)
    if (instr.op == Op::LOAD_FAST_AND_CLEAR && next < made.size())
      instr.aux = static_cast<std::uint32_t>(made[next++]);
}

void correct_signal_regions(const CodeObject& code, Cfg& cfg) {
  const auto goes_back = [&](const Block& block) { return jumps_back(cfg, block); };
  if (code.exceptiontable.empty() || std::ranges::none_of(cfg.blocks, goes_back)) return;
  const RawCode raw(code);
  if (!raw.table) return;
  std::vector<RawExceptionRow> rows;
  scan_exception_rows(code, [&](const RawExceptionRow& row) { rows.push_back(row); });
  const auto row_of = [&](std::uint64_t unit) -> const RawExceptionRow* {
    const auto next = std::ranges::partition_point(
        rows, [&](const RawExceptionRow& row) { return row.begin <= unit; });
    return next == rows.begin() || unit >= std::prev(next)->end ? nullptr : &*std::prev(next);
  };
  // By handler: the depths of some versions' tables count more than the graph's.
  std::multimap<std::uint64_t, RegionId> regions;
  for (std::uint32_t r = 0; r < cfg.regions.size(); ++r) {
    const Block& handler = cfg[cfg.regions[r].handler];
    if (handler.first < handler.end) regions.emplace(cfg.instrs[handler.first].offset, RegionId(r));
  }
  for (Block& block : cfg.blocks) {
    if (!goes_back(block)) continue;
    const RawInstr& jump = raw.instrs[raw.index[cfg.instrs[block.end - 1].offset / 2]];
    const std::uint64_t target = raw.target(jump, code.version);
    const bool behind =
        signals_come_at_targets(code.version) && target != 0 && target != UINT64_MAX;
    const RawExceptionRow* row = row_of(behind ? target - 1 : jump.unit);
    // What only hands an exception on is no region of the graph.
    const auto known = [&] { return regions.count(2 * row->target); };
    for (int hops = 0; row && hops < kMostHops && known() == 0 && raw.hands_on(row->target); ++hops)
      row = row_of(row->target);
    block.region_at_end = {};
    if (!row) continue;
    cfg.hides_signals |= known() != 1;
    if (known() == 1) block.region_at_end = regions.find(2 * row->target)->second;
  }
}

}  // namespace depyf::verify_detail
