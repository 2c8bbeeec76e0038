#pragma once
// Static single assignment form of one code object. Stack shuffles are gone; every stack value is a
// Value with one definition that dominates its uses; where different values meet at a merge the
// block has a parameter. Locals, cells and globals are NOT promoted: their loads and stores stay as
// ordered operations.
#include <cstdint>
#include <span>
#include <vector>

#include "flow/cfg.h"
#include "support/arena.h"
#include "support/checked_vector.h"

namespace depyf {

/// Bit 31 of the aux of LIST_APPEND … DICT_MERGE: an effect on operands[0] in place, no result.
constexpr std::uint32_t kInPlace = 1u << 31;

/// What a Value is: an operation of op.def, or one of these. Only Operations stand in a block's
/// body.
enum class ValueKind : std::uint8_t {
  Operation,  // `op` applied to `operands`
  Param,      // parameter `arg` of its block
  Result,     // result `arg` (0 = pushed first, i.e. deepest) of operands[0], an operation with
  // several fresh results: UNPACK_*, WITH_ENTER and ASYNC_WITH_ENTER (0 the exit function,
  // 1 the rest), CHECK_EG_MATCH, CLEANUP_THROW, MATCH_KEYS and MATCH_CLASS with aux 1; or
  // LiftedBlock::item. An operation with ONE fresh result is that result (IMPORT_FROM,
  // GET_LEN, GET_ANEXT, MATCH_KEYS with aux 0 …)
  Null,           // the NULL of PUSH_NULL or of a method pair: one value for all of them
  Exception,      // at a handler's entry: the exception (3.11+) or its value (≤ 3.10)
  ExceptionType,  // ≤ 3.10: its type
  Traceback,      // ≤ 3.10
  Previous,  // exception state saved at a handler's entry (PUSH_EXC_INFO's new value; ≤ 3.10: three
             // of them, arg 0 … 2)
  Lasti,
  Select,      // made by structure/: an expression with control flow inside; operands = {the first
               // tested value}
  Statements,  // made by structure/: a part of the graph that is statements already,
               // StructureGraph::parts[arg]
};

struct Value {
  ValueKind kind = ValueKind::Operation;
  Op op = Op::UNKNOWN;
  std::uint16_t height = 0;  // Operation: how many values the stack held when it was made, those
                             // that it takes off not counted
  std::uint32_t arg = 0, aux = 0;
  BlockId block;
  std::uint32_t offset = 0;
  std::int32_t line = 0;
  std::uint32_t columns = 0;    // LineCursor::columns()
  bool rotated = false;         // Operation: values on the stack were swapped right before it
  bool dropped = false;         // a POP_TOP in the region that made it takes it off the stack
  std::span<ValueId> operands;  // in stack order, deepest first; NULLs and keyword-name tuples as
                                // documented at lift()
};

/// Value::aux of a store of a variable: directly after it the value is dropped, as a statement
/// `(name := value)` is compiled.
constexpr std::uint32_t kThenDropped = 1;

/// Value::aux of an IS that a BRANCH_NONE made.
constexpr std::uint32_t kNoneBranch = 1;

enum class TermKind : std::uint8_t {
  Jump,     // to edges[0]
  Branch,   // value true -> edges[0], false -> edges[1]
  ForIter,  // next item of `value` -> edges[0] (its LAST argument is Value kind Result of this
            // terminator: see `item`), exhausted -> edges[1]
  Send,     // SEND outside the folded loop: yielded -> edges[0], finished -> edges[1]
  Return,   // value
  Raise,    // operands: 0, 1 or 2
  Reraise,  // value: the exception
  Unreachable,
};

/// `continue` or `break`, or the `pass` of a body that is nothing else, as the bytecode tells of
/// it; line 0: none.
struct WrittenJump {
  std::int32_t line = 0;
  std::uint32_t offset = 0;
  std::uint32_t columns = 0;
  bool pass = false;
  explicit operator bool() const { return line != 0; }
  bool operator==(const WrittenJump& other) const { return line == other.line; }
};

struct Edge {
  BlockId to;
  std::span<ValueId> args;   // one for each parameter of `to`
  WrittenJump written = {};  // structure/: the jump statement that the edge is
};

struct LiftedBlock {
  std::vector<ValueId> params;
  std::vector<ValueId> body;  // every operation in order of execution, those without effect too
                              // (constants, local loads)
  TermKind term = TermKind::Unreachable;
  JumpRole jump = JumpRole::Plain;  // Jump: what it was in the source
  ValueId value;                    // condition, iterator, returned value, exception
  ValueId item;  // ForIter: the value defined on edges[0] (kind Result, operands = {iterator});
                 // Send: = value
  std::span<ValueId> raise_args;  // Raise
  Edge edges[2];
  std::uint8_t falls =
      0;  // Branch: the edge that the source's code goes on with, which the test does not jump to
  std::uint32_t term_offset = 0;
  std::int32_t term_line = 0;
  std::uint32_t term_columns = 0;
  RegionId region;
  bool takes_signals = false;  // the interpreter looks for signals where the block is left,
  RegionId signal_region;      // and this is the region whose handler gets what they raise
  std::span<ValueId>
      handler_args;  // one for each parameter of the region's handler block (exceptional edge);
                     // nearly always empty; none where nothing in this block raises
  std::vector<ValueId> stack_in;  // the whole stack at entry, deepest first (params and dominating
                                  // values): what handlers and `with` need; none: a slot that
                                  // changes inside a protected block and that the handler only pops
};

struct Lifted {
  CodeId code;
  Arena arena;
  CheckedVector<Value> values;
  CheckedVector<LiftedBlock> blocks;  // same ids as in the Cfg
  CheckedVector<Region> regions;
  BlockId entry;
  VersionTraits traits;
  std::vector<LoopSpan> loops;              // see Cfg
  std::vector<ElseSpan> elses;              // see Cfg
  std::vector<std::uint32_t> behind_jumps;  // see InstrList
  bool ends_in_compound = false;            // see Cfg, as what follows
  bool hides_signals = false;
  /// Only where lift() was asked: what the stack holds while an operation runs that may_free(), by
  /// value, and while a block's terminator does, by block. Operands are not in it. Values that
  /// later stages add have no entry.
  std::vector<std::vector<ValueId>> held, held_at_end;
  std::size_t held_room = 0;  // how many more values the lists may have

  Value& operator[](ValueId id) { return values[id.index]; }
  const Value& operator[](ValueId id) const { return values[id.index]; }
  LiftedBlock& operator[](BlockId id) { return blocks[id.index]; }
  const LiftedBlock& operator[](BlockId id) const { return blocks[id.index]; }

  ValueId add(const Value& value) {
    values.push_back(value);
    return ValueId(static_cast<std::uint32_t>(values.size() - 1));
  }
};

/// May a value end while the operation runs, because code of the program does? Others only move
/// values, and the values that they drop die between two operations of this kind.
bool may_free(Op op);

/// Calls visit(list) for every list of values that the stack holds, if lift() was asked for them.
template <class Visit>
void each_held(Lifted& lifted, Visit&& visit) {
  for (std::vector<ValueId>& list : lifted.held) visit(list);
  for (std::vector<ValueId>& list : lifted.held_at_end) visit(list);
}

/// Abstract interpretation of the stack, block by block in reverse postorder; parameters that
/// always get one value are removed (Braun et al., "Simple and Efficient Construction of SSA Form",
/// CC 2013). Normal forms:
/// · calls of every layout: operands = {callable, arguments…} with NULLs gone, aux 0, arg the
///   number of arguments; CALL_KW: {callable, arguments…, names} with names a LOAD_CONST value;
///   CALL_EX: {callable, args, mapping?}. A "self" slot that is no NULL and comes from no method
///   pair: {callable, self, arguments…}.
/// · LOAD_METHOD: one value (op LOAD_METHOD, operands {object}); the pair's other half is a Null.
/// · LIST_APPEND, SET_ADD, MAP_ADD, LIST_EXTEND … on a collection built here which only the stack
///   knows and only once: operands {collection, item…} and the RESULT IS THE COLLECTION'S NEXT
///   VERSION (it replaces the stack slot), also across blocks, as in [*a, b if c else d]. Where the
///   collection is aliased (copied, stored, passed on), was built outside the loop that grows it (a
///   comprehension), or differs by the way taken, it is an effect: aux has kInPlace, no result.
///   MAP_ADD is {map, key, value}; in place with aux 1 (3.7) {map, value, key}, which says what was
///   evaluated first.
/// · SET_FUNCTION_ATTRIBUTE right after its MAKE_FUNCTION becomes an operand of it; INTRINSIC_1
///   ListToTuple is LIST_TO_TUPLE, UnaryPositive is UNARY Plus, INTRINSIC_2 PrepReraiseStar is
///   PREP_RERAISE_STAR.
/// · WITH_EXCEPT_START {exit, exception}; END_ASYNC_FOR {async iterator, exception}; POP_EXCEPT {};
///   PUSH_EXC_INFO only defines a Previous.
/// · TO_BOOL (and COMPARE's) directly before a branch or UNARY Not is transparent; BRANCH_NONE
///   becomes Branch on IS(x, None) with aux kNoneBranch.
/// · BRANCH_*_OR_POP: Branch with the tested value among the args of the keeping edge.
/// · EXC_MATCH and CHECK_EXC_MATCH: op EXC_MATCH, operands {exception, type}.
/// · POP_TOP of a caught exception or of an iterator stays as an operation on it: it tells
///   `except:` from `finally:`, and where a loop ends.
/// · POP_TOP of another value that has an effect leaves the operation in `body` without uses; a
///   POP_TOP of a value defined elsewhere is dropped.
/// May add the constant None to `module`. Throws Error, naming the offset, on stack underflow, on
/// depths that disagree, on a handler that reads a slot which the protected code changes, and on a
/// handler that is also jumped to.
/// With `held`, Lifted::held is filled; throws Error where the lists would be too large.
Lifted lift(Module& module, CodeId code, const Cfg& cfg, bool held = false);

/// Debug builds run this after lift and simplify: every operand is defined before its use on every
/// way, edges carry one argument for each parameter, body values are Operations of their block.
/// Throws Error at the first violation.
void check(const Lifted& lifted);

/// Text form for `dump --stage lift` and tests.
std::string to_text(const Lifted& lifted, const Module& module);

}  // namespace depyf
