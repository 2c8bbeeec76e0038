#pragma once
#include <cstddef>
#include <initializer_list>
#include <iterator>

#include "opcode/op.h"

namespace depyf {

/// A set of operations, made at compile time.
class OpSet {
 public:
  constexpr OpSet(std::initializer_list<Op> ops) {
    for (Op op : ops) has_[static_cast<std::uint8_t>(op)] = true;
  }
  constexpr OpSet operator|(const OpSet& other) const {
    OpSet both = *this;
    for (std::size_t i = 0; i < std::size(has_); ++i) both.has_[i] |= other.has_[i];
    return both;
  }
  constexpr bool operator[](Op op) const { return has_[static_cast<std::uint8_t>(op)]; }

 private:
  bool has_[256] = {};
};

/// A kind for each operation, made at compile time: that of its row, T{} where no row names it. A
/// switch over the kinds names those that it tells apart.
template <typename T>
class OpTable {
 public:
  struct Row {
    T kind;
    std::initializer_list<Op> ops;
  };
  constexpr OpTable(std::initializer_list<Row> rows) {
    for (const Row& row : rows)
      for (Op op : row.ops) kinds_[static_cast<std::uint8_t>(op)] = row.kind;
  }
  constexpr T operator[](Op op) const { return kinds_[static_cast<std::uint8_t>(op)]; }

 private:
  T kinds_[256] = {};
};

}  // namespace depyf
