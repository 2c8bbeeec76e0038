#pragma once
// What decode() leaves out, read from the bytes: does the code keep what CPython believes of it?
#include <string>

#include "bytecode/instr.h"
#include "verify/promises.h"

namespace depyf::verify_detail {

/// Whether the two codes have the same instructions and rows of the exception table; operands count
/// where they are values.
bool same_instructions(const CodeObject& a, const CodeObject& b);

/// Handlers of a generator's StopIteration that decode() left out.
std::size_t dropped_handlers(const CodeObject& code, const InstrList& list);

/// Whether a StopIteration that leaves the generator is its end, though its version has a handler
/// which makes a RuntimeError of one.
bool lets_stop_iteration_out(const CodeObject& code, const InstrList& list);

/// From 3.12 on a handler follows the loop that waits for another generator; decode() takes out
/// both: does it find another stack than its CLEANUP_THROW takes for granted?
bool waits_at_other_depth(const CodeObject& code, const StackProblems& problems);

/// Sets Block::region_at_end of jumps back by the exception table: decode() fills gaps in it, and
/// some versions look for signals when the jump has been taken.
void correct_signal_regions(const CodeObject& code, Cfg& cfg);

/// What decode() takes for granted: cells are made and free variables copied as the variables say,
/// PRECALL counts what CALL does. Empty when it is so.
std::string broken_promise(const CodeObject& code);

/// Where a cell is made behind a LOAD_FAST_AND_CLEAR, for an inlined comprehension: in the slot
/// itself, or in that of the free variable which has its name.
enum class OwnCell : std::uint8_t { None, Slot, Free };

/// Gives each LOAD_FAST_AND_CLEAR its OwnCell as `aux`: decode() leaves that out.
void mark_own_cells(const CodeObject& code, InstrList& list);

}  // namespace depyf::verify_detail
