#pragma once
// What a module comes to when it is written out. In a file objects are shared by reference, in a
// text each use of one is spelt: the text of a few hundred bytes may be larger than any memory.
#include <cstdint>
#include <string>
#include <vector>

#include "pyc/code_object.h"

namespace depyf {

/// So many code objects are written out at most, and 16 more for each that there is.
constexpr std::uint64_t kMostDefinitions = 4096;
/// So many constants, with what they hold, are written out at most, and 16 more for each that there
/// is and each instruction; 8 bytes of a text count as one.
constexpr std::uint64_t kMostLiterals = 1'000'000;

/// By CodeId: why its text would be larger than that, or nothing. What has a reason counts as an
/// eighth of the bounds where it is used, so few of them fit in one text.
std::vector<std::string> too_large_to_write(const Module& module);

}  // namespace depyf
