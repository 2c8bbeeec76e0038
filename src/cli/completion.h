#pragma once
#include <optional>
#include <string_view>

namespace depyf {

/// The script that completes `depyf` in this shell (bash, zsh, fish); none for another.
std::optional<std::string_view> completion_script(std::string_view shell);

}  // namespace depyf
