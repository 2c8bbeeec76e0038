#pragma once
// Which names a module may give a meaning of its own.
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "pyc/code_object.h"

namespace depyf {

/// Names (StrId::index) that the code of the module binds as global or class variables, and all
/// its locals. Holds kNamesWereFound too, so it is never empty, and kAnyName for
/// `from … import *`.
using BoundNames = std::unordered_set<std::uint32_t>;
constexpr std::uint32_t kNamesWereFound = UINT32_MAX;
constexpr std::uint32_t kAnyName = UINT32_MAX - 1;

BoundNames find_bound_names(const Module& module);

/// May `name` mean something else than the builtin? `names` is found when it is empty.
bool may_be_bound(Module& module, BoundNames& names, std::string_view name);

}  // namespace depyf
