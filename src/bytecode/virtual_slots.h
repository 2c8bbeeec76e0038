#pragma once
#include "bytecode/instr.h"

namespace depyf {

/// aux of GET_ITER and GET_YIELD_FROM_ITER while decoding 3.15: they push the iterator and a second
/// value.
constexpr std::uint32_t kVirtual = 1;

/// 3.15 keeps two stack values for a loop: the iterator (or the list or tuple itself) and NULL (or
/// an index; "virtual iterators"). Takes the second one out of the whole function, so that later
/// stages see the one iterator of earlier versions: stack positions in operands and exception rows
/// are counted without it. Throws Error where the code mixes it with ordinary values, as no
/// compiler does.
void erase_virtual_slots(const Module& module, InstrList& list, const CodeObject& code);

}  // namespace depyf
