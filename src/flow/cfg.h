#pragma once
// Control-flow graph of one code object: basic blocks, normal edges, and a forest of handler
// regions.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bytecode/instr.h"
#include "support/checked_vector.h"

namespace depyf {

enum class HandlerEntry : std::uint8_t {
  Exception,  // 3.11+: stack cut to depth, then lasti (if the region says so), then the exception
  Six,  // ≤ 3.10: stack cut to depth, then previous traceback, value, type, then traceback, value,
        // type (on top)
};

/// What a JUMP was in the source, where the bytecode tells (≤ 3.9): Instr::aux of a JUMP in a Cfg.
/// Loop: the beginning of a loop, where another one begins too (3.7).
enum class JumpRole : std::uint8_t { Plain, Break, Continue, Loop };

constexpr std::uint32_t kNoOffset = UINT32_MAX;

/// Offsets of a loop's first instruction and of its last jump back.
struct LoopSpan {
  std::uint32_t begin, end;
  std::uint32_t after = kNoOffset;  // 3.7: of what follows the statement
};

/// Offsets where an `else` begins, and of what follows the statement.
struct ElseSpan {
  std::uint32_t begin, end;
};

/// A protected region: the blocks whose innermost handler it is, plus its children's. Regions form
/// a forest; the handler lies in the parent. An exception that leaves a running handler restores
/// the exception state by itself, in every version: 3.11's regions that do just that (COPY 3;
/// POP_EXCEPT; RERAISE) are gone, unless something would be lost (no compiler emits such code).
struct Region {
  RegionId parent;
  BlockId handler;          // entry block of the handler
  std::uint32_t depth = 0;  // stack depth at which the handler starts
  bool lasti = false;
  HandlerEntry entry = HandlerEntry::Exception;
  bool cleanup = false;  // ≤ 3.8: the handler is the body of a `finally`
  // ≤ 3.8, where END_FINALLY goes on also after code that never ends: offsets, kNoOffset where the
  // bytecode does not tell
  std::uint32_t setup = kNoOffset;  // of the SETUP_FINALLY
  std::uint32_t after = kNoOffset;  // of what follows the statement
  std::uint32_t end = kNoOffset;  // ≤ 3.9: of the first instruction after the clauses of `except`,
                                  // or after the body of `finally`
};

/// Ends in the one control instruction (or falls through). Only the last instruction may branch.
struct Block {
  std::uint32_t first = 0, end = 0;  // range in Cfg::instrs
  RegionId region;  // innermost region that protects every instruction of this block; none outside
  /// Successors: jump or fall-through: {next, none}; a conditional: {fall-through, target};
  /// return/raise/reraise: none.
  BlockId next, target;
  /// The region whose handler gets what a signal raises that comes with the last instruction: as
  /// the exception table has it, which absorb_gaps() widens.
  RegionId region_at_end = {};
};

/// What later stages know of the Python version: how its compiler lays code out, and what its
/// parser takes.
struct VersionTraits {
  /// ≤ 3.9: no optimiser copied or moved a block, so offsets follow the source.
  bool source_order = false;
  /// From 3.8 on the compiler takes `continue` in a `finally` body,
  bool continue_in_finally = true;
  /// and there is `name := value`.
  bool named_expressions = true;
  /// 3.10, 3.11: a value that two operators jump on is tested once where both are of one row, else
  /// twice.
  bool one_test_on_a_row = false;
  /// 3.8 to 3.10: the jumps of a condition have the row on which its statement begins.
  bool tests_on_statement_row = false;
  /// 3.10: but behind a comparison, the row of that.
  bool comparison_moves_row = false;
  /// 3.12+: a test that would jump back jumps forward if it does not hold, over a jump of the same
  /// place in the source.
  bool turns_tests = false;
  /// 3.11+: the callee takes over the arguments of a plain call, while the tuple and the dict of a
  /// starred one keep theirs until it returns. From 3.12 on those of functions are taken over too,
  /// those of methods are not.
  bool keeps_starred = false;
  /// 3.14+: the constants that a display begins with come as one.
  bool folds_displays = false;
  /// 3.14+: `if not x in y` tests `x in y` and not `x not in y`.
  bool keeps_not = false;
  /// 3.11+: the interpreter looks for signals at a jump back, at a call and where a generator goes
  /// on; before, at every instruction.
  bool signals_at_jumps = false;
  /// How many brackets in one another the parser takes, and one more.
  std::uint32_t brackets = 199;
};

/// How many jumps and blocks without effect a look ahead passes. Compilers leave one or two behind
/// one another; the bound keeps hostile code, where each of n looks passes n jumps, linear.
constexpr int kMostHops = 64;

struct Cfg {
  std::vector<Instr>
      instrs;  // Instr::target is NOT used here; blocks have successors. ≤ 3.8: expanded by context
  CheckedVector<Block> blocks;    // in order of the bytecode; only reachable ones (from entry, by
                                  // normal and exceptional edges)
  CheckedVector<Region> regions;  // parents before children
  BlockId entry;
  VersionTraits traits;
  std::vector<LoopSpan> loops;              // where traits.source_order: by `begin`
  std::vector<ElseSpan> elses;              // ≤ 3.9: of `if`, and where other jumps look like it
  std::vector<std::uint32_t> behind_jumps;  // see InstrList
  /// ≤ 3.10: offset of an instruction that does not find on the stack what the interpreter keeps
  /// there of handlers and of ways into `finally` bodies. No compiler writes it.
  std::uint32_t misplaced = kNoOffset;
  bool unreached = false;  // ≤ 3.10: with code that nothing reaches, see build_cfg
  /// A signal may go to a handler that is not here: ≤ 3.10 to that of a region that protects
  /// nothing (`try: pass`).
  bool hides_signals = false;
  bool ends_in_compound =
      false;  // ≤ 3.9: the last statement is no `return`, though nothing reaches the end after one

  const Block& operator[](BlockId id) const { return blocks[id.index]; }
  const Region& operator[](RegionId id) const { return regions[id.index]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(blocks.size()); }
};

/// Blocks, edges and handler regions. 3.11+: rows of the table merged by (target, depth,
/// lasti). 3.9/3.10: one forward walk of the block stack. 3.7/3.8: expanded by context (offset ×
/// block stack), END_FINALLY, WITH_CLEANUP_*, CALL_FINALLY, BREAK_LOOP resolved, so that the result
/// looks like 3.9's. Blocks are split so that each has one innermost region. Throws Error on
/// targets out of range, code that runs off its end, and a block stack that does not fit its
/// instructions. `unreached`: with what control never takes. Up to 3.8 that is the code that stands
/// after a `raise`, or after a `try` whose body ends in `return` and whose clauses leave, and
/// that nothing else reaches, as if the `raise` or `return` went on to it: its block gets a
/// successor. Up to 3.10 it is a region that protects nothing (`try: pass`): an empty block is in
/// it.
Cfg build_cfg(const Module& module, CodeId code, const InstrList& list, bool unreached = false);

/// Does the last instruction of the block lead to an earlier one?
bool jumps_back(const Cfg& cfg, const Block& block);

/// Text form for `dump --stage flow` and tests.
std::string to_text(const Cfg& cfg, const Module& module, CodeId code);

}  // namespace depyf
