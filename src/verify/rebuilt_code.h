#pragma once
// Code objects whose counterpart runs the very bytes of the original.
#include <optional>

#include "bytecode/bound_names.h"
#include "verify/comparison.h"

namespace depyf::verify_detail {

/// Of such a pair, only arguments, docstrings and what the bytes cannot take with them count.
/// `plain_classes`: see has_given_namespace(); kept between calls.
Verdict compare_rebuilt(Comparison& with, CodeId x, CodeId y,
                        std::optional<PlainClasses>& plain_classes);

}  // namespace depyf::verify_detail
