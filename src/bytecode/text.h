#pragma once
#include <span>
#include <string>

#include "bytecode/instr.h"

namespace depyf {

/// A constant as Python would show it, at most about `limit` bytes ("…" where something is left
/// out). Nesting is cut at a small depth.
std::string constant_text(const Module& module, ConstId id, std::size_t limit = 60);

/// The operand of an instruction in words: names, constants, operators, counts; the target is not
/// part of it.
std::string operand_text(const Instr& instr, const Module& module, const CodeObject& code);

/// The instructions as a table (`depyf dis`, `depyf dump --stage bytecode`): line, label of a jump
/// target or handler, byte offset, operation, operand, target; then the rows of the exception table
/// with the same labels.
std::string to_text(const InstrList& list, const Module& module, CodeId code);

/// The instructions as CPython names and numbers them, laid out as by its `dis`: line, `>>` where
/// control comes from elsewhere, byte offset, opcode, operand, and in parentheses what that stands
/// for. EXTENDED_ARG and caches are part of the instruction; constants stand in full. `objects`:
/// what stands for each constant that is no literal.
std::string listing(Module& module, CodeId code, std::span<const std::string> objects = {});

}  // namespace depyf
