#pragma once
// The variables of two code objects: which stand for which, and which count for nothing.
#include <string>
#include <vector>

#include "flow/cfg.h"
#include "lift/lifted.h"
#include "verify/comparison.h"
#include "verify/locals.h"

namespace depyf::verify_detail {

/// Does the code name a global or an attribute that no source can hold?
bool has_odd_name(const Module& module, CodeId id);
/// The same for one of its locals.
bool has_odd_local(const Module& module, CodeId id);

/// Has the code a variable that the other has not and that none of its own instructions uses?
/// Code that the compiler removed names it (`if 0: b = 1`).
bool has_unused_local(Comparison& with, Which side, CodeId id, const Cfg& cfg, CodeId other);

/// Do the variables that both have come in one order? That of a variable which code that the
/// compiler removed names first is lost with that code.
bool same_order_of_locals(Comparison& with, const CodeObject& x, const CodeObject& y);

/// A cell that no function captures is a local of its function: what reads, stores or deletes the
/// one does so with the other, and raises the same where it is unset. Not where the code asks for
/// its locals, whose order differs.
Cfg cells_as_locals(Comparison& with, Which side, CodeId id, Cfg cfg);

/// Slots of `mine` that may be promoted: plain locals, no arguments, which the other side does
/// not use.
///
/// Who can see that such a local is not there? Only what looks at the frame's locals while it has
/// a value, or what waits for the value to be freed. locals(), vars(), dir(), eval() and exec()
/// look at the frame of Python code that calls them; any value that is called may be one of them.
/// Everything else must walk there through frames (sys._getframe, tracebacks, debuggers), or make
/// an operator of one of the five, which counts for nothing. So:
/// · Where the code asks for its locals by name, nothing is promoted.
/// · A local that has a value only where nothing of the program runs is seen by nobody.
/// · Of what stands in for the original (B), a local that is read again is a value that the other
///   side keeps on its stack, as long as nothing is called while it has a value.
/// · Where B was decompiled from A, the decompiler made up that name, and a call counts for
///   nothing: the caller knows of no alias of the five in the code's globals (recompile.py). In
///   Dynamo's code the same goes for the names that Dynamo makes up, unless the program has them
///   too: what it calls are compiled graphs, resume functions, and what the program calls by its
///   own name. Of other code (A) a local that somebody named stays: leaving it out frees its
///   value earlier.
std::vector<bool> temporaries(Comparison& with, Which side, CodeId mine, const Cfg& cfg,
                              CodeId other, const Cfg& other_cfg,
                              const std::vector<Exposure>& exposed, bool dynamo,
                              std::string& ignored);

/// Locals of B that stand for those of A with other names, in order, where both have as many that
/// the other lacks. False where there are none, or where a call might see the names. Where B was
/// decompiled from A: for those of A whose names no source can hold; there a call counts for
/// nothing, see temporaries().
bool rename_locals(Comparison& with, CodeId x, const Cfg& cfg_a,
                   const std::vector<Exposure>& exposed_a, CodeId y, const Cfg& cfg_b,
                   const std::vector<Exposure>& exposed_b, std::string& ignored);

/// What errors about unset locals say of those that have other names.
std::string renamed_unset(Comparison& with, Which side_a, const Lifted& lifted_a, Which side_b,
                          const Lifted& lifted_b);

}  // namespace depyf::verify_detail
