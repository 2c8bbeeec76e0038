#pragma once
// The body of a `finally` is compiled once for its handler, and once more for each way out of the
// protected code: is that the same code?
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "structure/copies.h"
#include "structure/graph.h"

namespace depyf {

/// Part of no statement, also where a handler ends.
inline bool is_quiet_in_handler(const StructureGraph& s, ValueId v) {
  return s.is_quiet(v) || s.is_op(v, Op::POP_EXCEPT);
}

/// A place in a block: before its operation of that number.
struct Position {
  BlockId block;
  std::size_t at = 0;
};

/// Walks the handler's copy of the body and another one in lockstep.
class FinallyCopy {
 public:
  /// The handler and its blocks lie in `base`.
  FinallyCopy(StructureGraph& s, BlockId handler, RegionId base)
      : s_(s), handler_(handler), base_(base) {}
  /// Is the code from `t` on a copy of the handler's?
  bool match(BlockId t);
  /// Where control continues after the copy; no block where the body never completes.
  Position behind() const { return behind_; }

 private:
  using Values =
      std::unordered_map<std::uint32_t, ValueId>;  // of the handler's copy -> the other's
  enum class Step : std::uint8_t { GoOn, Ends, Differs };
  struct Pair {
    Position h, t;
  };
  Step next(Pair& at);
  Step jump(Pair& at);
  bool completes_at(Position here);
  bool same_ends(const Node& hn, const Node& tn, bool equally);
  bool same_arguments(const Edge& from, const Edge& to, std::size_t count);
  bool equally_protected(RegionId rh, RegionId rt);
  bool same_value(ValueId h, ValueId t, const Values& map) const;
  /// Two places from which control does the same in one block. (Short exits are copied to each way
  /// out.)
  bool same_end(Position a, Position b);
  bool same_term(const Node& x, const Node& y, const Values& map) const;
  /// `key`: a position of `visited_`.
  bool same_place(std::uint64_t key, Position b) {
    return same_end({BlockId(static_cast<std::uint32_t>(key)), static_cast<std::size_t>(key >> 32)},
                    b);
  }
  /// 3.14+: does it note that an annotation was reached? Each copy of the annotation has a number
  /// of its own.
  bool marks_annotation(const Value& value) const;
  /// The same operation on the same values; `map` learns what the second one's results are to the
  /// first.
  bool same_operation(ValueId a, ValueId b, Values& map);

  StructureGraph& s_;
  const BlockId handler_;
  const RegionId base_;
  Position behind_;
  bool completes_ = false;
  Values map_;
  std::unordered_map<std::uint32_t, std::uint64_t>
      visited_;     // block of the handler's code -> position in the copy
  Values negated_;  // tests of the handler's copy -> those of the other that say the opposite
  std::vector<Pair> work_;
  std::unordered_set<std::uint32_t> statements_,
      alone_;             // regions in the handler that the copy has, or lacked at some place
  std::size_t hops_ = 0;  // jumps in a row: empty blocks may form a ring
};

}  // namespace depyf
