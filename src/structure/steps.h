#pragma once
// The steps by which structure() changes the graph before it makes statements.
#include <span>
#include <string_view>

#include "structure/structure.h"

namespace depyf {

/// Their names, in the order in which they run.
std::span<const std::string_view> structure_steps();

/// Runs the steps up to the one of that name. `lifted` becomes the graph that they leave: the nodes
/// that are left, numbered anew, with what replaced a value in its place. Throws Error where a step
/// does, or where there is none of that name.
void structure_up_to(std::string_view step, Lifted& lifted, Ast& ast,
                     const StructureOptions& options = {});

}  // namespace depyf
