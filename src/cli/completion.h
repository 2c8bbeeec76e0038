#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace depyf {

/// The text with what the source knows in one place: @VERSIONS@ ("3.7 3.8 ..."), @SUPPORTED@
/// ("CPython 3.7 to ...") and @STAGES@ ("bytecode flow ...").
std::string filled_in(std::string_view text);

/// The script that completes this command in a shell (bash, zsh, fish); none for another shell.
/// `program` is the path or name that the command is called by; `in_package` says whether it has
/// the commands about torch.compile, too.
std::optional<std::string> completion_script(std::string_view shell, std::string_view program,
                                             bool in_package);

/// The commands of this program that take an option (`--code`, `-m`), in order: "dis, dump". Empty
/// for what is an option of none, or of all.
std::string commands_with(std::string_view option);

/// Does the command take the option?
bool takes(std::string_view command, std::string_view option);

}  // namespace depyf
