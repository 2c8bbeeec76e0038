#pragma once
// One numbering of names and constants for two modules: equal numbers mean equal names, or
// constants that no program can tell apart.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bytecode/instr.h"
#include "pyc/code_object.h"

namespace depyf::verify_detail {

/// Which of the two compared sides.
enum Which : std::uint8_t { kA = 0, kB = 1 };

constexpr std::uint32_t kNone = UINT32_MAX;

bool is_nan(const Const& value);

/// Does a store with `op` and `arg` in `code` of `value` tell a class its own first line, as
/// compiled class bodies do from 3.13 on (compiler_class in CPython's codegen.c)?
bool stores_own_line(const Module& module, CodeId code, Op op, std::uint32_t arg, ConstId value);

/// What the number of a constant stands for.
struct Literal {
  ConstKind kind = ConstKind::None;
  bool plain = false;  // hashing and comparing it runs no code of the program
  bool nan = false;    // a NaN, or holds one: its number is of one side, and same_constant() says
                       // what it is on the other
  bool small = false;  // Int: `integer` is its value
  bool empty = false;  // Str, Bytes, Tuple, FrozenSet without items, zero
  std::int64_t integer = 0;
  // Tuple, Slice, FrozenSet: numbers of the items
  std::uint32_t items_at = 0, items_count = 0;
  Which side = kA;  // Code, and what has `nan`
  CodeId code;
  std::uint32_t object = 0;                // a NaN: which object it is
  std::uint64_t re_bits = 0, im_bits = 0;  // a NaN: its parts
  std::uint32_t any_order = kNone;         // FrozenSet: number of the set without its order
};

class Canon {
 public:
  /// `live`: both are code of one process, so the order in which a frozenset gives its items is
  /// that of the program. In a file that CPython 3.10 or earlier wrote, the order of texts is that
  /// of the hash seed of the process that wrote it.
  Canon(Module& a, Module& b, bool live) : modules_{&a, &b}, live_(live) {}

  Module& module(Which side) { return *modules_[side]; }
  const Module& module(Which side) const { return *modules_[side]; }

  std::uint32_t str(Which side, StrId id);
  std::uint32_t str(std::string_view text);
  std::uint32_t str_count() const { return static_cast<std::uint32_t>(strings_.size()); }

  /// `code` is the code object whose operand the constant is: a mutable constant (no compiler makes
  /// one) is an object of its own, known by its place in that code's table. A code object is equal
  /// to nothing on the other side; see Pairs.
  std::uint32_t constant(Which side, CodeId code, ConstId id);

  /// Constants that no program can tell apart: one number, or alike but for NaNs, of which each
  /// stands for one of the other side. A NaN is equal to nothing but, in a container, to itself, so
  /// which of them are one object counts, beside sign and payload. What was paired stays paired.
  bool same_constant(std::uint32_t a, std::uint32_t b);
  /// same_constant() of what is only asked whether it holds something: of a frozenset the order of
  /// its items does not count.
  bool same_collection(std::uint32_t a, std::uint32_t b);
  /// same_collection() took two for the same that give their items in different orders. `in` asks
  /// items with the hash of what is looked for in that order, so `__eq__` of the program sees it.
  bool orders_differ = false;
  /// Files of 3.11 and later have a set's items in different orders, as marshal sorts them by bytes
  /// that tell what the compiler's process used more than once. The same source gives either.
  bool written_orders_differ = false;
  /// Two classes say other lines of themselves in `__firstlineno__` (3.13+).
  bool lines_differ = false;
  /// A NaN of live code stood for another object, which who holds one of the two can tell.
  bool nan_objects_differ = false;
  /// The NaNs that were paired, to go back to.
  struct NanPairs {
    std::unordered_map<std::uint32_t, std::uint32_t> to[2];
  };
  NanPairs nan_pairs;

  std::uint32_t tuple(std::span<const std::uint32_t> items) {
    return sequence(ConstKind::Tuple, items);
  }
  std::uint32_t slice(std::span<const std::uint32_t> items) {
    return sequence(ConstKind::Slice, items);
  }
  std::uint32_t none() { return singleton(ConstKind::None); }
  std::uint32_t boolean(bool value) {
    return singleton(value ? ConstKind::True : ConstKind::False);
  }
  std::uint32_t integer(std::int64_t value);

  const Literal& operator[](std::uint32_t number) const { return literals_[number]; }
  std::span<const std::uint32_t> items(std::uint32_t number) const {
    return {items_.data() + literals_[number].items_at, literals_[number].items_count};
  }

  /// Number of the variable: by name, and for cells also by whether the code owns the cell.
  std::uint32_t slot(Which side, CodeId code, std::uint32_t index, bool deref);
  /// Of the number that slot() gives a cell: that of the free variable with the same name.
  static constexpr std::uint32_t free_of_cell(std::uint32_t cell) { return cell / 4 * 4 + 2; }
  /// Number of what the slot itself holds: the value of a local, or a cell.
  std::uint32_t content(Which side, CodeId code, std::uint32_t index);

  /// Locals of B (by number of the name) that count as locals of A with another name.
  std::unordered_map<std::uint32_t, std::uint32_t> renamed;

  /// Slots of each side's code whose cells count as locals. Empty: none.
  std::array<std::vector<bool>, 2> bare;

 private:
  std::uint32_t singleton(ConstKind kind);

  Module* modules_[2];
  bool live_;
  std::unordered_set<std::uint32_t> live_nans_[2];
  bool has_live_nans_ = false;
  bool may_pair(const Literal& x, const Literal& y);
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::vector<std::uint32_t> string_memo_[2];
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      written_orders_;  // by Literal::any_order: the items in the order of the first file
  std::vector<Literal> literals_;
  std::vector<std::uint32_t> items_;
  std::vector<std::uint32_t> const_memo_[2];

  std::uint32_t number(const std::string& key, const Literal& literal,
                       std::span<const std::uint32_t> items);
  std::uint32_t sequence(ConstKind kind, std::span<const std::uint32_t> items);
  std::string key_of(Which side, ConstId id, std::vector<std::uint32_t>& items, Literal& literal);
};

/// arg of `op`, comparable between the sides.
std::uint32_t canonical_arg(Canon& canon, Which side, CodeId code, Op op, std::uint32_t arg);

/// Code objects of the two sides that were met as the same operand: each pair must be proven in its
/// turn.
class Pairs {
 public:
  /// One code object stands for one only. False when either already stands for another.
  bool one_to_one(CodeId a, CodeId b);
  /// A copy of the code that makes a function gives a copy of the function's code: several may
  /// stand for one.
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
  bool distinguishes = false;  // the two do different things there, as any program can see
};

/// `text` as Python would write it, cut to a readable length.
std::string quoted(std::string_view text);
/// A short form of a constant, for messages.
std::string describe_const(const Module& module, ConstId id, unsigned depth = 2);

}  // namespace depyf::verify_detail
