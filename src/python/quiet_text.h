#pragma once
#include <string_view>

namespace depyf::python {

/// Whether CPython certainly compiles this text of a module without a warning (a text that it does
/// not compile at all may count as such). One pass over its tokens; what would need a tree to be
/// told, such as an f-string or a parenthesis that is called, is "no".
bool is_quiet(std::string_view text);

}  // namespace depyf::python
