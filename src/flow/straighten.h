#pragma once
// The same code without what simple obfuscators put into it, for code that has no plain structure
// as it stands.
#include "bytecode/instr.h"

namespace depyf {

/// Leads jumps past jumps, drops constants that are loaded and popped again, decides branches on
/// constants, drops what nothing reaches, and puts code that only one jump reaches after that
/// jump. Each instruction keeps its offset. False where nothing was to be done; `list` is unchanged
/// then.
bool straighten(Module& module, InstrList& list);

/// Does the code have what no compiler leaves, of several kinds? Where it stands tells nothing
/// then.
bool has_junk(Module& module, const InstrList& list);

}  // namespace depyf
