#pragma once
#include <vector>

#include "bytecode/instr.h"

namespace depyf {

/// Takes the instructions marked in `removed` out; what led to one leads to the next that stays.
/// Rows may become empty. `moved` is scratch space.
void remove_marked(InstrList& list, const std::vector<std::uint8_t>& removed,
                   std::vector<std::uint32_t>& moved);

}  // namespace depyf
