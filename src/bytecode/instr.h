#pragma once
// Version-free instructions of one code object, in the order of the bytecode.
#include <cstdint>
#include <vector>

#include "opcode/op.h"
#include "pyc/code_object.h"

namespace depyf {

constexpr std::uint32_t kNoTarget = UINT32_MAX;

/// (Of 32 bytes, which are quicker to copy and to find by an index than 28.)
struct alignas(16) Instr {
  Op op = Op::UNKNOWN;
  std::uint32_t arg = 0;
  std::uint32_t aux = 0;
  std::uint32_t target = kNoTarget;  // index of an Instr
  std::uint32_t offset = 0;   // byte offset in co_code of the first byte (EXTENDED_ARG included)
  std::int32_t line = 0;      // 0: no line
  std::uint32_t columns = 0;  // LineCursor::columns()
};

/// One row of 3.11's exception table, by instruction index; `end` is exclusive. Rows are sorted and
/// disjoint.
struct ExceptionRow {
  std::uint32_t begin, end, target, depth;
  bool lasti;
};

struct InstrList {
  std::vector<Instr> instrs;
  std::vector<ExceptionRow> rows;  // 3.11+; empty before, where SETUP_* mark regions
  /// 3.11+: offsets after a NOP that is as wide as `break` or `continue`, and so may be one that
  /// leads to what follows it. In order.
  std::vector<std::uint32_t> behind_jumps;
};

/// Decodes `code` (EXTENDED_ARG, CACHE, NOP-like prologue gone; super-instructions split; SEND
/// loops folded; every operand resolved). Adds constants to `module` where an instruction holds one
/// (small integers). Throws Error on operands out of range.
InstrList decode(Module& module, CodeId code);

}  // namespace depyf
