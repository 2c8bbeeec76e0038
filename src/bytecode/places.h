#pragma once
// Where the instructions of a code object lie, as `dis` counts them.
#include <cstdint>
#include <vector>

#include "pyc/code_object.h"

namespace depyf {

struct InstrPlace {
  std::uint32_t offset = 0;  // byte offset in co_code
  std::uint32_t start = 0;   // that of its first EXTENDED_ARG: Instr::offset
  std::int32_t line = 0;     // 0: no line
  CodeId made;               // LOAD_CONST of a code object: that one
};

/// Every instruction, EXTENDED_ARG and NOP included, inline caches left out; stops where the bytes
/// end.
std::vector<InstrPlace> instruction_places(const Module& module, CodeId code);

}  // namespace depyf
