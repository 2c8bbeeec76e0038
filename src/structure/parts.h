#pragma once
// Where no statements express the whole of a body, a dispatch loop for the parts that hold the
// trouble, and plain structure around them.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ast/ast.h"
#include "lift/lifted.h"
#include "structure/structure.h"

namespace depyf {

/// What control reaches from `entry` alone, before `stop` (none: as far as `entry` dominates), and
/// without leaving the protected code that `entry` lies in.
struct Part {
  BlockId entry, stop;
  bool operator==(const Part&) const = default;
};

/// Small parts such that `works` holds when they become dispatch loops; empty where none are found
/// within a bounded number of trials. `lifted` must be fresh.
std::vector<Part> find_parts(Lifted& lifted, const Module& module,
                             const std::function<bool(std::span<const Part>)>& works);

/// Like structure(), with `parts` as dispatch loops. `lift_again` makes the same graph each time.
/// Adds a Diagnostic with `reason` for each part. Throws Error where it comes to nothing.
void structure_around(std::span<const Part> parts, const std::function<Lifted()>& lift_again,
                      Ast& ast, const StructureOptions& options, const std::string& reason);

}  // namespace depyf
