#pragma once
// One code object: the first form of it that works, from plain statements down (see
// docs/stages/pipeline.md).
#include <cstdint>

#include "ast/ast.h"
#include "pipeline/pipeline.h"

namespace depyf {

/// CPython's tokenizer refuses 100 levels.
constexpr std::uint32_t kIndentation = 96;

/// The rung of a module whose names no printed text preserves.
constexpr std::uint8_t kRebuildsModule = 7;

/// Fills ast.bodies[code], with at most `indentation` levels; the bodies of nested code objects are
/// complete. A failure affects only this body and leads to the next rung, with a Diagnostic and a
/// comment. Returns whether the body comes from straightened instructions. Throws Error only for
/// damaged bytecode with `options.strict`.
bool decompile_code(Ast& ast, CodeId code, const DecompileOptions& options,
                    std::uint32_t indentation = kIndentation);

}  // namespace depyf
