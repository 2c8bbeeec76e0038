#pragma once
#include <cstdint>
#include <string_view>

namespace depyf {

enum class Op : std::uint8_t {
#define OP(name) name,
#include "opcode/op.def"
#undef OP
};

constexpr std::string_view op_name(Op op) {
  constexpr std::string_view names[] = {
#define OP(name) #name,
#include "opcode/op.def"
#undef OP
  };
  return names[static_cast<std::uint8_t>(op)];
}

/// Does it store to a variable, by its name or place?
constexpr bool is_name_store(Op op) {
  return op == Op::STORE_FAST || op == Op::STORE_NAME || op == Op::STORE_GLOBAL ||
         op == Op::STORE_DEREF;
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
enum CallLayout : std::uint32_t { kPlain = 0, kNullBelow = 1, kNullAbove = 2 };

}  // namespace depyf
