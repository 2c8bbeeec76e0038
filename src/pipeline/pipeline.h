#pragma once
// The way through the house: every stage in order, for a whole module or one function.
#include <string>
#include <utility>
#include <vector>

#include "ast/ast.h"
#include "pipeline/line_map.h"
#include "print/print.h"
#include "pyc/code_object.h"

namespace depyf {

/// The first rung of the ladder to try for one code object, and why.
struct Fallback {
  std::uint8_t rung = 0;  // as DecompileOptions::ladder
  std::string reason;
};

struct DecompileOptions {
  std::uint32_t indentation = 4;
  std::string temp_prefix = "__temp_";
  /// Parameter names of functions that the code calls by a global name; temporaries passed to them
  /// take these names.
  std::vector<std::pair<std::string, std::vector<std::string>>> callee_parameters;
  /// What graphs that the code calls by a global name call their outputs, in the same way.
  std::vector<std::pair<std::string, std::vector<std::string>>> callee_results;
  bool readable = false;  // Dynamo's names are renamed, see Decompiled::readable, and the docstring
                          // is its first line
  bool keep_temporaries = false;
  bool dynamo = false;                  // the root is Dynamo's, also where no name in it says so
  bool ordinary = false;                // no code is Dynamo's, whatever its names say
  std::vector<std::string> own_locals;  // see SimplifyOptions
  std::vector<std::string> program_locals;  // those of them that the program named: they keep it
  std::string name;                         // function mode: name to print instead of co_name
  std::uint8_t ladder = 0;  // first rung of the ladder that is tried: 0 plain structure, 5 the
                            // dispatch loop, 6 rebuilding; for tests
  std::vector<Fallback> fallbacks;  // by CodeId, for those whose plain form is not proven; or empty
  Signature signature;              // function mode: what the function object has beside its code
  bool function = false;            // print the root as one function, not as a module
  bool line_map = false;            // make Decompiled::line_map
  bool scopes = false;              // make Decompiled::scopes
  CodeId scopes_of;                 // of this code object alone, unless it is the root or none
  bool renames = false;  // names that no source can hold are renamed wherever they stand,
                         // see Source::renamed
  bool strict = false;   // throw the Error of a code object that cannot be decompiled, instead of
                         // printing a body in its place
};

/// A name in the text that stands for one of Dynamo's.
struct Readable {
  std::string given, real;
  bool global = false;
};

/// Diagnostic::level of the Note on names in a body that the source had not.
constexpr std::uint8_t kOwnNames = 1;

/// Diagnostic::level of the Note on a body that has plain structure only without some of the hints
/// on how it was written.
constexpr std::uint8_t kOtherReading = 2;

struct Decompiled {
  Source source;
  LineMap line_map;  // empty unless asked for
  std::vector<Diagnostic> diagnostics;
  std::vector<Readable> readable;  // in the order in which they are first seen
  std::string scopes;              // empty unless asked for: the symbol table of the text
};

/// What a dump shows: the output of one stage.
enum class Stage : std::uint8_t {
  Bytecode,
  Flow,
  Lift,
  Simplify,
  Structure,
  Rewrite,
  Scopes,
  Print
};

/// The text form of one stage's output for one code object. For Rewrite and Print the nested code
/// objects have to be rewritten first, so they are. Scopes shows those of the whole module where
/// the code object is its root. Throws Error where the stage or one before it does.
std::string dump_stage(Module& module, CodeId code, Stage stage,
                       const DecompileOptions& options = {});

/// What other programs know a diagnostic by: `L1` to `L6`, `broken` or `note`.
std::string diagnostic_kind(const Diagnostic& diagnostic);

/// `Outer.method`: the qualified name, or before 3.11 the names from the root down.
std::string code_path(const Module& module, CodeId code);

/// Every code object of `module`, innermost first, then printing. A code object that fails never
/// loses the others: its place holds the next rung of the ladder, and a Diagnostic says why.
Decompiled decompile(Module& module, const DecompileOptions& options);

}  // namespace depyf
