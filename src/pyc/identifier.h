#pragma once
// Which names a source of some version can hold.
#include <string_view>

#include "pyc/code_object.h"

namespace depyf {

/// A reserved word of that version (soft keywords are none).
bool is_keyword(std::string_view name, PyVersion version);

/// An identifier by its ASCII characters; others count as letters, except surrogates and invalid
/// UTF-8.
bool is_identifier(std::string_view name);

/// Does `name`, written in a source of that version, give this very name? It is an identifier and
/// no reserved word nor `__debug__`, and the compiler's normalisation (NFKC) leaves it as it is.
bool is_writable_name(std::string_view name, PyVersion version);

/// Is it `__debug__`, which the compiler refuses wherever it is bound? As a variable it is a
/// constant, and as an attribute it may only be read.
bool is_debug_name(std::string_view name);

/// The same as is_writable_name() for `a.b.c`, part by part.
bool is_writable_dotted_name(std::string_view name, PyVersion version);

}  // namespace depyf
