#pragma once
// The symbol table that CPython's compiler would make of the printed tree (Python/symtable.c), and
// whether each code object of the input means the same by its names.
#include <cstdint>
#include <string>
#include <vector>

#include "ast/ast.h"
#include "support/flat_map.h"

namespace depyf {

enum class ScopeKind : std::uint8_t {
  Module,
  Class,
  Function,
  Lambda,
  Comprehension,
  TypeParameters,
  Annotation,
};

/// Where the compiler finds a name; CPython's LOCAL, CELL, FREE, GLOBAL_EXPLICIT, GLOBAL_IMPLICIT.
enum class NamePlace : std::uint8_t { Local, Cell, Free, GlobalExplicit, GlobalImplicit };

struct Symbol {
  std::uint16_t flags = 0;  // SymbolFlag
  NamePlace place = NamePlace::GlobalImplicit;
};

enum SymbolFlag : std::uint16_t {
  kDeclaredGlobal = 1,
  kDeclaredNonlocal = 2,
  kBound = 4,
  kParameter = 8,
  kUsed = 16,
  kMeantGlobal = 32,  // some use of it is the global, whatever the scope has
};

struct Scope {
  ScopeKind kind = ScopeKind::Module;
  bool generator = false;  // a generator expression
  bool inlined = false;    // a comprehension that is part of the code around it (3.12+)
  bool checked = true;     // its names stand in the code object; else the text is the project's own
  CodeId code;             // where its names are accessed; none: no code object is known
  std::uint32_t around = UINT32_MAX;       // index of the enclosing scope
  StrId name;                              // of a class or function
  StrId mangles;                           // the class around, for private names
  std::uint32_t header = UINT32_MAX;       // the scope whose type parameters alone are mangled
  std::uint32_t annotations = UINT32_MAX;  // the first scope of its annotations
  std::uint32_t seen_from = UINT32_MAX;    // where CPython has the scope of this annotation
  FlatMap<Symbol> symbols;                 // by StrId, mangled
};

struct ScopeTree {
  std::vector<Scope> scopes;  // each after the one around it
};

/// The scopes of the tree whose root is the body of `root`: a module's, or with `function` that of
/// a function by itself.
ScopeTree find_scopes(const Ast& ast, CodeId root, bool function = false);

struct ScopeMismatch {
  CodeId code;
  std::string what;
};

/// Names which the text would take from elsewhere than the bytecode does, at most one for each code
/// object.
std::vector<ScopeMismatch> compare_scopes(const Ast& ast, const ScopeTree& tree);

/// One line for each scope and each of its names, as the symtable module would tell it. `code`:
/// only what belongs to that code object, unless it is the root or none.
std::string to_text(const ScopeTree& tree, const Module& module, CodeId code = CodeId::none());

}  // namespace depyf
