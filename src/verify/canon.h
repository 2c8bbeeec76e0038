#pragma once
// One numbering of names and constants for two modules: equal numbers mean equal names, or constants that no program can tell apart.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bytecode/instr.h"
#include "pyc/code_object.h"

namespace depyf::verify_detail {

/// Which of the two compared sides.
enum Which : std::uint8_t { kA = 0, kB = 1 };

constexpr std::uint32_t kNone = UINT32_MAX;

/// What the number of a constant stands for.
struct Literal {
  ConstKind kind = ConstKind::None;
  bool plain = false;            // hashing and comparing it runs no code of the program
  bool small = false;            // Int: `integer` is its value
  bool empty = false;            // Str, Bytes, Tuple, FrozenSet without items, zero
  std::int64_t integer = 0;
  std::uint32_t items_at = 0, items_count = 0;  // Tuple, Slice: numbers of the items
  Which side = kA;               // Code
  CodeId code;
};

class Canon {
 public:
  Canon(Module& a, Module& b) : modules_{&a, &b} {}

  Module& module(Which side) { return *modules_[side]; }
  const Module& module(Which side) const { return *modules_[side]; }

  std::uint32_t str(Which side, StrId id);
  std::uint32_t str(std::string_view text);
  std::uint32_t str_count() const { return static_cast<std::uint32_t>(strings_.size()); }

  /// `code` is the code object whose operand the constant is: a mutable constant (no compiler makes one) is an object of its own,
  /// known by its place in that code's table. A code object is equal to nothing on the other side; see Pairs.
  std::uint32_t constant(Which side, CodeId code, ConstId id);
  std::uint32_t tuple(std::span<const std::uint32_t> items) { return sequence(ConstKind::Tuple, items); }
  std::uint32_t slice(std::span<const std::uint32_t> items) { return sequence(ConstKind::Slice, items); }
  std::uint32_t none() { return singleton(ConstKind::None); }
  std::uint32_t boolean(bool value) { return singleton(value ? ConstKind::True : ConstKind::False); }
  std::uint32_t integer(std::int64_t value);

  const Literal& operator[](std::uint32_t number) const { return literals_[number]; }
  std::span<const std::uint32_t> items(std::uint32_t number) const {
    return {items_.data() + literals_[number].items_at, literals_[number].items_count};
  }

  /// Number of the variable: by name, and for cells also by whether the code owns the cell.
  std::uint32_t slot(Which side, CodeId code, std::uint32_t index, bool deref);

 private:
  std::uint32_t singleton(ConstKind kind);

  Module* modules_[2];
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::vector<std::uint32_t> string_memo_[2];
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<Literal> literals_;
  std::vector<std::uint32_t> items_;
  std::vector<std::uint32_t> const_memo_[2];

  std::uint32_t number(const std::string& key, const Literal& literal, std::span<const std::uint32_t> items);
  std::uint32_t sequence(ConstKind kind, std::span<const std::uint32_t> items);
};

/// What `Instr::arg` and `Value::arg` of an operation number.
enum class ArgKind : std::uint8_t { Plain, Const, Str, Local, Deref };
ArgKind arg_kind(Op op);

/// arg of `op`, comparable between the sides.
std::uint32_t canonical_arg(Canon& canon, Which side, CodeId code, Op op, std::uint32_t arg);

/// Code objects of the two sides that were met as the same operand: each pair must be proven in its turn.
class Pairs {
 public:
  /// One code object stands for one only. False when either already stands for another.
  bool one_to_one(CodeId a, CodeId b);
  /// A copy of the code that makes a function gives a copy of the function's code: several may stand for one.
  void many(CodeId a, CodeId b);
  const std::vector<std::pair<CodeId, CodeId>>& list() const { return list_; }

 private:
  std::vector<std::pair<CodeId, CodeId>> list_;
  std::unordered_map<std::uint32_t, std::uint32_t> a_to_b_, b_to_a_;
  std::unordered_map<std::uint64_t, bool> known_;
};

/// The first place where the two part.
struct Difference {
  std::uint32_t offset_a = 0, offset_b = 0;
  std::string text;
  bool has_offsets = true;
};

/// `text` as Python would write it, cut to a readable length.
std::string quoted(std::string_view text);
/// A short form of a constant, for messages.
std::string describe_const(const Module& module, ConstId id);

}  // namespace depyf::verify_detail
