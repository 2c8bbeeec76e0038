#pragma once
// Bisimulation of two lifted and simplified graphs.
#include <optional>
#include <set>
#include <utility>

#include "lift/lifted.h"
#include "verify/canon.h"

namespace depyf::verify_detail {

/// Offsets of calls in the first and the second graph that were met together.
using CallPairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;

/// Walks both graphs over their EFFECTS in order (whatever may raise, run code of the program or be
/// seen by it), from the entry along every edge and every handler, and demands the same operation
/// on corresponding values. Values correspond when
/// · they came out of corresponding effects, or are the same constant, or the same version of the
///   same local;
/// · they are the same pure operation on corresponding values;
/// · they are lists, tuples, dicts … built alike and not yet given away: at the first use that
///   pairs them they become one object, so that two uses of one build never equal two builds (the
///   pairing is one to one).
/// At merges only what corresponds on every way in is kept (partition refinement), and what follows
/// is walked again when a correspondence is lost; every loop makes progress on both sides. The work
/// is bounded: when the budget ends the answer is a Difference that says so. Blocks, jumps, the
/// order of pure operations and stack slots do not matter.
///
/// When a value is freed matters at stores and `del`. Where both sides were lifted with `held`,
/// `same_held` also demands at each effect that both hold the same values, so that each dies
/// between the same two effects; which of several dies first there does not matter. Without `held`,
/// the moment at which a value that no variable holds is freed does not matter either.
///
/// With `dynamo` torch wrote the code, and loading a global that torch installed is pure. What is
/// trusted: lift and simplify (both sides pass through them), and that nobody writes into the
/// frame's locals from outside.
std::optional<Difference> lockstep_difference(Canon& canon, const Lifted& a, const Lifted& b,
                                              bool compare_names, bool dynamo, Pairs& nested,
                                              CallPairs* calls = nullptr);

}  // namespace depyf::verify_detail
