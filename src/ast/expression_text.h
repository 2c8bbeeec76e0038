#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "pyc/code_object.h"

namespace depyf {

/// Where a text of the file is to stand in the source.
enum class TextPlace : std::uint8_t {
  Annotation,  // `name: TEXT`, of a parameter too
  Field,       // `t'{TEXT}'`
};

/// Files hold texts that stood as expressions in their source: annotations behind `from __future__
/// import annotations`, and the `expression` of a t-string's field. Nothing says that they are
/// expressions, and what is printed may be run.
///
/// Returns what the text would do: its names, attributes, calls and subscripts, in order. None
/// where it is not one expression that ends where the text ends. It is read by the tokens of
/// Python's grammar (Grammar/python.gram, Parser/lexer) with a stack of open brackets: what is
/// accepted may still be no valid expression (`a if b`), but it leaves neither its brackets nor its
/// statement. A nested f-string counts by the words of its fields; one with a quote or a brace
/// inside a field's string is refused, since versions read it in different ways.
std::optional<std::string> acts_of_text(std::string_view text, PyVersion version, TextPlace place);

}  // namespace depyf
