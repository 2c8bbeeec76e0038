#pragma once
// Which names a module may give a meaning of its own.
#include <cstdint>
#include <optional>
#include <string>
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

/// Names that a module binds before it makes any function or class, and that no code of it deletes:
/// where one of its functions runs, its globals have them. Holds kNamesWereFound too.
BoundNames find_first_names(Module& module);

/// May `name` mean something else than the builtin? `names` is found when it is empty.
bool may_be_bound(Module& module, BoundNames& names, std::string_view name);

/// What code of the module may bind names with that BoundNames does not tell, of globals and of the
/// builtins: `globals()["getattr"] = f`, `exec`, `builtins.getattr = f`, `sys.modules` … The name
/// or text that tells, or nothing.
std::string binds_dynamically(Module& module);

/// The class bodies (CodeId::index) whose namespace begins as an empty dict of its own: their
/// classes have neither bases nor keywords. Any other class may have a metaclass whose
/// `__prepare__` fills the namespace, where the body looks for the builtins first.
using PlainClasses = std::unordered_set<std::uint32_t>;
PlainClasses find_plain_classes(Module& module);

/// Is it the body of a class that is none of `plain`? These are found when they are not there.
bool has_given_namespace(Module& module, CodeId code, std::optional<PlainClasses>& plain);

/// Does code of the module bind `name` or hold it in one of its texts?
bool may_replace(Module& module, std::string_view name);

}  // namespace depyf
