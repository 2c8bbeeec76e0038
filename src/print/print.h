#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ast/ast.h"

namespace depyf {

/// What a function object has beside its code, as source on one line; empty where there is none.
struct Signature {
  struct Parameter {
    std::string annotation, default_value;
  };
  std::vector<Parameter> parameters;  // in the order in which they are written
  std::string returns;
};

struct PrintOptions {
  std::uint32_t indentation = 4;
  std::uint32_t width = 100;
  PyVersion grammar;  // what the reader of the text must accept (nested quotes in f-strings,
                      // parentheses …)
  bool sites = true;  // make Source::sites
  const Signature* signature = nullptr;  // of print_function's own function
  // `x = a.b['c']` too wide for its line: in parentheses below; strings too wide: in several ones
  bool breaks_paths = false;
  bool short_docstring = false;   // of print_function's own function: the first line alone
  bool renames_keywords = false;  // of calls, like any other name that no source can hold
};

/// A place in the output: what stands there, and on which line (1-based). Without an offset: that
/// code object is defined there.
struct Site {
  std::uint32_t line = 0;
  Origin origin;
};

struct Source {
  std::string text;               // UTF-8; always ends in a newline
  std::vector<Site> sites;        // in the order of the text
  std::vector<Diagnostic> notes;  // what the reader's grammar may refuse: CPython's limits of
                                  // nesting, names no source can hold
  /// Names that no source can hold: as they are spelt, and as they are.
  std::vector<std::pair<std::string, std::string>> renamed;
};

/// Prints the module body (root code object) …
Source print_module(const Ast& ast, const PrintOptions& options);
/// … or one function as `def name(...)`, the code of a class as `class name:`. A `name` that is not
/// empty replaces its own. Lambdas and comprehensions are printed as functions too: names that are
/// no identifiers (`<lambda>`, `.0`) are spelt as valid ones.
Source print_function(const Ast& ast, CodeId code, std::string_view name,
                      const PrintOptions& options);

/// The name that stands for a live object among the constants (ConstKind::Object) in printed
/// source; recompiling puts the object back.
std::string object_name(std::uint32_t object);

}  // namespace depyf
