#pragma once
// The opcodes of each CPython, joined from the generated tables/pyXY.def and the hand-written
// semantics.def.
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "opcode/op.h"
#include "opcode/version.h"

namespace depyf {

constexpr std::int8_t kNoEffect = -128;  // dis.stack_effect refuses the operand

enum class OperandKind : std::uint8_t { None, Plain, Const, Name, Local, Free, Compare, Jump };
enum class JumpKind : std::uint8_t { None, Forward, Backward, Absolute };

/// What the decoder does with an opcode; semantics.def explains each.
enum class Action : std::uint8_t {
  Unknown,  // no row
  Drop,
  Nop,
  Fixed,
  Operand,
  Range,
  Masked,
  Twice,
  Const,
  Name,
  Slot,
  Deref,
  SlotOrCell,
  SlotPair,
  Jump,
  ReturnGenerator,
  SmallInt,
  CommonConstant,
  LoadGlobal,
  LoadAttr,
  LoadSuperAttr,
  BinaryOperator,
  Comparison,
  FormatValue,
  Interpolation,
  KwNames,
  Call,
  Intrinsic1,
  Intrinsic2,
  GetIter,
  ForIter,
  UnpackEx,
  ImportName,
  SpecialMethod,
  Reraise,
  ExcMatchJump,
  ReturnConst,
};

struct OpcodeInfo {
  std::string_view name;  // empty: no such opcode
  std::string_view base;  // of a specialised or instrumented opcode: what co_code holds in its
                          // place; else the name itself
  OperandKind operand = OperandKind::None;
  JumpKind jump = JumpKind::None;
  std::uint8_t caches = 0;  // code units of inline cache after it
  std::int8_t effects[8] =
      {};  // dis.stack_effect at operand 0, 1, 2, 3 without the jump, then with it
  Action action = Action::Unknown;
  Op op = Op::UNKNOWN;
  std::uint32_t arg = 0, aux = 0;
  bool bare = false;                       // READ_BARE of semantics.def
  std::string_view next, other, leads_to;  // READ_NEXT, READ_OTHER, READ_TARGET; empty: none
};

/// Meaning of one operand value that the interpreter numbers itself; op is UNKNOWN where there is
/// none.
struct OperatorInfo {
  std::string_view name;
  Op op = Op::UNKNOWN;
  std::uint32_t arg = 0;
};

struct VersionTable {
  std::array<OpcodeInfo, 256> opcodes;
  std::array<OperatorInfo, 16> comparisons;
  std::array<OperatorInfo, 32> binary_operators;
  std::array<OperatorInfo, 16> intrinsics_1;
  std::array<OperatorInfo, 8> intrinsics_2;
  std::array<OperatorInfo, 8> special_methods;
  std::array<OperatorInfo, 16> common_constants;
  std::uint8_t extended_arg = 0;
};

/// The table of a version that is supported; null for others.
const VersionTable* version_table(PyVersion version);

/// One row of semantics.def, for tests that every row is used.
struct SemanticsRow {
  std::string_view opcode;
  std::uint8_t first, last;
};
std::span<const SemanticsRow> semantics_rows();
/// The same of the rows that say at which units the interpreter looks.
std::span<const SemanticsRow> read_rows();

}  // namespace depyf
