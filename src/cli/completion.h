#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace depyf {

/// The text with what the source knows in one place: @VERSIONS@ ("3.7 3.8 ..."), @SUPPORTED@
/// ("CPython 3.7 to ...") and @STAGES@ ("bytecode flow ...").
std::string filled_in(std::string_view text);

/// The script that completes `depyf` in this shell (bash, zsh, fish); none for another.
std::optional<std::string> completion_script(std::string_view shell);

}  // namespace depyf
