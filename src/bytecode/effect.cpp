#include "bytecode/effect.h"

#include <array>
#include <bit>

namespace depyf {

namespace {
constexpr StackEffect effect(std::uint64_t pops, std::uint64_t pushes) {
  return {pops, pushes, pushes};
}
constexpr std::uint64_t null_count(std::uint32_t layout) { return layout == kPlain ? 0 : 1; }

constexpr StackEffect effect_of(const Instr& instr) {
  const std::uint64_t n = instr.arg;
  const std::uint64_t aux = instr.aux;
  switch (instr.op) {
    case Op::POP_TOP:
      return effect(1, 0);
    case Op::COPY:
      return effect(n, n + 1);
    case Op::SWAP:
    case Op::ROT:
      return effect(n, n);
    case Op::PUSH_NULL:
      return effect(0, 1);
    case Op::END_FOR:
      return effect(n, 0);
    case Op::LOAD_CONST:
    case Op::LOAD_COMMON:
    case Op::LOAD_BUILD_CLASS:
    case Op::LOAD_FAST:
    case Op::LOAD_FAST_AND_CLEAR:
      return effect(0, 1);
    case Op::STORE_FAST:
      return effect(1, 0);
    case Op::DELETE_FAST:
      return effect(0, 0);
    case Op::LOAD_DEREF:
      return effect(0, 1);
    case Op::STORE_DEREF:
      return effect(1, 0);
    case Op::DELETE_DEREF:
      return effect(0, 0);
    case Op::LOAD_CLASSDEREF:
      return effect(aux & 1, 1);
    case Op::LOAD_CLOSURE:
    case Op::LOAD_GLOBAL:
      return effect(0, 1);
    case Op::STORE_GLOBAL:
      return effect(1, 0);
    case Op::DELETE_GLOBAL:
      return effect(0, 0);
    case Op::LOAD_NAME:
      return effect(0, 1);
    case Op::STORE_NAME:
      return effect(1, 0);
    case Op::DELETE_NAME:
      return effect(0, 0);
    case Op::LOAD_LOCALS:
      return effect(0, 1);
    case Op::LOAD_FROM_DICT_OR_GLOBALS:
      return effect(1, 1);
    case Op::LOAD_ATTR:
      return effect(1, 1);
    case Op::LOAD_METHOD:
      return effect(1, 2);
    case Op::LOAD_SUPER_ATTR:
      return effect(3, 1 + (aux & 1));
    case Op::STORE_ATTR:
      return effect(2, 0);
    case Op::DELETE_ATTR:
      return effect(1, 0);
    case Op::LOAD_SUBSCR:
      return effect(2, 1);
    case Op::STORE_SUBSCR:
      return effect(3, 0);
    case Op::DELETE_SUBSCR:
      return effect(2, 0);
    case Op::LOAD_SLICE:
      return effect(3, 1);
    case Op::STORE_SLICE:
      return effect(4, 0);
    case Op::UNARY:
      return effect(1, 1);
    case Op::BINARY:
    case Op::INPLACE:
    case Op::COMPARE:
    case Op::IS:
    case Op::CONTAINS:
      return effect(2, 1);
    case Op::TO_BOOL:
      return effect(1, 1);
    case Op::BUILD_TUPLE:
    case Op::BUILD_LIST:
    case Op::BUILD_SET:
      return effect(n, 1);
    case Op::BUILD_MAP:
      return effect(2 * n, 1);
    case Op::BUILD_CONST_KEY_MAP:
      return effect(n + 1, 1);
    case Op::BUILD_STRING:
    case Op::BUILD_SLICE:
    case Op::BUILD_TUPLE_UNPACK:
    case Op::BUILD_LIST_UNPACK:
    case Op::BUILD_SET_UNPACK:
    case Op::BUILD_MAP_UNPACK:
      return effect(n, 1);
    case Op::LIST_APPEND:
    case Op::SET_ADD:
      return effect(n + 1, n);
    case Op::MAP_ADD:
      return effect(n + 2, n);
    case Op::LIST_EXTEND:
    case Op::SET_UPDATE:
    case Op::DICT_UPDATE:
    case Op::DICT_MERGE:
      return effect(n + 1, n);
    case Op::LIST_TO_TUPLE:
      return effect(1, 1);
    case Op::FORMAT:
      return effect(1 + (aux & 1), 1);
    case Op::CONVERT:
      return effect(1, 1);
    case Op::BUILD_INTERPOLATION:
      return effect(2 + (aux & 1), 1);
    case Op::BUILD_TEMPLATE:
      return effect(2, 1);
    case Op::CALL:
      return effect(n + 1 + null_count(instr.aux), 1);
    case Op::CALL_KW:
      return effect(n + 2 + null_count(instr.aux), 1);
    case Op::CALL_EX:
      return effect(2 + (n & 1) + null_count(instr.aux), 1);
    case Op::MAKE_FUNCTION:
      return effect(1 + static_cast<std::uint64_t>(std::popcount(instr.arg)) + (aux & 1), 1);
    case Op::SET_FUNCTION_ATTRIBUTE:
      return effect(2, 1);
    case Op::INTRINSIC_1:
      return effect(1, 1);
    case Op::INTRINSIC_2:
      return effect(2, 1);
    case Op::GET_ITER:
    case Op::GET_YIELD_FROM_ITER:
    case Op::GET_AITER:
      return effect(1, 1);
    case Op::GET_ANEXT:
      return effect(1, 2);
    case Op::GET_AWAITABLE:
      return effect(1, 1);
    case Op::FOR_ITER:
      return {1, 2, 0};
    case Op::YIELD_VALUE:
      return effect(1, 1);
    case Op::YIELD_FROM:
      return effect(2, 1);
    case Op::SEND:
      return {2, 2, aux == 1 ? 1U : 2U};
    case Op::END_SEND:
      return effect(2, 1);
    case Op::CLEANUP_THROW:
      return effect(3, 2);
    case Op::END_ASYNC_FOR:
      return effect(n, 0);
    case Op::UNPACK_SEQUENCE:
      return effect(1, n);
    case Op::UNPACK_EX:
      return effect(1, n + 1 + aux);
    case Op::IMPORT_NAME:
      return effect(2, 1);
    case Op::IMPORT_FROM:
      return effect(1, 2);
    case Op::IMPORT_STAR:
      return effect(1, 0);
    case Op::WITH_ENTER:
    case Op::ASYNC_WITH_ENTER:
      return effect(1, aux == 2 ? 3 : 2);
    case Op::WITH_EXCEPT_START:
      return effect(n, n + 1);
    case Op::LOAD_SPECIAL:
      return effect(1, 2);
    case Op::RAISE:
    case Op::RERAISE:
      return effect(n, 0);
    case Op::PUSH_EXC_INFO:
      return effect(1, 2);
    case Op::POP_EXCEPT:
      return effect(n, 0);
    case Op::EXC_MATCH:
      return effect(2, 1);
    case Op::CHECK_EXC_MATCH:
    case Op::CHECK_EG_MATCH:
      return effect(2, 2);
    case Op::PREP_RERAISE_STAR:
      return effect(2, 1);
    case Op::SETUP_ANNOTATIONS:
      return effect(0, 0);
    case Op::PRINT_EXPR:
      return effect(1, 0);
    case Op::MATCH_MAPPING:
    case Op::MATCH_SEQUENCE:
      return effect(1, 2);
    case Op::MATCH_KEYS:
      return effect(2, 3 + (aux & 1));
    case Op::MATCH_CLASS:
      return effect(3, 1 + (aux & 1));
    case Op::GET_LEN:
      return effect(1, 2);
    case Op::COPY_DICT_WITHOUT_KEYS:
      return effect(2, 2);
    case Op::JUMP:
      return effect(0, 0);
    case Op::BRANCH_FALSE:
    case Op::BRANCH_TRUE:
    case Op::BRANCH_NONE:
    case Op::BRANCH_NOT_NONE:
      return effect(1, 0);
    case Op::BRANCH_FALSE_OR_POP:
    case Op::BRANCH_TRUE_OR_POP:
      return {1, 0, 1};
    case Op::RETURN_VALUE:
      return effect(1, 0);
    case Op::SETUP_WITH:
      return instr.aux == 1 ? effect(0, 0) : effect(1, 2);
    case Op::SETUP_FINALLY:
    case Op::SETUP_LOOP:
    case Op::POP_BLOCK:
    case Op::BREAK_LOOP:
    case Op::CONTINUE_LOOP:
    case Op::BEGIN_FINALLY:
    case Op::CALL_FINALLY:
    case Op::POP_FINALLY:
    case Op::END_FINALLY:
    case Op::WITH_CLEANUP_START:
    case Op::WITH_CLEANUP_FINISH:
    case Op::UNKNOWN:
      return effect(0, 0);
  }
  return {};
}

/// An operation that does the same to the stack for several operands does it for all: what depends
/// on them differs by one of the first values.
constexpr FixedEffect fixed_effect(Op op) {
  Instr instr;
  instr.op = op;
  const StackEffect effect = effect_of(instr);
  for (std::uint32_t operands = 1; operands < 16; ++operands) {
    instr.arg = operands / 4;
    instr.aux = operands % 4;
    if (effect_of(instr) != effect) return {};
  }
  return {true, static_cast<std::uint8_t>(effect.pops), static_cast<std::uint8_t>(effect.pushes),
          static_cast<std::uint8_t>(effect.target_pushes)};
}

constexpr std::array<FixedEffect, 256> fixed_effects() {
  std::array<FixedEffect, 256> all{};
  for (std::size_t op = 0; op < all.size(); ++op) all[op] = fixed_effect(static_cast<Op>(op));
  return all;
}

}  // namespace

constexpr std::array<FixedEffect, 256> kFixedEffects = fixed_effects();

StackEffect operand_effect(const Instr& instr) { return effect_of(instr); }

}  // namespace depyf
