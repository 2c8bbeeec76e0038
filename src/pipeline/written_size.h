#pragma once
// What a module comes to when it is written out. In a file objects are shared by reference, in a
// text each use of one is spelt: the text of a few hundred bytes may be larger than any memory.
#include <cstdint>

#include "ast/ast.h"
#include "pyc/code_object.h"

namespace depyf {

/// So many code objects are written out at most, and 16 more for each that there is.
constexpr std::uint64_t kMostDefinitions = 4096;
/// So many constants, with what they hold, are written out at most, and 16 more for each that there
/// is and each instruction; 8 bytes of a text count as one.
constexpr std::uint64_t kMostLiterals = 1'000'000;

/// The bounds of that module, and what its constants come to. What is defined inside a body is
/// counted where the body is finished: of copies that the compiler made, one is written.
WrittenBounds bounds_of_text(const Module& module);

/// What a body that is rebuilt from its bytes comes to, where objects are shared: little, and no
/// more than a share of the bounds, so that few of those that are over them fit in one text.
Written written_as_bytes(const Ast& ast, CodeId code);

}  // namespace depyf
