#pragma once
// Instructions of a code object as its bytes hold them, for questions that need no decode().
#include <cstddef>
#include <cstdint>

#include "opcode/tables.h"
#include "pyc/code_object.h"

namespace depyf {

/// An instruction with the operand that its EXTENDED_ARG prefixes complete.
struct RawInstr {
  const OpcodeInfo& info;
  std::uint32_t operand;
  std::uint32_t unit;  // code unit of the opcode, after the prefixes
  std::uint32_t prefixes;

  /// Of an operation whose operand is an index in CodeObject::names: that index.
  std::uint32_t name() const { return info.action == Action::LoadGlobal ? operand >> 1 : operand; }
};

/// What the operand of RESUME says beside where the code goes on (0 the function, 1 behind a
/// `yield`, 2 a `yield from`, 3 an `await`).
struct ResumeOperand {
  std::uint32_t start;  // where a generator expression makes its iterator
  std::uint32_t alone;  // the bit that says that close() may pass over the handler; 0: YIELD_VALUE
};
constexpr ResumeOperand resume_operand(PyVersion version) {
  if (version >= PyVersion{3, 15}) return {4, 8};
  if (version >= PyVersion{3, 13}) return {0, 4};
  return {0, 0};
}

/// The low bits of a comparison's operand (3.12 on): 1 unordered, 2 less, 4 greater, 8 equal.
constexpr std::uint32_t comparison_results(std::uint32_t compare) {
  switch (static_cast<CompareOp>(compare)) {
    case CompareOp::Lt:
      return 2;
    case CompareOp::Le:
      return 10;
    case CompareOp::Eq:
      return 8;
    case CompareOp::Ne:
      return 7;
    case CompareOp::Gt:
      return 4;
    case CompareOp::Ge:
      return 12;
    case CompareOp::Is:
    case CompareOp::IsNot:
    case CompareOp::In:
    case CompareOp::NotIn:
      break;
  }
  return 0;
}

/// How much of a jump's operand is one code unit: up to 3.9 they count bytes.
constexpr std::uint32_t jump_step(PyVersion version) { return version < PyVersion{3, 10} ? 2 : 1; }

/// The code unit that a jump leads to, which may be none of the code's; -1 for no jump. `next`: the
/// unit behind the instruction and its caches. `distance`: the operand, in code units.
constexpr std::int64_t jump_target(JumpKind kind, std::int64_t next, std::int64_t distance) {
  switch (kind) {
    case JumpKind::Forward:
      return next + distance;
    case JumpKind::Backward:
      return next - distance;
    case JumpKind::Absolute:
      return distance;
    case JumpKind::None:
      break;
  }
  return -1;
}

/// The flags of `from __future__ import`, and those among them that change what is compiled:
/// `annotations` and `barry_as_FLUFL`. The others are in force in any case. The bits moved within
/// 3.8 (bpo-39562, after 3.8.2), where both sets may be meant.
struct FutureFlags {
  std::uint32_t all, inherited;
};
constexpr FutureFlags future_flags(PyVersion version) {
  constexpr std::uint32_t old = 0x140000, now = kFutureAnnotations | kFutureUnequal;
  if (version >= PyVersion{3, 9}) return {0x1FE0000, now};
  if (version >= PyVersion{3, 8}) return {0x1FFE000, old | now};
  return {0x1FE000, old};
}

/// Does CO_NESTED say when a function is freed? Free-threaded builds count the references to others
/// later (PyFunction_NewWithQualName of Objects/funcobject.c), and to class bodies, too.
constexpr bool counts_by_nesting(PyVersion version) { return version >= PyVersion{3, 13}; }

/// 3.11, 3.12: a jump back looks for signals when it has been taken (CHECK_EVAL_BREAKER behind
/// JUMPBY in Python/ceval.c and bytecodes.c). So what a signal raises goes to the handler around
/// the code unit before the target.
constexpr bool signals_come_at_targets(PyVersion version) {
  return version >= PyVersion{3, 11} && version < PyVersion{3, 13};
}

/// An iterator takes two places of the stack: itself, and an index (3.15).
constexpr bool iterators_take_two(PyVersion version) { return version >= PyVersion{3, 15}; }

/// Instr::aux of an import that is not lazy, as that of a function.
constexpr std::uint8_t eager_import(PyVersion version) {
  return version >= PyVersion{3, 15} ? 2 : 0;
}

/// Calls `see(RawInstr)` for every instruction but EXTENDED_ARG, in the order of the bytes, also
/// for code that control never takes; inline caches are left out.
template <class See>
void scan_instructions(const CodeObject& code, const VersionTable& table, See see) {
  const auto count = static_cast<std::uint32_t>(code.code.size() / 2);
  std::uint32_t prefix = 0, prefixes = 0;
  for (std::uint32_t unit = 0; unit < count; ++unit) {
    const std::uint8_t opcode = code.code[2 * std::size_t{unit}];
    const std::uint32_t operand = prefix << 8 | code.code[2 * std::size_t{unit} + 1];
    if (opcode == table.extended_arg) {
      prefix = operand;
      ++prefixes;
      continue;
    }
    const OpcodeInfo& info = table.opcodes[opcode];
    see(RawInstr{info, operand, unit, prefixes});
    prefix = prefixes = 0;
    unit += info.caches;
  }
}

/// The same; sees nothing where the version is not known.
template <class See>
void scan_instructions(const CodeObject& code, See see) {
  if (const VersionTable* table = version_table(code.version)) scan_instructions(code, *table, see);
}

/// A row of the exception table (3.11 on), in code units; `depth` holds lasti as its lowest bit.
struct RawExceptionRow {
  std::uint64_t begin, end, target, depth;
};

/// Calls `see(RawExceptionRow)` for every row, in order. A table that is cut off ends there:
/// decode() tells of it.
template <class See>
void scan_exception_rows(const CodeObject& code, See see) {
  // Varints, most significant bits first (Objects/exception_handling_notes.txt).
  std::uint64_t row[4] = {};
  std::size_t part = 0;
  for (const std::uint8_t byte : code.exceptiontable) {
    row[part] = row[part] << 6 | (byte & 63);
    if ((byte & 64) != 0 || ++part < 4) continue;
    see(RawExceptionRow{row[0], row[0] + row[1], row[2], row[3]});
    row[0] = row[1] = row[2] = row[3] = 0;
    part = 0;
  }
}

}  // namespace depyf
