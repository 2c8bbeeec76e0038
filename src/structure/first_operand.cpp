#include "structure/first_operand.h"

#include <algorithm>

#include "opcode/op_set.h"
#include "structure/build.h"

namespace depyf {
namespace {

constexpr OpSet kDisplays{Op::BUILD_TUPLE, Op::BUILD_LIST, Op::BUILD_SET, Op::BUILD_MAP,
                          Op::BUILD_CONST_KEY_MAP};
constexpr OpSet kGrows{Op::LIST_APPEND, Op::LIST_EXTEND, Op::SET_ADD,      Op::SET_UPDATE,
                       Op::MAP_ADD,     Op::DICT_UPDATE, Op::LIST_TO_TUPLE};
/// What is an expression by itself. Others are parts of one: the `iter` of a loop, a slice.
constexpr OpSet kExpressions = kDisplays | kGrows |
                               OpSet{Op::LOAD_CONST,
                                     Op::LOAD_FAST,
                                     Op::LOAD_DEREF,
                                     Op::LOAD_CLASSDEREF,
                                     Op::LOAD_GLOBAL,
                                     Op::LOAD_NAME,
                                     Op::LOAD_ATTR,
                                     Op::LOAD_SUBSCR,
                                     Op::LOAD_SLICE,
                                     Op::UNARY,
                                     Op::BINARY,
                                     Op::COMPARE,
                                     Op::IS,
                                     Op::CONTAINS,
                                     Op::BUILD_STRING,
                                     Op::FORMAT,
                                     Op::CALL,
                                     Op::CALL_KW,
                                     Op::CALL_EX,
                                     Op::YIELD_VALUE,
                                     Op::YIELD_FROM,
                                     Op::MAKE_FUNCTION,
                                     Op::LOAD_SUPER_ATTR,
                                     Op::BUILD_LIST_UNPACK,
                                     Op::BUILD_SET_UNPACK,
                                     Op::LOAD_FROM_DICT_OR_GLOBALS};

class Finder {
 public:
  Finder(StructureGraph& s, BlockId b, std::int32_t line)
      : s_(s), block_(b), line_(line), body_(s.nodes[b.index].body) {}

  FirstOperand run() {
    if (body_.empty() || !begins_expression(body_[0])) return {};
    ValueId root = body_[0];
    foldable_ = s_.is_const(root);
    for (std::size_t at = 0;;) {
      const std::size_t stores = walruses(root, at);
      const std::uint32_t uses = s_.uses[root.index] - static_cast<std::uint32_t>(stores);
      if (is_expression(root, at) && (!foldable_ || s_.is_const(root)))
        found_.parts.push_back({root, at + 1 + stores, uses});
      at += 1 + stores;
      while (at < body_.size() && at < kMostCompared && !takes(body_[at], root) &&
             !takes_from_before(body_[at]))
        ++at;
      if (at == body_.size()) found_.awaited = handed_on(root);
      if (at >= body_.size() || at >= kMostCompared) break;
      const Value& user = s_.at(body_[at]);
      if (takes(body_[at], root)) drop_parts_of(root, user);
      if (takes_from_before(body_[at]) || stored_with_others(at)) {
        found_.awaited = true;
        break;
      }
      if (uses != 1 || s_.uses[body_[at].index] == 0 || yields_no_value(user.op, user.aux)) break;
      foldable_ = foldable_ && keeps_constant(root, user);
      root = body_[at];
    }
    return std::move(found_);
  }

 private:
  bool begins_expression(ValueId v) const {
    const Value& value = s_.at(v);
    return value.kind == ValueKind::Operation && value.operands.empty() && s_.uses[v.index] > 0 &&
           !yields_no_value(value.op, value.aux);
  }

  bool takes(ValueId user, ValueId v) {
    const std::span<ValueId> operands = s_.at(user).operands;
    return std::any_of(operands.begin(), operands.end(),
                       [&](ValueId operand) { return s_.resolve(operand) == v; });
  }

  /// How many names get the value right after it was computed, if something else takes it, too.
  std::size_t walruses(ValueId v, std::size_t at) {
    if (!s_.lifted.traits.named_expressions) return 0;
    std::size_t count = 0;
    while (at + 1 + count < body_.size() && is_name_store(s_.at(body_[at + 1 + count]).op) &&
           takes(body_[at + 1 + count], v))
      ++count;
    return count < s_.uses[v.index] ? count : 0;
  }

  /// A value that is on the stack because the expression, or the statement, is not at its end.
  bool waits(ValueId v) {
    v = s_.resolve(v);
    if (!v || s_.at(v).block == block_) return false;
    const Value& value = s_.at(v);
    if (value.kind == ValueKind::Operation) return value.op != Op::LOAD_FAST_AND_CLEAR;
    if (value.kind == ValueKind::Result)
      return !s_.is_op(value.operands[0], Op::WITH_ENTER) &&
             !s_.is_op(value.operands[0], Op::ASYNC_WITH_ENTER);
    return value.kind == ValueKind::Param || value.kind == ValueKind::Select;
  }

  /// Not the collection that a comprehension fills: it may have a condition more.
  bool takes_from_before(ValueId user) {
    const Value& value = s_.at(user);
    if (value.op == Op::POP_TOP) return false;
    const std::span<ValueId> taken =
        value.operands.subspan((value.aux & kInPlace) != 0 && kGrows[value.op] ? 1 : 0);
    return std::any_of(taken.begin(), taken.end(), [&](ValueId v) { return waits(v); });
  }

  /// `x, y = f(), 1`: the next store takes what was there before.
  bool stored_with_others(std::size_t at) {
    for (; at < body_.size() && is_name_store(s_.at(body_[at]).op); ++at)
      if (takes_from_before(body_[at])) return true;
    return false;
  }

  /// At the block's end: to where a value of several ways is taken, to a `raise` of two values, or
  /// to the `return` of more than a name or constant in the row of the test, which is no
  /// statement of its own then.
  bool handed_on(ValueId v) {
    const Node& node = s_.nodes[block_.index];
    const auto is_root = [&](ValueId arg) { return s_.resolve(arg) == v; };
    if (node.term == TermKind::Jump)
      return std::count_if(node.edges[0].args.begin(), node.edges[0].args.end(), is_root) == 1;
    if (node.term == TermKind::Return)
      return is_root(node.value) && node.term_line == line_ && line_ > 0 && body_.size() > 1;
    return node.term == TermKind::Raise &&
           std::any_of(node.raise_args.begin(), node.raise_args.end(), is_root) &&
           std::any_of(node.raise_args.begin(), node.raise_args.end(),
                       [&](ValueId arg) { return waits(arg); });
  }

  bool is_expression(ValueId v, std::size_t at) const {
    const Value& value = s_.at(v);
    if (value.kind == ValueKind::Select) return s_.select_of(v).kind != Select::Subject;
    if (value.kind != ValueKind::Operation || !kExpressions[value.op]) return false;
    if (value.op == Op::LOAD_CONST) return !is_code(v);
    if (value.op == Op::LOAD_SUPER_ATTR && (value.aux & 1) != 0) return false;
    return std::none_of(body_.begin(), body_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                        [&](ValueId part) { return defines(part); });
  }

  bool is_code(ValueId constant) const { return s_.constant(constant).kind == ConstKind::Code; }

  /// Part of a statement, `def` or `class`?
  bool defines(ValueId v) const {
    if (s_.is_op(v, Op::LOAD_BUILD_CLASS)) return true;
    if (!s_.is_const(v) || !is_code(v)) return false;
    const CodeId code = s_.constant(v).code;
    const std::string_view name = s_.module[s_.module[code].name];
    return name != "<lambda>" && name != "<genexpr>" && name != "<listcomp>" &&
           name != "<setcomp>" && name != "<dictcomp>";
  }

  /// The user is written as one expression with the operand, which is none by itself then: part of
  /// an f-string, the display of a call's arguments.
  void drop_parts_of(ValueId operand, const Value& user) {
    if (found_.parts.empty() || found_.parts.back().value != operand) return;
    const Op op = s_.at(operand).op;
    const bool is_first = s_.resolve(user.operands[0]) == operand;
    bool part = false;
    if (user.op == Op::BUILD_STRING)
      part = op == Op::FORMAT || op == Op::LOAD_CONST;
    else if (user.op == Op::FORMAT)
      part = op == Op::FORMAT || op == Op::BUILD_STRING || !is_first;
    else if (kGrows[user.op])
      part = is_first && (kDisplays | kGrows)[op];
    else if (!kExpressions[user.op] || user.op == Op::CALL_EX || user.op == Op::MAKE_FUNCTION)
      part = (kDisplays | kGrows)[op];
    if (part) found_.parts.pop_back();
  }

  /// May the compiler take the operation for a constant, or for a string with the operand in it,
  /// where it is one with its operand?
  bool keeps_constant(ValueId operand, const Value& user) {
    if (user.kind == ValueKind::Select || user.op == Op::LOAD_ATTR || user.op == Op::LOAD_METHOD ||
        user.op == Op::MAKE_FUNCTION)
      return false;
    if (!kDisplays[user.op] && (user.op != Op::BUILD_STRING || !s_.is_const(operand))) return true;
    return std::all_of(user.operands.begin(), user.operands.end(), [&](ValueId v) {
      v = s_.resolve(v);
      return v == operand || s_.is_const(v);
    });
  }

  StructureGraph& s_;
  BlockId block_;
  std::int32_t line_;
  const std::vector<ValueId>& body_;
  FirstOperand found_;
  bool foldable_ = false;
};

}  // namespace

FirstOperand first_operand(StructureGraph& s, BlockId b, std::int32_t line) {
  return Finder(s, b, line).run();
}

}  // namespace depyf
