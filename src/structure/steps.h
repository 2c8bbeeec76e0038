#pragma once
// The steps in which structure() changes the graph before it emits statements.
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "structure/structure.h"

namespace depyf {

class StructureGraph;

/// Their names, in the order in which they run.
std::span<const std::string_view> structure_steps();

/// Runs the steps up to the one of that name. `lifted` becomes the resulting graph: the remaining
/// nodes, renumbered, in which each replaced value is its replacement. Throws Error if a step does,
/// or if no step has that name.
void structure_up_to(std::string_view step, Lifted& lifted, Ast& ast,
                     const StructureOptions& options = {});

// ---- the steps; structure.cpp has their order

void classify_regions(StructureGraph& s);             // regions.cpp
void join_dropped_values(StructureGraph& s);          // dropped_values.cpp
void join_copied_merges(StructureGraph& s);           // copied_merges.cpp
void join_exit_copies(StructureGraph& s);             // exit_copies.cpp
void join_threaded_tests(StructureGraph& s);          // threaded_tests.cpp
void join_module_ends(StructureGraph& s);             // structure.cpp
void fold_async_for(StructureGraph& s);               // loops.cpp
void fold_inlined_comprehensions(StructureGraph& s);  // comprehensions.cpp
void recognise_matches(StructureGraph& s);            // match.cpp
/// `only`: the marked blocks.
void fold_expressions(StructureGraph& s,
                      const std::vector<std::uint8_t>* only = nullptr);  // fold.cpp
void fold_exception_types(StructureGraph& s);                            // fold.cpp
void strip_cleanups(StructureGraph& s);                                  // cleanups.cpp
void join_copies_behind_cleanups(StructureGraph& s);                     // exit_copies.cpp
void join_loop_tests(StructureGraph& s);                                 // loops.cpp

// ---- after the last of them

/// Runs the steps and emits the statements of the body: the part of structure() after the graph.
void make_statements(StructureGraph& s);

void mark_statement_ends(StructureGraph& s);  // statement_ends.cpp
/// Statements of the nodes reachable from `from`, which lies in `base`, up to `stop` (emit.cpp).
std::span<StmtId> emit_statements(StructureGraph& s, BlockId from, RegionId base, BlockId stop);

}  // namespace depyf
