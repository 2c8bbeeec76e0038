#pragma once
// Code objects that the compiler takes for one another.
//
// The compiler keeps one of the constants of a code object that are equal, and up to 3.10 and
// in 3.12 two lambdas or comprehensions are equal when they say the same and begin on one line. So
// where they stand in the text decides what the program holds.
#include <cstdint>
#include <vector>

#include "pyc/code_object.h"

namespace depyf {

/// For each code object 0, or the number of its group: lambdas and comprehensions that differ in
/// the place they come from alone. Empty where `version` tells them apart by more than their line.
std::vector<std::uint32_t> group_twins(const Module& module, PyVersion version);

}  // namespace depyf
