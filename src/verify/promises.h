#pragma once
// What code of no compiler may break: that a generator is one, that a local that is read is set.
#include <string>

#include "bytecode/instr.h"
#include "flow/cfg.h"

namespace depyf::verify_detail {

/// Why a call of `code` does not return what its flags say (3.11 on): the flags alone make no
/// generator, and what an asynchronous one yields is wrapped by an instruction. Empty when it does.
std::string broken_generator(const CodeObject& code, const InstrList& list);

/// From 3.12 on most reads of a local do not look whether it is set: the name of one that may be
/// read unset so, which is no Python any more. Empty when there is none.
std::string unchecked_local(const Module& module, CodeId id, const Cfg& cfg);

}  // namespace depyf::verify_detail
