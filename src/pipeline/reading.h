#pragma once
// How the pipeline reads one body: with which hints, and from which order of its instructions.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <new>
#include <string>

#include "ast/ast.h"
#include "bytecode/instr.h"
#include "lift/lifted.h"
#include "support/error.h"

namespace depyf {

/// What tells how code was written, and may mislead.
enum Hint : std::uint8_t {
  kUnreached = 1,  // statements that control never takes, up to 3.9 (Cfg::unreached)
  kElses = 2,      // jumps over an `else` (Cfg::elses)
  kLayout = 4,     // where code stands (StructureOptions::layout_tells)
  kCopies = 8,     // ends that are alike (StructureOptions::joins_ends)
};

/// The hints in the order in which they are dropped where a body has no plain structure with them,
/// and what a reading without them is called.
constexpr struct {
  Hint hint;
  const char* without;
} kHints[] = {
    {kUnreached, "without unreached code"},
    {kElses, "without jumps over else"},
    {kLayout, "by control flow alone"},
    {kCopies, "with equal ends apart"},
};

constexpr std::size_t kNoHint = std::size(kHints);

/// One way to read a body.
struct Reading {
  std::uint8_t hints = kUnreached | kElses | kLayout | kCopies;
  std::size_t dropped = kNoHint;  // index in kHints of the last hint that drop_hint() dropped
  bool decided = false;           // branches on constants are taken as decided
  bool straightened = false;      // what straighten() makes of the instructions

  bool has(Hint hint) const { return (hints & hint) != 0; }
  void keep(Hint hint, bool there) {
    if (!there) hints &= static_cast<std::uint8_t>(~hint);
  }

  /// Drops the next hint. Only unreached code may be why the bytecode seems not `sound`. False
  /// where no hint is left.
  bool drop_hint(bool sound) {
    for (std::size_t i = 0; i < std::size(kHints); ++i) {
      const Hint hint = kHints[i].hint;
      if (!has(hint)) continue;
      if (hint != kUnreached && !sound) return false;
      keep(hint, false);
      dropped = i;
      return true;
    }
    return false;
  }

  bool is_first() const { return !decided && !straightened && dropped == kNoHint; }

  std::string text() const {
    std::string out = dropped == kNoHint ? "with all hints" : kHints[dropped].without;
    if (decided) out += ", branches on constants decided";
    if (straightened) out += ", straightened";
    return out;
  }
};

/// What straighten() makes of `list`, with the offsets that follow from its order. Throws Error
/// where that is `list` itself.
InstrList straightened_list(Module& module, InstrList list);

/// Where code stands tells nothing of how it was written.
void forget_layout(Cfg& cfg);

/// Bytecode to values. On return, `reading` has only the hints that there were. `sound` tells, also
/// when an exception is thrown, whether CPython can run the bytecode. Throws Error where a stage
/// does.
Lifted lift_body(Module& module, CodeId code, const InstrList& list, bool& sound, Reading& reading);

/// Takes back what a reading that failed left behind: the body, and the diagnostics after the first
/// `noted`.
void take_back(Ast& ast, CodeId code, std::size_t noted);

/// Runs `step`; what went wrong, empty when nothing did.
template <class Step>
std::string failure_of(Step step) {
  try {
    step();
    return {};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("internal error of depyf, please report it with the file: ") + error.what();
  }
}

}  // namespace depyf
