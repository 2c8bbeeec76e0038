#pragma once
// What operators give for small integers: they run no code and raise nothing.
#include <cstdint>
#include <optional>

#include "opcode/op.h"

namespace depyf {

/// None where the operator compares no values.
std::optional<bool> compared(CompareOp op, std::int64_t x, std::int64_t y);

/// None where the result is no integer, is too large, or where the operator raises.
std::optional<std::int64_t> computed(BinaryOp op, std::int64_t x, std::int64_t y);

std::optional<std::int64_t> computed(UnaryOp op, std::int64_t x);

}  // namespace depyf
