#pragma once
// Stores of a class body, and what the compiler adds to its end.
#include <cstdint>
#include <string_view>
#include <vector>

#include "bytecode/instr.h"

namespace depyf {

/// The name that an operation binds in the namespace of a class, empty for any other operation.
std::string_view stored_name(const Module& module, CodeId code, Op op, std::uint32_t arg);

/// The offsets of the compiler's own stores of `__static_attributes__`; none before 3.13.
std::vector<std::uint32_t> attribute_lists(Module& module, CodeId code);

/// Is it the name by which a class body hands a cell to `type`?
inline bool names_class_cell(std::string_view name) {
  return name == "__classcell__" || name == "__classdictcell__";
}

}  // namespace depyf
