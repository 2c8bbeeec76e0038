#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ast/ast.h"

namespace depyf {

struct PrintOptions {
  std::uint32_t indentation = 4;
  std::uint32_t width = 100;
  PyVersion grammar;            // what the reader of the text must accept (nested quotes in f-strings, parentheses …)
};

/// One line of output that holds bytecode: which byte offsets of which code object, and the original line (0: unknown).
struct LineOrigin {
  std::uint32_t line = 0;       // 1-based
  CodeId code;
  std::int32_t original_line = 0;
  std::uint32_t first = 0, count = 0;  // range in Source::offsets
};

struct Source {
  std::string text;             // UTF-8; always ends in a newline
  std::vector<LineOrigin> lines;
  std::vector<std::uint32_t> offsets;
  std::vector<Diagnostic> notes;  // what the reader's grammar may refuse: CPython's limits of nesting, names no source can hold

  std::span<const std::uint32_t> offsets_of(const LineOrigin& line) const { return {offsets.data() + line.first, line.count}; }
};

/// Prints the module body (root code object) …
Source print_module(const Ast& ast, const PrintOptions& options);
/// … or one function as `def name(...)`, `name` replacing its own when not empty. Lambdas, comprehensions and class bodies are
/// printed as functions too: names that are no identifiers (`<lambda>`, `.0`) are spelt as valid ones.
Source print_function(const Ast& ast, CodeId code, std::string_view name, const PrintOptions& options);

/// The name that stands for a live object among the constants (ConstKind::Object) in printed source; recompiling puts the object back.
std::string object_name(std::uint32_t object);

}  // namespace depyf
