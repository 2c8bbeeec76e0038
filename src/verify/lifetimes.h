#pragma once
// How long the locals that only one side has hold their values.
#include <optional>
#include <string_view>
#include <vector>

#include "lift/lifted.h"
#include "verify/canon.h"

namespace depyf::verify_detail {

/// The first operation that may run code of the program while one of `slots` (by slot) still holds
/// a value that nothing reads any more; nothing when there is none. Lockstep then says the rest: a
/// value that is read later is read by the same effects on both sides. `lifted` is not simplified.
/// A value that others hold as long as the process runs does not count. In the second code (kB)
/// such a value lives longer than in the first, in the first (kA) longer than in the second.
std::optional<Difference> held_too_long(const Lifted& lifted, const Module& module,
                                        const std::vector<bool>& slots, Which side);

/// The names of all such `slots`: what stands in for this code must keep them.
std::vector<std::string_view> outliving(const Lifted& lifted, const Module& module,
                                        const std::vector<bool>& slots);

/// By block: does every way from it end with an exception that leaves the frame? Empty where that
/// takes too long to tell.
std::vector<bool> only_raises_on(const Lifted& lifted);

}  // namespace depyf::verify_detail
