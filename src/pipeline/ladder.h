#pragma once
// One code object: the first form of it that works, from plain statements down (see
// docs/stages/pipeline.md).
#include <cstdint>

#include "ast/ast.h"
#include "pipeline/pipeline.h"

namespace depyf {

/// CPython's tokenizer refuses 100 levels.
constexpr std::uint32_t kIndentation = 96;

/// The rung of a module whose names no text keeps.
constexpr std::uint8_t kRebuildsModule = 7;

/// Makes ast.bodies[code], no deeper than `indentation` levels; those of the code objects in it are
/// done. A failure stays inside it and leads to the next rung; a Diagnostic and a comment say so.
/// Returns whether the body is that of straightened instructions. Throws Error only with
/// `options.strict`, for damaged bytecode.
bool decompile_code(Ast& ast, CodeId code, const DecompileOptions& options,
                    std::uint32_t indentation = kIndentation);

}  // namespace depyf
