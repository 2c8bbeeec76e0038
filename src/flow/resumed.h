#pragma once
// What torch puts in front of a function that it resumes behind a graph break.
#include "bytecode/instr.h"

namespace depyf {

/// Torch enters the `with` blocks around the break again, and then jumps into the function. Behind
/// that jump stands `raise None`, and before it what runs where a context manager swallows an
/// exception. Where a loop lies between two of the blocks, its iterator is on the stack there,
/// which torch does not count: two ways to `raise None` differ in depth. CPython runs that all the
/// same. Takes these ways out, as if each exception left its `with`. For text alone: nothing is
/// proven of what is left. False where there are none; `list` is unchanged then.
bool drop_swallowing(const Module& module, CodeId code, InstrList& list);

}  // namespace depyf
