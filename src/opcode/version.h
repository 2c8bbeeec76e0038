#pragma once
// The CPython version of the bytecode, and what code objects of that version hold.
#include <compare>
#include <cstdint>
#include <string>

namespace depyf {

struct PyVersion {
  std::uint8_t major = 3;
  std::uint8_t minor = 0;
  constexpr auto operator<=>(const PyVersion&) const = default;

  /// As people write it: "3.14".
  std::string number() const { return std::to_string(major) + "." + std::to_string(minor); }

  /// co_posonlyargcount, and the method `replace` (3.8, PEP 570).
  constexpr bool has_positional_only() const { return *this >= PyVersion{3, 8}; }
  /// co_linetable in place of co_lnotab (3.10, PEP 626).
  constexpr bool has_line_table() const { return *this >= PyVersion{3, 10}; }
  /// In a .pyc file, the items of a frozenset are in the order of the compiler's set, which depends
  /// on the hash seed; from 3.11 on the writer sorts them.
  constexpr bool sets_follow_hash_seed() const { return *this < PyVersion{3, 11}; }
  /// To decide whether to make `__annotations__`, 3.10 looks for annotations in every statement
  /// except `match`.
  constexpr bool overlooks_annotations_in_match() const {
    return *this >= PyVersion{3, 10} && *this < PyVersion{3, 11};
  }
  /// co_qualname and co_exceptiontable; instructions have inline caches; `exec` takes a closure
  /// (3.11).
  constexpr bool has_exception_table() const { return *this >= PyVersion{3, 11}; }
  /// `a, b = b, a` stores locals in the reverse order where the targets stand on one row (3.11).
  constexpr bool swaps_stores() const { return *this >= PyVersion{3, 11}; }
  /// Of two stores to one variable of `a, a = x` on one row, the first is dropped (3.13).
  constexpr bool drops_repeated_stores() const { return *this >= PyVersion{3, 13}; }
  /// Patch releases of 3.13 call `iter` on the iterator of a comprehension or generator expression
  /// once more.
  constexpr bool may_iterate_twice() const {
    return *this >= PyVersion{3, 13} && *this < PyVersion{3, 14};
  }
  /// `with` looks up `__exit__` before it calls `__enter__` (3.14; `async with` up to 3.8).
  constexpr bool looks_up_exit_first(bool async) const {
    return *this >= PyVersion{3, 14} || (async && *this < PyVersion{3, 9});
  }
  /// The builtins `aiter` and `anext`, which look where `async for` looks (3.10).
  constexpr bool has_async_iter() const { return *this >= PyVersion{3, 10}; }
  /// The body of a class stores its own first line in `__firstlineno__`.
  constexpr bool has_class_lines() const { return *this >= PyVersion{3, 13}; }
  /// An extension module may say that it needs no GIL (3.13), and that interpreters with a GIL of
  /// their own may load it (3.12; that version frees strings twice when such an interpreter ends).
  constexpr bool has_free_interpreters() const { return *this >= PyVersion{3, 13}; }
};

/// The minor versions of CPython 3 that are read, oldest and newest.
constexpr std::uint8_t kOldest = 7, kNewest = 15;
constexpr bool is_supported(PyVersion version) {
  return version.major == 3 && version.minor >= kOldest && version.minor <= kNewest;
}
inline std::string supported_versions() {
  return "CPython 3." + std::to_string(kOldest) + " to 3." + std::to_string(kNewest);
}

}  // namespace depyf
