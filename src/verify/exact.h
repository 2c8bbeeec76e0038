#pragma once
// Bisimulation of two instruction graphs, without lift or simplify.
#include <optional>

#include "flow/cfg.h"
#include "verify/canon.h"

namespace depyf::verify_detail {

/// Walks both graphs in lockstep from their entries: same operation, operand and handler at every
/// step. Unconditional jumps are invisible and a test for truth with swapped arms is the same test.
/// Two automata are equal when the walk ends without a difference: J. Hopcroft, R. Karp, "A Linear
/// Algorithm for Testing Equivalence of Finite Automata" (1971), so near-linear in both sizes. Code
/// objects met as operands go to `nested`. `compare_names`: the qualified names of functions (an
/// operand up to 3.10) too. `copies`: what is reached has the same instructions, so a signal
/// finds the same handlers; other code has to have them at each jump back.
std::optional<Difference> exact_difference(Canon& canon, CodeId a, const Cfg& cfg_a, CodeId b,
                                           const Cfg& cfg_b, bool compare_names, bool copies,
                                           Pairs& nested);

/// The same instructions in what control reaches, jumps left out, but not those that act on the
/// block stack.
bool same_reached(Canon& canon, CodeId a, const InstrList& list_a, CodeId b,
                  const InstrList& list_b, bool compare_names);

/// The same instructions in the same order, dead code included. Code objects met as operands go to
/// `nested`.
bool same_sequence(Canon& canon, CodeId a, const InstrList& list_a, CodeId b,
                   const InstrList& list_b, bool compare_names, Pairs& nested);

}  // namespace depyf::verify_detail
