#pragma once
#include <initializer_list>

#include "opcode/op.h"

namespace depyf {

/// A set of operations, made at compile time.
class OpSet {
 public:
  constexpr OpSet(std::initializer_list<Op> ops) {
    for (Op op : ops) has_[static_cast<std::uint8_t>(op)] = true;
  }
  constexpr bool operator[](Op op) const { return has_[static_cast<std::uint8_t>(op)]; }

 private:
  bool has_[256] = {};
};

}  // namespace depyf
