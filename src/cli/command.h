#pragma once
#include <span>
#include <string>

#include "cli/interpreter.h"

namespace depyf {

/// The command `depyf decompile|dis|dump|compare|completion`: what the native program and the
/// Python package's command share. `arguments` come without the program's name; `host` is the
/// Python that finds the modules of -m, and that compiles in its own process; `program` is the path
/// or name that a shell completes the command for. Writes to standard output and standard error;
/// returns the exit code: 0, 1 for a partial failure, a part that is not proven or a difference, 2
/// for input or usage that cannot be worked with.
int run_command(std::span<const std::string> arguments, const cli::HostPython& host = {},
                std::string_view program = "depyf");

}  // namespace depyf
