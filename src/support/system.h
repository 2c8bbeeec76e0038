#pragma once
// What differs between operating systems: programs that run beside this one, terminals, which files
// can be executed. system_posix.cpp and system_windows.cpp implement it; nothing else in the core
// includes a header of a system.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace depyf {

using Clock = std::chrono::steady_clock;

/// A program that runs beside this one and talks over its standard input and output; what it writes
/// to its standard error is dropped. It is killed at the end. Not for several threads at once.
class Process {
 public:
  virtual ~Process() = default;
  /// Null where `program` (looked for in PATH if it has no folder) does not start.
  static std::unique_ptr<Process> start(const std::string& program,
                                        const std::vector<std::string>& arguments);

  /// Why no program can be started now, or could not lately: what the system has too little of,
  /// such as file descriptors. Empty where there is enough.
  static std::string obstacle();

  /// Writes all of `text`; false where the program has ended, or reads nothing until `deadline`.
  virtual bool write(std::string_view text, Clock::time_point deadline) = 0;
  /// Reads `size` bytes; false where the program has ended, or writes nothing until `deadline`.
  virtual bool read(std::uint8_t* to, std::size_t size, Clock::time_point deadline) = 0;

 protected:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
};

/// While it lives, Ctrl-C and what else asks this program to end first calls `last_words`, from a
/// thread of its own, then kills every Process, and ends this program as it would have ended
/// without it. What the program was started to ignore, and what has a handler already, stays so. A
/// second signal ends it at once. There is one at a time.
class Interruption {
 public:
  explicit Interruption(std::function<void()> last_words);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Where one of the three standard streams is closed, no file that is opened later gets its number:
/// messages would go into that file. Reading and writing the stream still fails.
void hold_standard_streams();

/// Does a person read what is written to `file`?
bool is_terminal(std::FILE* file);
/// Is it a file that this user may execute?
bool is_executable(const std::filesystem::path& path);

/// As std::fopen, for a path of any characters; binary modes only ("rb", "wb").
std::FILE* open_file(const std::filesystem::path& path, const char* mode);
/// Standard input, with its bytes as they are.
std::FILE* binary_stdin();

/// Between paths in PATH.
#ifdef _WIN32
inline constexpr char kPathSeparator = ';';
inline constexpr std::string_view kProgramSuffix = ".exe";
#else
inline constexpr char kPathSeparator = ':';
inline constexpr std::string_view kProgramSuffix = "";
#endif

}  // namespace depyf
