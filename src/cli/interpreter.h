#pragma once
// CPython interpreters of this machine, for what only they can do: compile source, and find a
// module by name.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyc/code_object.h"

namespace depyf {
class Process;
}

namespace depyf::cli {

/// What an interpreter answered.
struct Reply {
  bool done = false;
  bool lost = false;                // no answer came: it ended, wrote nonsense or took too long
  std::uint32_t line = 0;           // failed: where a SyntaxError is; 0 for anything else
  std::vector<std::uint8_t> bytes;  // done: marshal data or a .pyc; else the message, UTF-8

  static Reply failure(std::string_view why);
};

/// The Python in whose process the command runs, or for the native command the one in PATH.
struct HostPython {
  std::string program = "python3";
  std::optional<PyVersion> version;  // none: of the native command
  /// As Interpreter::compile, without another process; only for the thread that started the
  /// command.
  std::function<Reply(std::string_view source, std::string_view filename, int optimize)> compile;
};

/// One running CPython that compiles and finds, and executes nothing of what it is given. Not for
/// several threads at once.
class Interpreter {
 public:
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Starts `program`; null where it does not run, or is not of the wanted version. One of a wanted
  /// version is isolated from the user's variables and folders, and finds no modules of theirs.
  static std::unique_ptr<Interpreter> start(const std::string& program,
                                            std::optional<PyVersion> wanted);

  /// `compile(source, filename, "exec", optimize=optimize)` as marshal data.
  Reply compile(std::string_view source, std::string_view filename, int optimize);
  /// The code of the module of this name, as a .pyc; packages above it are looked through, not
  /// imported.
  Reply find_module(const std::string& name);
  /// False once an answer was lost. One takes at most DEPYF_CHECK_SECONDS.
  bool alive() const { return alive_; }

 private:
  Interpreter() = default;
  Reply ask(std::string_view verb, std::string_view argument, std::string_view payload);

  std::unique_ptr<Process> process_;
  bool alive_ = true;
};

/// What is wrong with DEPYF_PYTHONS and DEPYF_CHECK_SECONDS (what is wrong counts as not given); a
/// line each.
std::vector<std::string> unusable_settings();

/// Where the interpreters of each version are: the host's program, those of DEPYF_PYTHONS
/// (programs, or folders with `python3.X` or `bin/python3.X`, joined as in PATH), of PATH, of
/// pyenv. Each version is looked for once, for all threads.
class Interpreters {
 public:
  explicit Interpreters(HostPython host) : host_(std::move(host)) {}
  const HostPython& host() const { return host_; }
  /// Null where this machine has none of that version.
  std::unique_ptr<Interpreter> start(PyVersion version);

 private:
  HostPython host_;
  std::mutex mutex_;
  std::map<PyVersion, std::string> programs_;  // empty: there is none
};

/// Compiles for one thread, with one interpreter for each version, which is started when first
/// needed and again when it was lost.
class Compiler {
 public:
  /// `in_process`: this is the thread that started the command.
  Compiler(Interpreters& interpreters, bool in_process)
      : interpreters_(interpreters), in_process_(in_process) {}
  /// None where this machine has no interpreter of that version.
  std::optional<Reply> compile(PyVersion version, std::string_view source,
                               std::string_view filename, int optimize);

 private:
  Interpreters& interpreters_;
  bool in_process_;
  std::map<PyVersion, std::unique_ptr<Interpreter>> workers_;
};

}  // namespace depyf::cli
