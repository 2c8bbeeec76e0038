#pragma once
#include <span>
#include <string>

namespace depyf {

/// The command `depyf decompile|dis|dump|compare|completion`: what the native program and the Python package's command share. `arguments` come without
/// the program's name; `interpreter` is the Python that finds the modules of -m. Writes to standard output and standard error; returns the exit code: 0, 1 for a partial failure or a difference,
/// 2 for input or usage that cannot be worked with.
int run_command(std::span<const std::string> arguments, const std::string& interpreter = "python3");

}  // namespace depyf
