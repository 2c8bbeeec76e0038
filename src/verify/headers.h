#pragma once
// What two code objects say of themselves besides their instructions.
#include <optional>
#include <string>
#include <vector>

#include "verify/comparison.h"

namespace depyf::verify_detail {

/// `flags`: those that count besides the ones of arguments.
std::optional<std::string> arguments_difference(Comparison& with, CodeId id_a, CodeId id_b,
                                                std::uint32_t flags);
std::optional<std::string> docstring_difference(const Comparison& with, CodeId id_a, CodeId id_b);
/// Arguments, flags, free variables, docstrings and names. `kind`: what such a difference means.
std::optional<std::string> header_difference(Comparison& with, CodeId id_a, CodeId id_b, bool root,
                                             VerdictKind& kind);

/// The name, quoted, for messages.
std::string quoted_name(const Module& module, StrId id);
std::vector<StrId> free_variables(const CodeObject& code);

}  // namespace depyf::verify_detail
