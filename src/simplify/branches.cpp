// Rule "decided branch": a branch on an expression of constants that cannot raise goes one way.
//
// Premises: every leaf is a LOAD_CONST of None, a bool, a str, or an int of at most 31 bits; every
// operation on them is `not`, a comparison of two such ints (a bool is one), == or != of two strs,
// or + - * & | ^ of two such ints, with a result of at most 31 bits.
// Proof: the operations are those of exact `int`, `bool`, `str` and `None`, which no code of the
// user can replace; none of them raises, and none has an effect. So the branch always takes the
// same edge, and what only the other edge leads to never runs. An operation that nobody reads any
// more is removed: it did nothing else. Other code is left as it is: `1 / 0`, `x == x` and `10 **
// 9` are no such expressions.
#include <algorithm>
#include <optional>

#include "opcode/arithmetic.h"
#include "simplify/rules.h"

namespace depyf::simplifying {
namespace {

constexpr std::int64_t kLargest = 0x7FFFFFFF;

class Decided {
 public:
  Decided(Lifted& lifted, const Module& module) : lifted_(lifted), module_(module) {}

  bool run() {
    bool any = false;
    std::vector<ValueId> decided;
    for (LiftedBlock& block : lifted_.blocks) {
      if (block.term != TermKind::Branch || !block.value) continue;
      const std::optional<bool> way = truth(block.value);
      if (!way) continue;
      decided.push_back(block.value);
      block.edges[0] = block.edges[*way ? 0 : 1];
      block.edges[1] = {};
      block.term = TermKind::Jump;
      block.jump = JumpRole::Plain;
      block.value = ValueId();
      block.falls = 0;
      any = true;
    }
    if (!any) return false;
    drop_unread(std::move(decided));
    drop_unreachable();
    return true;
  }

 private:
  static constexpr int kDeepest = 16;

  /// The str that `v` is a constant of, or none.
  const Const* text(ValueId v) const {
    if (!v) return nullptr;
    const Value& value = lifted_[v];
    if (value.kind != ValueKind::Operation || value.op != Op::LOAD_CONST) return nullptr;
    const Const& c = module_[ConstId(value.arg)];
    return c.kind == ConstKind::Str ? &c : nullptr;
  }

  /// ~, + or - of a number.
  static std::optional<std::int64_t> unary(UnaryOp op, std::optional<std::int64_t> of) {
    if (!of) return {};
    switch (op) {
      case UnaryOp::Invert:
        return *of < kLargest ? std::optional(-*of - 1) : std::nullopt;
      case UnaryOp::Plus:
        return of;
      case UnaryOp::Minus:
        return -*of;
      case UnaryOp::Not:
        break;  // of a truth
    }
    return {};  // a number from the bytecode may be no operator
  }

  std::optional<std::int64_t> number(ValueId v, int depth) const {
    if (depth > kDeepest || !v) return {};
    const Value& value = lifted_[v];
    if (value.kind != ValueKind::Operation) return {};
    const auto operand = [&](std::size_t i) {
      return i < value.operands.size() ? number(value.operands[i], depth + 1) : std::nullopt;
    };
    if (value.op == Op::LOAD_CONST) {
      const Const& c = module_[ConstId(value.arg)];
      if (c.kind == ConstKind::True) return 1;
      if (c.kind == ConstKind::False) return 0;
      if (c.kind != ConstKind::Int || c.big || c.integer > kLargest || c.integer < -kLargest)
        return {};
      return c.integer;
    }
    if (value.op == Op::UNARY && static_cast<UnaryOp>(value.arg) == UnaryOp::Not) {
      const std::optional<bool> of = truth_of(value.operands[0], depth + 1);
      if (!of) return {};
      return *of ? 0 : 1;
    }
    if (value.op == Op::UNARY && value.operands.size() == 1)
      return unary(static_cast<UnaryOp>(value.arg), operand(0));
    if (value.op == Op::COMPARE && value.operands.size() == 2) {
      if (const Const *x = text(value.operands[0]), *y = text(value.operands[1]); x && y) {
        const CompareOp op = static_cast<CompareOp>(value.arg);
        if (op == CompareOp::Eq) return x->text == y->text;
        if (op == CompareOp::Ne) return x->text != y->text;
        return {};
      }
      const auto a = operand(0), b = operand(1);
      if (!a || !b) return {};
      return compared(static_cast<CompareOp>(value.arg), *a, *b);
    }
    if (value.op == Op::BINARY && value.operands.size() == 2) {
      const auto a = operand(0), b = operand(1);
      if (!a || !b) return {};
      std::int64_t result = 0;
      switch (static_cast<BinaryOp>(value.arg)) {
        case BinaryOp::Add:
          result = *a + *b;
          break;
        case BinaryOp::Subtract:
          result = *a - *b;
          break;
        case BinaryOp::Multiply:
          result = *a * *b;
          break;
        case BinaryOp::And:
          result = *a & *b;
          break;
        case BinaryOp::Or:
          result = *a | *b;
          break;
        case BinaryOp::Xor:
          result = *a ^ *b;
          break;
        case BinaryOp::FloorDivide:  // raise, or leave the range at once
        case BinaryOp::LShift:
        case BinaryOp::MatMult:
        case BinaryOp::Remainder:
        case BinaryOp::Power:
        case BinaryOp::RShift:
        case BinaryOp::TrueDivide:
          return {};
      }
      if (result > kLargest || result < -kLargest) return {};
      return result;
    }
    return {};
  }

  std::optional<bool> truth_of(ValueId v, int depth) const {
    if (!v || depth > kDeepest) return {};
    const Value& value = lifted_[v];
    if (value.kind == ValueKind::Operation && value.op == Op::LOAD_CONST) {
      const Const& c = module_[ConstId(value.arg)];
      switch (c.kind) {
        case ConstKind::None:
          return false;
        case ConstKind::Str:
        case ConstKind::Bytes:
          return !c.text.empty();
        case ConstKind::Float:
          return c.re != 0;  // a NaN is true
        case ConstKind::Complex:
          return c.re != 0 || c.im != 0;
        case ConstKind::Tuple:
        case ConstKind::FrozenSet:
          return !c.items.empty();
        case ConstKind::Ellipsis:
          return true;
        case ConstKind::True:
        case ConstKind::False:
        case ConstKind::Int:  // below
        case ConstKind::StopIteration:
        case ConstKind::List:
        case ConstKind::Set:
        case ConstKind::Dict:
        case ConstKind::Slice:
        case ConstKind::Code:
        case ConstKind::Object:
          break;
      }
    }
    const std::optional<std::int64_t> known = number(v, depth);
    if (!known) return {};
    return *known != 0;
  }

  std::optional<bool> truth(ValueId v) const { return truth_of(v, 0); }

  void drop_unread(std::vector<ValueId> work) {
    std::vector<std::uint32_t> uses = count_uses(lifted_);
    std::vector<std::uint8_t> gone(lifted_.values.size(), 0);
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      const Value& value = lifted_[v];
      if (uses[v.index] != 0 || gone[v.index] || value.kind != ValueKind::Operation) continue;
      gone[v.index] = 1;
      for (ValueId operand : value.operands) {
        --uses[operand.index];
        work.push_back(operand);
      }
    }
    expand_held(lifted_, [&](ValueId v) { return gone[v.index] != 0; });
    for (LiftedBlock& block : lifted_.blocks) {
      std::erase_if(block.body, [&](ValueId v) { return gone[v.index] != 0; });
      for (ValueId& v : block.stack_in)
        if (v && gone[v.index]) v = ValueId();
    }
  }

  void drop_unreachable() {
    const Order order(lifted_);
    std::vector<std::uint8_t> kept(lifted_.regions.size(), 0);
    for (std::size_t b = 0; b < lifted_.blocks.size(); ++b) {
      LiftedBlock& block = lifted_.blocks[b];
      if (order.number[b] == UINT32_MAX) {
        block = {};
        if (b < lifted_.held_at_end.size()) lifted_.held_at_end[b].clear();
        continue;
      }
      for (RegionId own : {block.region, block.signal_region})
        for (RegionId r = own; r && !kept[r.index]; r = lifted_.regions[r.index].parent)
          kept[r.index] = 1;
    }
    std::vector<RegionId> number(kept.size());
    std::vector<Region> regions;
    for (std::size_t r = 0; r < kept.size(); ++r) {
      if (!kept[r]) continue;
      number[r] = RegionId(static_cast<std::uint32_t>(regions.size()));
      regions.push_back(lifted_.regions[r]);
    }
    if (regions.size() == kept.size()) return;
    for (Region& region : regions)
      if (region.parent) region.parent = number[region.parent.index];
    for (LiftedBlock& block : lifted_.blocks)
      for (RegionId* region : {&block.region, &block.signal_region})
        if (*region) *region = number[region->index];
    lifted_.regions = std::move(regions);
  }

  Lifted& lifted_;
  const Module& module_;
};

}  // namespace

bool take_decided_branches(Lifted& lifted, const Module& module) {
  constexpr int kRounds = 8;  // one may decide another through a parameter that it leaves
  bool any = false;
  for (int round = 0; round < kRounds; ++round) {
    if (!Decided(lifted, module).run()) break;
    any = true;
    remove_trivial_params(lifted);
  }
  return any;
}

}  // namespace depyf::simplifying

namespace depyf {

bool take_decided_branches(Lifted& lifted, const Module& module) {
  return simplifying::take_decided_branches(lifted, module);
}

}  // namespace depyf
