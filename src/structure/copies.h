#pragma once
// Two pieces of code that are compared as copies of one, which the compiler made.
#include <algorithm>
#include <span>
#include <vector>

#include "structure/graph.h"

namespace depyf {

/// Two runs of operations of one length, `x` and `y`. A value that one of them makes is the same as
/// the one that the other makes at the same place.
class CopiedRun {
 public:
  CopiedRun(StructureGraph& s, std::span<const ValueId> x, std::span<const ValueId> y)
      : s_(s), x_(x), y_(y) {}
  /// The last `length` operations of two blocks.
  CopiedRun(StructureGraph& s, const Node& x, const Node& y, std::size_t length)
      : CopiedRun(s, std::span(x.body).last(length), std::span(y.body).last(length)) {}

  /// Of y: one value of x, from outside of its run, may stand in the place of it.
  ValueId parameter;
  ValueId handed;                                 // that value, as soon as one was seen
  const std::vector<ValueId>* aliases = nullptr;  // by parameter: the value that is known to be it
  /// Must the runs read what they make themselves, and nothing else?
  bool closed = false;
  /// Are two loads of one constant, outside of the runs, the same value?
  bool equal_constants = true;

  bool same_value(ValueId v, ValueId w) {
    v = resolved(v);
    w = resolved(w);
    if (!v || !w) return !v && !w;
    if (s_.at(v).kind == ValueKind::Result && s_.at(w).kind == ValueKind::Result && v != w)
      return s_.at(v).arg == s_.at(w).arg && same_value(s_.at(v).operands[0], s_.at(w).operands[0]);
    const auto place = std::find(x_.begin(), x_.end(), v);
    if (w == parameter) {
      if (!handed) handed = v;
      return handed == v && place == x_.end();
    }
    if (place != x_.end()) return y_[static_cast<std::size_t>(place - x_.begin())] == w;
    if (closed) return false;
    return v == w || (equal_constants && s_.same_constants(v, w));
  }
  bool same_values(std::span<const ValueId> v, std::span<const ValueId> w) {
    return std::equal(v.begin(), v.end(), w.begin(), w.end(),
                      [&](ValueId a, ValueId b) { return same_value(a, b); });
  }
  /// `same` compares two operations, whatever their operands are.
  template <class Same>
  bool same_operations(const Same& same) {
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (!same(x_[i], y_[i]) || !same_values(s_.at(x_[i]).operands, s_.at(y_[i]).operands))
        return false;
    return true;
  }

 private:
  ValueId resolved(ValueId v) const {
    v = s_.resolve(v);
    while (aliases && v && v.index < aliases->size() && (*aliases)[v.index])
      v = s_.resolve((*aliases)[v.index]);
    return v;
  }
  StructureGraph& s_;
  std::span<const ValueId> x_, y_;
};

/// Does the second operation delete the name that the first one stores?
bool deletes_stored(const Value& store, const Value& remove);

/// Two blocks that leave the function with the same constant, out of the same loops.
bool same_exit(StructureGraph& s, BlockId a, BlockId b);

/// Are two ends that are the same two statements of the source?
bool written_apart(StructureGraph& s, BlockId a, BlockId b);

/// Are the last `length` operations of the two blocks the same?
bool same_operations(StructureGraph& s, BlockId a, BlockId b, std::size_t length);

/// And what they decide?
bool same_tests(StructureGraph& s, BlockId a, BlockId b, std::size_t length);

/// Where the stores begin that end every class body (`__static_attributes__`, `__classdictcell__`,
/// `__classcell__`); the length of the body where there are none.
std::size_t class_epilogue(const StructureGraph& s, const Node& node);

bool is_written_return(const StructureGraph& s, const Node& node);

}  // namespace depyf
