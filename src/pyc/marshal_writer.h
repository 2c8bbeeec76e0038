#pragma once
#include <string>

#include "pyc/code_object.h"

namespace depyf {

/// One code object, with everything below it, in the marshal format that its own version reads
/// (Python/marshal.c): what `marshal.loads` under CPython 3.7 … 3.15 turns back into an equal code
/// object. Objects that occur more than once are written once. Throws Error where a constant is a
/// live object (ConstKind::Object), which has no marshal form.
std::string write_marshal(const Module& module, CodeId code);

}  // namespace depyf
