#pragma once
// Facts about the locals of one code object: who may see them, which may be read unset.
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lift/lifted.h"

namespace depyf::verify_detail {

/// tmp_3, graph_out_0 (torch/_dynamo/output_graph.py, new_var) or __temp_1.
bool is_made_up(std::string_view name);

/// `to = from`, or `to = value` after `from = value`, in the entry block, which runs once, where
/// both are bound once and not deleted: what `to` keeps, `from` keeps. From `to` to `from`, by
/// slot.
std::unordered_map<std::uint32_t, std::uint32_t> copies_of_slots(const Lifted& lifted,
                                                                 const Module& module);

/// `slots` without copies of a local that is not among them: it keeps what they keep.
std::vector<bool> without_copies(const Lifted& lifted, const Module& module,
                                 std::vector<bool> slots);

/// How openly a local stands in its frame while it has a value.
enum class Exposure : std::uint8_t {
  None,   // nothing of the program runs
  Inner,  // code runs that only gets at it by walking through frames, or by an operator that is one
          // of the functions that show the caller's locals
  Call    // something is called that may show them: what is called may be such a function, under
          // any name
};

/// Exposure of each local, by slot.
std::vector<Exposure> exposure_of(const Lifted& lifted, const Module& module);

/// By slot: may control read or delete the local while it is unset? The error names it.
std::vector<bool> may_be_read_unset(const Lifted& lifted, const Module& module);

/// May an operation give a value that nothing else holds, so that somebody sees it freed?
bool makes_values(const Lifted& lifted);

/// Puts stores to different locals, directly one after the other, in the order of the slots, where
/// none of these locals has a value. Nothing ends there, nothing raises, and no code runs in
/// between. In which order CPython 3.11 stores what a pattern captures depends on the lines on
/// which the pattern stands; the slots stay the same.
void order_first_stores(Lifted& lifted, const Module& module);

/// Does an operation store to the local that the one right before it stores to?
bool has_overwritten_store(const Lifted& lifted, const Module& module);

/// Drops the first of two such stores. Neither raises, and nothing of the program runs in between
/// but what the end of the old value runs, so nothing reads the first value there. The compiler
/// does the same (3.13+: POP_TOP) where both targets stand on one line. Which of the old value and
/// the first one ends sooner is lost.
void drop_overwritten_stores(Lifted& lifted, const Module& module);

}  // namespace depyf::verify_detail
