#pragma once
// Constants of which there is one of a kind, as text.
#include <cstddef>
#include <iterator>
#include <string_view>

#include "pyc/code_object.h"

namespace depyf {

/// The text of a constant that is the only one of its kind; "" for the other kinds.
constexpr std::string_view singleton_text(ConstKind kind) {
  constexpr std::string_view kTexts[] = {"None", "True", "False", "...", "StopIteration"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kTexts) ? kTexts[index] : std::string_view();
}

}  // namespace depyf
