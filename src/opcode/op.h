#pragma once
#include <cstdint>
#include <iterator>
#include <string_view>

// The groups of op.def.
#define OP_STACK 0x0001
#define OP_CONSTANTS 0x0002
#define OP_LOADS 0x0004
#define OP_STORES 0x0008
#define OP_OPERATORS 0x0010
#define OP_DISPLAYS 0x0020
#define OP_CALLS 0x0040
#define OP_ITERATORS 0x0080
#define OP_IMPORTS 0x0100
#define OP_MANAGERS 0x0200
#define OP_EXCEPTIONS 0x0400
#define OP_MODULES 0x0800
#define OP_PATTERNS 0x1000
#define OP_CONTROL 0x2000
#define OP_MARKERS 0x4000
#define OP_ALL 0x7FFF

namespace depyf {

enum class Op : std::uint8_t {
#define OP(name, ...) name,
#include "opcode/op.def"
};

/// What `arg` of an operation is: a number, a ConstId or a StrId of the module, or an index into
/// CodeObject::slots.
enum class ArgKind : std::uint8_t { Plain, Const, Str, Local, Deref };

// The columns of op.def. At namespace scope: a constexpr array inside a function is built on the
// stack at each call that is not inlined away.
namespace op_columns {
inline constexpr std::string_view kNames[] = {
#define OP(name, ...) #name,
#include "opcode/op.def"
};
inline constexpr ArgKind kOperands[] = {
#define OP(name, operand, ...) ArgKind::operand,
#include "opcode/op.def"
};
constexpr bool Quiet = true, Raises = false;
inline constexpr bool kQuiet[] = {
#define OP(name, operand, raising, ...) raising,
#include "opcode/op.def"
};
static_assert(Quiet != Raises);
}  // namespace op_columns

constexpr std::string_view op_name(Op op) {
  return op_columns::kNames[static_cast<std::uint8_t>(op)];
}

constexpr ArgKind arg_kind(Op op) { return op_columns::kOperands[static_cast<std::uint8_t>(op)]; }

/// No exception comes from executing it, whatever the values are (op.def).
constexpr bool cannot_raise(Op op) { return op_columns::kQuiet[static_cast<std::uint8_t>(op)]; }

/// Does it store to a variable, by its name or place?
constexpr bool is_name_store(Op op) {
  return op == Op::STORE_FAST || op == Op::STORE_NAME || op == Op::STORE_GLOBAL ||
         op == Op::STORE_DEREF;
}

/// One of the group OP_STORES of op.def.
constexpr bool binds_or_deletes(Op op) {
  switch (op) {
#define OP(name, ...) case Op::name:
#define OP_GROUPS OP_STORES
#include "opcode/op.def"
    return true;
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~OP_STORES)
#include "opcode/op.def"
    return false;
  }
  return false;
}

enum class UnaryOp : std::uint8_t { Invert, Not, Plus, Minus };
enum class BinaryOp : std::uint8_t {
  Add,
  And,
  FloorDivide,
  LShift,
  MatMult,
  Multiply,
  Remainder,
  Or,
  Power,
  RShift,
  Subtract,
  TrueDivide,
  Xor,
};
enum class CompareOp : std::uint8_t {
  Lt,
  Le,
  Eq,
  Ne,
  Gt,
  Ge,
  Is,
  IsNot,
  In,
  NotIn
};  // the last four in the Ast only
enum class CommonConstant : std::uint8_t {
  AssertionError,
  NotImplementedError,
  BuiltinTuple,
  BuiltinAll,
  BuiltinAny,
  BuiltinList,
  BuiltinSet,
  BuiltinFrozenset,
  None_,
  EmptyString,
  True_,
  False_,
  MinusOne,  // a table row says which raw operand is which; None, "", True … are decoded to
             // LOAD_CONST
};
enum class Intrinsic1 : std::uint8_t {
  Print,
  ImportStar,
  StopIterationError,
  AsyncGenWrap,
  UnaryPositive,
  ListToTuple,
  TypeVar,
  ParamSpec,
  TypeVarTuple,
  SubscriptGeneric,
  TypeAlias,
};
enum class Intrinsic2 : std::uint8_t {
  PrepReraiseStar,
  TypeVarWithBound,
  TypeVarWithConstraints,
  SetFunctionTypeParams,
  SetTypeParamDefault
};
enum class SpecialMethod : std::uint8_t { Enter, Exit, AEnter, AExit };

/// The name of a constant that a module may not change; of the others, how they are written.
constexpr std::string_view common_constant_text(CommonConstant which) {
  constexpr std::string_view texts[] = {"AssertionError",
                                        "NotImplementedError",
                                        "tuple",
                                        "all",
                                        "any",
                                        "list",
                                        "set",
                                        "frozenset",
                                        "None",
                                        "''",
                                        "True",
                                        "False",
                                        "(-1)"};
  const auto index = static_cast<std::uint8_t>(which);
  return index < std::size(texts) ? texts[index] : std::string_view();
}

enum CallLayout : std::uint32_t { kPlain = 0, kNullBelow = 1, kNullAbove = 2 };

}  // namespace depyf
