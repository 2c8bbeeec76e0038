#pragma once
// One struct for the code objects of CPython 3.7 … 3.15, and the store that holds a tree of them.
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opcode/version.h"
#include "support/arena.h"
#include "support/id.h"
#include "support/stable_vector.h"
#include "support/string_table.h"

namespace depyf {

enum class ConstKind : std::uint8_t {
  None,
  True,
  False,
  Ellipsis,
  StopIteration,
  Int,      // `integer` when it fits, else `text` = sign and lower-case hex digits, e.g. "-1f…"
  Float,    // re
  Complex,  // re, im
  Str,      // `text`: UTF-8, lone surrogates encoded as three bytes (Python's "surrogatepass")
  Bytes,    // `text`: the raw bytes
  Tuple,
  List,
  Set,
  FrozenSet,  // items
  Dict,       // items: key, value, key, value … (3.15's frozendict too)
  Slice,      // items: start, stop, step
  Code,       // code
  Object,  // a live object that is no literal: `object` is its index in the caller's table; `text`:
           // of a function that returns a tuple of its arguments, their numbers
};

struct Const {
  ConstKind kind = ConstKind::None;
  bool big = false;   // Int: the value is in `text`
  bool live = false;  // Slice: `object` is it, for where no source form makes this constant
  std::int64_t integer = 0;
  double re = 0, im = 0;
  std::string_view text;
  std::span<const ConstId> items;
  CodeId code;
  std::uint32_t object = 0;
};

/// co_flags bits that matter here (Include/cpython/code.h).
enum CodeFlags : std::uint32_t {
  kOptimized = 0x1,
  kNewLocals = 0x2,
  kVarArgs = 0x4,
  kVarKeywords = 0x8,
  kNested = 0x10,
  kGenerator = 0x20,
  kNoFree = 0x40,
  kCoroutine = 0x80,
  kIterableCoroutine = 0x100,
  kAsyncGenerator = 0x200,
  kFutureUnequal = 0x400000,
  kFutureAnnotations = 0x1000000,
  kHasDocstring = 0x4000000,
  kMethod = 0x8000000,
};

/// kHidden: the variable of a comprehension that is inlined in a class or module body (3.12+).
enum SlotKind : std::uint8_t { kLocal = 1, kCell = 2, kFree = 4, kHidden = 8 };

/// One fast local, cell or free variable. An argument that is also a cell is ONE slot with both
/// bits.
struct Slot {
  StrId name;
  std::uint8_t kind = 0;
};

struct CodeObject {
  PyVersion version;
  std::uint32_t argcount = 0;  // positional-only ones included
  std::uint32_t posonlyargcount = 0;
  std::uint32_t kwonlyargcount = 0;
  std::uint32_t stacksize = 0;
  std::uint32_t flags = 0;
  std::uint32_t firstlineno = 0;
  StrId name, qualname, filename;  // qualname: none before 3.11
  std::span<const std::uint8_t> code;
  std::span<const ConstId> consts;
  std::span<const StrId> names;
  /// Every local, then cells that are no locals, then free variables ("localsplus" of 3.11+; built
  /// so for ≤ 3.10).
  std::span<const Slot> slots;
  /// ≤ 3.10: slot of each cell and free variable, in the order LOAD_DEREF numbers them (co_cellvars
  /// + co_freevars).
  std::span<const std::uint32_t> deref_slots;
  std::uint32_t nlocals = 0;                     // the first nlocals slots are co_varnames
  std::span<const std::uint8_t> linetable;       // co_lnotab up to 3.9, co_linetable from 3.10
  std::span<const std::uint8_t> exceptiontable;  // 3.11+
  CodeId parent;                                 // none for the root

  /// How many of the first slots are parameters, `*args` and `**kwargs` among them.
  std::uint64_t parameter_count() const {
    return std::uint64_t{argcount} + kwonlyargcount + ((flags & kVarArgs) != 0) +
           ((flags & kVarKeywords) != 0);
  }
};

/// What is asked of a name again and again, see Module::traits().
enum NameTrait : std::uint8_t {
  kKnownName = 1,       // the others are known
  kWritableName = 2,    // is_writable_name()
  kPerhapsMangled = 4,  // like `_C__x`
  kPrivateName = 8,     // like `__x`
};

/// A tree of code objects with its constants and strings. Ids index into it. Nested code objects
/// have SMALLER ids than the one that holds them (children are completed first), so a loop by id is
/// post-order.
struct Module {
  std::unique_ptr<std::uint8_t[]> source;  // of a file: its bytes, to which texts and code refer
  Arena arena;
  PyVersion version;
  int optimization = 0;  // 1, 2: it is known to be of `-O`, `-OO`
  StableVector<Const, 64> consts;
  StableVector<CodeObject, 16> codes;
  StringTable strings;
  CodeId root;
  /// Globals of the program itself, whatever they are named: see installed_by_dynamo().
  std::vector<std::string> own_globals;

  const Const& operator[](ConstId id) const { return consts[id.index]; }
  const CodeObject& operator[](CodeId id) const { return codes[id.index]; }
  CodeObject& operator[](CodeId id) { return codes[id.index]; }
  std::string_view operator[](StrId id) const { return strings[id.index]; }

  /// NameTrait bits, learnt when first asked for.
  std::uint8_t traits(StrId id) const {
    if (id.index < name_traits.size() && name_traits[id.index]) return name_traits[id.index];
    return learn_traits(id);
  }
  std::uint8_t learn_traits(StrId id) const;

  mutable std::vector<std::uint8_t> name_traits;

  ConstId add(const Const& value) {
    consts.push_back(value);
    return ConstId(static_cast<std::uint32_t>(consts.size() - 1));
  }
  StrId intern(std::string_view text) {
    return StrId(
        strings.add(text, [&](std::string_view fresh) { return arena.copy_string(fresh); }));
  }
  /// The same for a text that lasts as long as the module: one of its constants.
  StrId intern_constant(std::string_view text) {
    return StrId(strings.add(text, [](std::string_view fresh) { return fresh; }));
  }
};

/// The docstring of a function's code object, or none. (Up to 3.13 every `def` keeps its first
/// constant for it; later a flag tells.)
inline ConstId docstring(const Module& module, const CodeObject& code) {
  if (code.consts.empty() || module[code.consts[0]].kind != ConstKind::Str) return ConstId::none();
  if (code.version >= PyVersion{3, 14} && !(code.flags & kHasDocstring)) return ConstId::none();
  return code.consts[0];
}

/// `assert` loads the exception itself (LOAD_ASSERTION_ERROR, LOAD_COMMON_CONSTANT), not the global
/// of that name.
inline bool has_assertion_constant(const Module& module) {
  return module.version >= PyVersion{3, 9};
}

/// Up to 3.8 the text of an annotation is made of the optimised tree, which holds tuples of
/// constants.
inline bool unparses_constant_tuples(const Module& module) { return module.version.minor <= 8; }

/// A set display of three constants or more compiles to an update with a frozenset of them.
inline bool folds_set_displays(const Module& module) { return module.version >= PyVersion{3, 9}; }

inline bool has_walruses(const Module& module) { return module.version >= PyVersion{3, 8}; }

/// Are constants folded in a walrus as they are elsewhere?
inline bool folds_in_walruses(const Module& module) { return module.version >= PyVersion{3, 10}; }

/// Are operations on constants folded in the control flow graph, and not in the tree (3.14+)? Then
/// an f-string without fields is a constant like another one.
inline bool folds_in_graph(const Module& module) { return module.version >= PyVersion{3, 14}; }

/// `from __future__ import annotations` is in force; the flag moved in 3.8.
inline bool future_annotations(const CodeObject& code) {
  return code.flags &
         (code.version >= PyVersion{3, 8} ? std::uint32_t{kFutureAnnotations} : 0x100000u);
}

/// Is an annotation evaluated only when somebody asks for it, in a scope of its own (3.14+)?
inline bool defers_annotations(const Module& module) { return module.version >= PyVersion{3, 14}; }

/// `[*items for items in rows]` (PEP 798).
inline bool unpacks_in_comprehensions(const Module& module) {
  return module.version >= PyVersion{3, 15};
}

/// `1 <> 2` is the only spelling below `from __future__ import barry_as_FLUFL` (3.14+: before, the
/// parser never sees that import).
inline bool spells_unequal_apart(const CodeObject& code) {
  return code.version >= PyVersion{3, 14} && (code.flags & kFutureUnequal);
}

/// Does the compiler turn `"…%s…" % (a, b)` into an f-string (3.11+)?
inline bool folds_percent_format(const CodeObject& code) {
  return code.version >= PyVersion{3, 11};
}

}  // namespace depyf
