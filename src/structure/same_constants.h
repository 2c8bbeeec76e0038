#pragma once
// Are two constants, or two code objects, the same? Those of copied code are.
#include "pyc/code_object.h"

namespace depyf {

bool same_constants(const Module& module, ConstId a, ConstId b);

/// All that a program can tell of them but their place in the source; two of none are the same.
bool same_code(const Module& module, CodeId a, CodeId b);

}  // namespace depyf
