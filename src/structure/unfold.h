#pragma once
// The constant that an operator gives, taken apart again.
#include <cstdint>
#include <optional>

#include "opcode/op.h"
#include "pyc/code_object.h"

namespace depyf {

/// A constant `x` for which `op x` is `result`.
std::optional<Const> operand_of(UnaryOp op, const Const& result);

/// A constant `x` for which `x op right` is `result`.
std::optional<Const> left_operand_of(BinaryOp op, const Const& result, const Const& right);

}  // namespace depyf
