#pragma once
// CPython interpreters of this machine, for what only they can do: compile source, and find a module by name.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyc/code_object.h"

namespace depyf::cli {

/// One running CPython that compiles and finds, and executes nothing of what it is given. Not for several threads at once.
class Interpreter {
 public:
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Starts `program`; null where it does not run, or is not of the wanted version.
  static std::unique_ptr<Interpreter> start(const std::string& program, std::optional<PyVersion> wanted);

  struct Reply {
    bool done = false;
    std::vector<std::uint8_t> bytes;  // done: marshal data or a .pyc; else the message, UTF-8
  };
  /// `compile(source, filename, "exec", optimize=optimize)` as marshal data.
  Reply compile(std::string_view source, std::string_view filename, int optimize);
  /// The code of the module of this name, as a .pyc; packages above it are looked through, not imported.
  Reply find_module(const std::string& name);

 private:
  Interpreter() = default;
  Reply ask(std::string_view verb, std::string_view argument, std::string_view payload);

  int to_ = -1, from_ = -1;
  int process_ = -1;
};

/// The interpreters of one thread, started when first needed: `python3.X` of DEPYF_PYTHONS (paths joined as in PATH), of PATH, of pyenv.
class Interpreters {
 public:
  /// Null where this machine has none of that version.
  Interpreter* of(PyVersion version);

 private:
  std::map<std::uint8_t, std::unique_ptr<Interpreter>> started_;
};

}  // namespace depyf::cli
