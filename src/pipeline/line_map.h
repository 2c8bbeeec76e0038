#pragma once
// Which bytecode became which line of the output, and which line of the original it came from.
#include <cstdint>
#include <span>
#include <vector>

#include "print/print.h"
#include "pyc/code_object.h"

namespace depyf {

/// One line of output and one code object of which it holds bytecode.
struct LineOrigin {
  std::uint32_t line = 0;  // 1-based
  CodeId code;
  std::int32_t original_line = 0;      // 0: unknown
  std::uint32_t first = 0, count = 0;  // range in LineMap::offsets
};

/// Sorted by line. Every instruction of every code object that could be decoded, EXTENDED_ARG
/// included, belongs to exactly one line.
struct LineMap {
  std::vector<LineOrigin> lines;
  std::vector<std::uint32_t> offsets;  // bytes in co_code, ascending within a line

  std::span<const std::uint32_t> offsets_of(const LineOrigin& line) const {
    return {offsets.data() + line.first, line.count};
  }
};

/// An instruction that stands in the text is on the line of its site. One that only makes others
/// work (jumps, stores to what the line binds, copies of a `finally`) goes with the nearest of its
/// own original line, else with the one before it; those of a code object of which nothing is
/// printed go with the line that makes it.
LineMap map_lines(const Module& module, const Source& source);

}  // namespace depyf
