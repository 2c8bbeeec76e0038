#pragma once
// Stores of a class body, and what the compiler adds to its end.
#include <cstdint>
#include <string_view>
#include <vector>

#include "bytecode/instr.h"

namespace depyf {

/// The name that an operation binds in the namespace of a class, empty for any other operation.
std::string_view stored_name(const Module& module, CodeId code, Op op, std::uint32_t arg);

/// Where (indices) a class body stores `name` as the last thing that it does, but for the cells
/// that the compiler hands to `type`. From 3.13 on, the stores of `__static_attributes__` there are
/// the compiler's, one on each way to the end; a source may have others in front of them.
std::vector<std::uint32_t> closing_stores(const Module& module, CodeId code, const InstrList& list,
                                          std::string_view name);

}  // namespace depyf
