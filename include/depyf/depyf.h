#pragma once
/// \file
/// depyf for C++ programs: Python source from the bytecode of CPython 3.7 to 3.15, and the proof
/// that two pieces of bytecode do the same.
///
/// Nothing that is read is executed, and no size in it is trusted. Every function may run on
/// several threads at once. The library needs the C++20 standard library alone.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depyf/error.h"

namespace depyf {

/// The bytes of a `.pyc` file, header included; or marshal data (`marshal.dumps(code)`) with the
/// minor version of the Python 3 that wrote it.
struct Bytecode {
  std::span<const std::uint8_t> bytes;
  int marshal_minor = 0;  ///< 0: `bytes` is a .pyc file; 12: marshal data of Python 3.12
};

struct SourceOptions {
  unsigned indentation = 4;       ///< columns of one level, 1 to 16
  bool keep_temporaries = false;  ///< do not fold values of the stack into expressions
};

/// One line of the source and one code object of which it holds bytecode.
struct SourceLine {
  std::uint32_t line = 0;              ///< in the source, 1-based
  std::string code;                    ///< qualified name of the code object
  std::int32_t original_line = 0;      ///< in the file that was compiled; 0: unknown
  std::vector<std::uint32_t> offsets;  ///< bytes in co_code, ascending
};

/// Something that a reader of the source should know.
struct Finding {
  enum class Kind : std::uint8_t {
    Note,    ///< a limit of CPython that the source may meet
    Ladder,  ///< a code object that no structured source expresses: it became a loop over its
             ///< blocks (5), or is rebuilt from its bytes (6)
    Broken,  ///< damaged bytecode: a body that raises stands in its place
  };
  Kind kind = Kind::Note;
  int rung = 0;              ///< of the ladder
  std::string code;          ///< qualified name of the code object
  std::uint32_t offset = 0;  ///< bytes in co_code
  std::string message;
};

struct SourceText {
  std::string text;               ///< UTF-8, ends in a newline
  std::vector<SourceLine> lines;  ///< sorted by line; every instruction belongs to exactly one
  std::vector<Finding> findings;

  /// False where a code object was damaged.
  bool complete() const {
    for (const Finding& finding : findings)
      if (finding.kind == Finding::Kind::Broken) return false;
    return true;
  }
};

/// Source of a whole module. Throws Error where the input is no bytecode of a supported version.
SourceText decompile_source(const Bytecode& bytecode, const SourceOptions& options = {});

/// The instructions of every code object, in version-free notation, one a line. Throws Error as
/// decompile_source does.
std::string disassemble(const Bytecode& bytecode);

/// How much alike two pieces of bytecode are, from the strongest claim to none.
enum class Likeness : std::uint8_t {
  Identical,   ///< the same instructions and operands in the same order
  Exact,       ///< the same graph of instructions: only layout differs
  Equivalent,  ///< the same effects in the same order on the same values
  Different,   ///< a program tells them apart: another constant, another operation
  Unproven,    ///< neither is known; Comparison::detail says where the proof ends
};

struct Comparison {
  Likeness likeness = Likeness::Unproven;
  /// Different, Unproven: the first place where they part, in words. Else what was ignored, if
  /// anything: names of locals that only one of them has.
  std::string detail;

  /// Do the two do the same, as far as is known?
  bool proven() const { return likeness < Likeness::Different; }
};

/// May `b` stand in for `a`? Both of one Python version. Throws Error as decompile_source does.
Comparison compare_bytecode(const Bytecode& a, const Bytecode& b);

/// `3.7, 3.8, … 3.15`, for messages.
std::string supported_python_versions();

}  // namespace depyf
