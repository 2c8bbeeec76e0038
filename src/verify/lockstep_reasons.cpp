// What the prover says where the two sides part, and whether that is a difference which a caller
// can see.
#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "opcode/op_set.h"
#include "simplify/rules.h"
#include "verify/lockstep_walk.h"
#include "verify/words.h"

namespace depyf::verify_detail {

std::uint32_t Lockstep::offset(Which side) const {
  const SideState& s = sides_[side];
  const LiftedBlock& block = s.lifted->blocks[s.at.block];
  const std::vector<ValueId>& events = s.facts.blocks[s.at.block].events;
  return s.at.index < events.size() ? (*s.lifted)[events[s.at.index]].offset : block.term_offset;
}

void Lockstep::part(std::string text) const {
  Parted parted;
  parted.difference.offset_a = offset(kA);
  parted.difference.offset_b = offset(kB);
  parted.difference.text = std::move(text);
  throw parted;
}

std::string Lockstep::here(Which side) const {
  const SideState& s = sides_[side];
  const Words words(*s.lifted, canon_.module(side));
  const std::vector<ValueId>& events = s.facts.blocks[s.at.block].events;
  return s.at.index < events.size() ? words.event(events[s.at.index])
                                    : words.terminator(s.lifted->blocks[s.at.block]);
}

void Lockstep::part_here(bool distinguishes) const {
  Parted parted;
  parted.difference.offset_a = offset(kA);
  parted.difference.offset_b = offset(kB);
  parted.difference.text = here(kA) + ", but the other " + here(kB);
  parted.difference.distinguishes = distinguishes && every_way_is_taken_ && !decides();
  throw parted;
}

Lockstep::Sight Lockstep::sight(Which side) const {
  const SideState& s = sides_[side];
  const std::vector<ValueId>& events = s.facts.blocks[s.at.block].events;
  for (std::size_t i = s.at.index; i < events.size(); ++i) {
    const Value& value = (*s.lifted)[events[i]];
    if (value.kind != ValueKind::Operation) return {};
    // that a function is made is seen where it is stored or called
    if (value.op == Op::MAKE_FUNCTION || value.op == Op::SET_FUNCTION_ATTRIBUTE) continue;
    return is_seen(side, value) ? Sight{Sight::Operation, &value} : Sight{};
  }
  const TermKind term = s.lifted->blocks[s.at.block].term;
  const bool ends = term == TermKind::Return || term == TermKind::Raise;
  return ends ? Sight{Sight::End} : Sight{};
}

bool Lockstep::is_seen(Which side, const Value& value) const {
  static constexpr OpSet always{Op::LOAD_GLOBAL, Op::STORE_GLOBAL, Op::DELETE_GLOBAL,
                                Op::YIELD_VALUE, Op::IMPORT_NAME,  Op::CALL,
                                Op::LOAD_NAME,   Op::STORE_NAME,   Op::LOAD_BUILD_CLASS};
  static constexpr OpSet of_objects{Op::LOAD_ATTR,     Op::LOAD_METHOD, Op::STORE_ATTR,
                                    Op::DELETE_ATTR,   Op::LOAD_SUBSCR, Op::STORE_SUBSCR,
                                    Op::DELETE_SUBSCR, Op::UNARY,       Op::BINARY,
                                    Op::INPLACE,       Op::COMPARE,     Op::GET_ITER};
  if (always[value.op]) return true;
  if (!of_objects[value.op]) return false;
  Origins origins;
  return std::ranges::any_of(value.operands,
                             [&](ValueId id) { return is_programs(side, id, origins); });
}

bool Lockstep::is_programs(Which side, ValueId id, Origins& origins) const {
  if (!id.valid() || --origins.left < 0) return false;
  const Lifted& lifted = *sides_[side].lifted;
  const Value& value = lifted[id];
  const auto any_operand = [&] {
    return std::ranges::any_of(value.operands,
                               [&](ValueId of) { return is_programs(side, of, origins); });
  };
  if (value.kind == ValueKind::Result) return any_operand();
  if (value.kind != ValueKind::Operation) return false;
  static constexpr OpSet from_outside{Op::LOAD_GLOBAL, Op::LOAD_NAME,   Op::CALL,
                                      Op::CALL_KW,     Op::CALL_EX,     Op::YIELD_VALUE,
                                      Op::IMPORT_NAME, Op::IMPORT_FROM, Op::LOAD_CLASSDEREF};
  static constexpr OpSet of_operands{Op::LOAD_ATTR, Op::LOAD_METHOD, Op::LOAD_SUBSCR, Op::BINARY,
                                     Op::INPLACE,   Op::COMPARE,     Op::GET_ITER};
  if (from_outside[value.op]) return true;
  if (of_operands[value.op]) return any_operand();
  if (value.op == Op::UNARY)
    return static_cast<UnaryOp>(value.arg) != UnaryOp::Not && any_operand();
  if (value.op != Op::LOAD_FAST) return false;
  if (argument(side, id) != kNone) return true;
  // A local is what each of its stores puts there; a store of the local's own is no other value.
  const auto [known, first] = origins.locals.try_emplace(value.arg, true);
  if (!first) return known->second;
  if (--origins.searches < 0) return known->second = false;
  bool stored = false;
  for (const Value& other : lifted.values) {
    if (other.kind != ValueKind::Operation || other.op != Op::STORE_FAST || other.arg != value.arg)
      continue;
    if (!is_programs(side, other.operands.back(), origins))
      return origins.locals[value.arg] = false;
    stored = true;
  }
  return origins.locals[value.arg] = stored;
}

void Lockstep::LocalConstants::read(const Lifted& lifted) {
  for (const Value& value : lifted.values) {
    if (value.kind != ValueKind::Operation || value.op != Op::STORE_FAST) continue;
    if (value.arg >= stored.size()) stored.resize(value.arg + std::size_t{1});
    const ValueId put = value.operands.back();
    const bool loads = lifted[put].kind == ValueKind::Operation && lifted[put].op == Op::LOAD_CONST;
    Stored& local = stored[value.arg];
    ++local.count;
    local.differ |= !loads || (local.value && lifted[local.value].arg != lifted[put].arg);
    local.value = put;
  }
}

const Const* Lockstep::constant(Which side, ValueId id, const LocalConstants& locals) const {
  const Lifted& lifted = *sides_[side].lifted;
  const Module& module = canon_.module(side);
  if (!id.valid() || lifted[id].kind != ValueKind::Operation) return nullptr;
  const Value& value = lifted[id];
  if (value.op == Op::LOAD_CONST) return &module[ConstId(value.arg)];
  if (value.op != Op::LOAD_FAST || value.arg < module[lifted.code].parameter_count() ||
      value.arg >= locals.stored.size())
    return nullptr;
  const LocalConstants::Stored& local = locals.stored[value.arg];
  return local.value && !local.differ ? &module[ConstId(lifted[local.value].arg)] : nullptr;
}

const Value* Lockstep::made_by(Which side, ValueId id, const LocalConstants& locals) const {
  const Lifted& lifted = *sides_[side].lifted;
  const auto operation = [&](ValueId by) {
    return by.valid() && lifted[by].kind == ValueKind::Operation ? &lifted[by] : nullptr;
  };
  const Value* value = operation(id);
  if (!value || value->op != Op::LOAD_FAST) return value;
  if (value->arg >= locals.stored.size() || locals.stored[value->arg].count != 1) return nullptr;
  return operation(locals.stored[value->arg].value);
}

const Value* Lockstep::display(Which side, ValueId id, const LocalConstants& locals) const {
  static constexpr OpSet displays{Op::BUILD_LIST, Op::BUILD_MAP, Op::BUILD_SET, Op::BUILD_TUPLE};
  const Value* made = made_by(side, id, locals);
  return made && displays[made->op] ? made : nullptr;
}

bool Lockstep::is_own_test(Which side, ValueId id, const LocalConstants& locals) const {
  static constexpr OpSet makes{Op::BUILD_LIST,   Op::BUILD_MAP,     Op::BUILD_SET,
                               Op::BUILD_TUPLE,  Op::MAKE_FUNCTION, Op::SET_FUNCTION_ATTRIBUTE,
                               Op::BUILD_STRING, Op::FORMAT,        Op::BUILD_SLICE};
  if (constant(side, id, locals)) return true;
  const Value* made = made_by(side, id, locals);
  if (!made || made->op != Op::CALL) return made && makes[made->op];
  // A generator expression is a call of its function.
  const Value* called = made_by(side, made->operands[0], locals);
  return called && called->op == Op::MAKE_FUNCTION;
}

bool Lockstep::is_decided_display(Which side, const Value& value, const Value& made) const {
  // Methods that do not raise by what the object holds, if it has them.
  static constexpr std::string_view list[] = {"append", "clear",  "copy",   "count",
                                              "extend", "insert", "reverse"};
  static constexpr std::string_view map[] = {"clear", "copy",       "get",    "items",
                                             "keys",  "setdefault", "update", "values"};
  static constexpr std::string_view set[] = {"add", "clear", "copy", "discard", "union", "update"};
  if (value.op == Op::GET_ITER || value.op == Op::GET_YIELD_FROM_ITER) return made.operands.empty();
  if (value.op == Op::STORE_SUBSCR) return made.op != Op::BUILD_MAP;
  if (value.op == Op::UNPACK_SEQUENCE)
    return made.op == Op::BUILD_MAP || made.operands.size() != value.arg;
  if (value.op != Op::LOAD_ATTR && value.op != Op::LOAD_METHOD) return true;
  const std::span<const std::string_view> methods =
      made.op == Op::BUILD_LIST  ? std::span<const std::string_view>(list)
      : made.op == Op::BUILD_MAP ? std::span<const std::string_view>(map)
      : made.op == Op::BUILD_SET ? std::span<const std::string_view>(set)
                                 : std::span<const std::string_view>();
  return std::ranges::find(methods, canon_.module(side)[StrId(value.arg)]) == methods.end();
}

bool Lockstep::is_own(Which side, ValueId id, Origins& origins) const {
  static constexpr OpSet computes{Op::UNARY, Op::BINARY, Op::INPLACE};
  if (!id.valid() || --origins.left < 0) return true;
  const Value& value = (*sides_[side].lifted)[id];
  if (value.kind != ValueKind::Operation) return false;
  if (value.op == Op::LOAD_CONST) return true;
  if (value.op == Op::LOAD_FAST)
    return argument(side, id) == kNone && !is_programs(side, id, origins);
  return computes[value.op] &&
         std::ranges::all_of(value.operands, [&](ValueId of) { return is_own(side, of, origins); });
}

bool Lockstep::may_be_decided(Which side, const Value& value, Origins& origins,
                              const LocalConstants& locals) const {
  static constexpr OpSet computes{Op::BINARY, Op::INPLACE, Op::UNARY, Op::LOAD_SUBSCR,
                                  Op::DELETE_SUBSCR};
  static constexpr OpSet of_first{Op::LOAD_ATTR,        Op::LOAD_METHOD,
                                  Op::DELETE_ATTR,      Op::CALL,
                                  Op::CALL_KW,          Op::CALL_EX,
                                  Op::WITH_ENTER,       Op::GET_AWAITABLE,
                                  Op::ASYNC_WITH_ENTER, Op::GET_AITER,
                                  Op::GET_ITER,         Op::UNPACK_SEQUENCE,
                                  Op::UNPACK_EX,        Op::GET_YIELD_FROM_ITER};
  static constexpr OpSet formats{Op::FORMAT, Op::CONVERT};
  static constexpr OpSet extends{Op::LIST_EXTEND, Op::SET_UPDATE, Op::DICT_UPDATE, Op::DICT_MERGE};
  if (value.kind != ValueKind::Operation) return false;
  if (value.op == Op::DELETE_FAST) return true;
  if (value.operands.empty()) return false;
  const auto is_unhashable = [&](ValueId of) {
    const Value* made = display(side, of, locals);
    return made && made->op != Op::BUILD_TUPLE;
  };
  if (formats[value.op]) return is_own_test(side, value.operands[0], locals);
  if (extends[value.op] || value.op == Op::CALL_EX)
    if (std::ranges::any_of(value.operands, [&](ValueId of) {
          const Const* object = constant(side, of, locals);
          return object && object->kind != ConstKind::Tuple && object->kind != ConstKind::Str;
        }))
      return true;
  if (value.op == Op::BUILD_SET) return std::ranges::any_of(value.operands, is_unhashable);
  if (value.op == Op::BUILD_MAP) {
    for (std::size_t i = 0; i < value.operands.size(); i += 2)
      if (is_unhashable(value.operands[i])) return true;
    return false;
  }
  const auto every = [&](auto&& is) { return std::ranges::all_of(value.operands, is); };
  if (value.op == Op::COMPARE) return every([&](ValueId of) { return is_own(side, of, origins); });
  if (computes[value.op])
    return every([&](ValueId of) {
      return constant(side, of, locals) != nullptr || display(side, of, locals) != nullptr;
    });
  const bool stores = value.op == Op::STORE_ATTR || value.op == Op::STORE_SUBSCR;
  if (!of_first[value.op] && !stores) return false;
  const ValueId of = value.operands[stores ? 1 : 0];
  if (const Value* made = display(side, of, locals)) return is_decided_display(side, value, *made);
  const Const* object = constant(side, of, locals);
  if (!object) return false;
  const bool text = object->kind == ConstKind::Str || object->kind == ConstKind::Bytes;
  const bool items = object->kind == ConstKind::Tuple || object->kind == ConstKind::FrozenSet;
  if (value.op == Op::LOAD_ATTR || value.op == Op::LOAD_METHOD) return !text;
  if (value.op == Op::GET_ITER)
    return !(text && !object->text.empty()) && !(items && !object->items.empty());
  return value.op != Op::UNPACK_SEQUENCE || !items || object->items.size() != value.arg;
}

bool Lockstep::decides() const {
  for (Which side : {kA, kB}) {
    const Lifted& lifted = *sides_[side].lifted;
    const std::uint32_t here = sides_[side].at.block;
    const simplifying::Order order(lifted);
    std::vector<bool> leads(lifted.blocks.size(), false);  // to the place, by one edge or more
    std::vector<std::uint32_t> work{here};
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      work.pop_back();
      for (const auto& edge : order.into(at)) {
        if (leads[edge.from]) continue;
        leads[edge.from] = true;
        work.push_back(edge.from);
      }
    }
    LocalConstants locals;
    locals.read(lifted);
    Origins origins;
    const std::uint32_t place = offset(side);
    for (std::uint32_t b = 0; b < lifted.blocks.size(); ++b) {
      if (!leads[b] && b != here) continue;
      const LiftedBlock& block = lifted.blocks[b];
      for (ValueId id : block.body) {
        if (!leads[b] && lifted[id].offset >= place) continue;
        origins.left = 200;
        if (may_be_decided(side, lifted[id], origins, locals)) return true;
      }
      if (leads[b] && block.term == TermKind::Branch && is_own_test(side, block.value, locals))
        return true;
    }
  }
  return false;
}

bool Lockstep::different_sight() const {
  const Sight a = sight(kA), b = sight(kB);
  if (a.kind == Sight::Nothing || b.kind == Sight::Nothing) return false;
  if (a.kind != b.kind) return true;
  if (a.kind == Sight::End)
    return sides_[kA].lifted->blocks[sides_[kA].at.block].term !=
           sides_[kB].lifted->blocks[sides_[kB].at.block].term;
  const Value &x = *a.value, &y = *b.value;
  if (x.op != y.op) {
    const auto attribute = [](Op op) { return op == Op::LOAD_ATTR || op == Op::LOAD_METHOD; };
    return !(attribute(x.op) && attribute(y.op)) || !same_name(x, y);
  }
  if (arg_kind(x.op) == ArgKind::Str) return !same_name(x, y);
  return x.op == Op::CALL ? x.operands.size() != y.operands.size() : x.arg != y.arg;
}

bool Lockstep::is_told_by_value(const Token& token) const {
  if (token.kind != TokenKind::Constant) return false;
  std::vector<std::uint32_t> left{token.a};
  std::unordered_set<std::uint32_t> seen;  // tuples share what they hold
  while (!left.empty()) {
    const std::uint32_t number = left.back();
    left.pop_back();
    const Literal& l = canon_[number];
    if (l.nan || l.kind == ConstKind::Object || l.kind == ConstKind::FrozenSet ||
        l.kind == ConstKind::Code || left.size() > 1000)
      return false;
    if (l.kind != ConstKind::Tuple || !seen.insert(number).second) continue;
    const auto items = canon_.items(number);
    left.insert(left.end(), items.begin(), items.end());
  }
  return true;
}

bool Lockstep::is_defined(Which side, const Value& made) const {
  const SideState& s = sides_[side];
  const std::vector<ValueId>& events = s.facts.blocks[s.at.block].events;
  if (made.op != Op::MAKE_FUNCTION || s.at.index + 1 >= events.size()) return false;
  const Value& store = (*s.lifted)[events[s.at.index + 1]];
  return store.kind == ValueKind::Operation && store.op == Op::STORE_NAME &&
         store.operands.back() == events[s.at.index];
}

std::uint32_t Lockstep::argument(Which side, ValueId id) const {
  const Lifted& lifted = *sides_[side].lifted;
  const Value& value = lifted[id];
  const CodeObject& code = canon_.module(side)[lifted.code];
  if (value.kind != ValueKind::Operation || value.op != Op::LOAD_FAST ||
      value.arg >= code.argcount + code.kwonlyargcount)
    return kNone;
  for (const Value& other : lifted.values)
    if (other.kind == ValueKind::Operation && other.arg == value.arg &&
        (other.op == Op::STORE_FAST || other.op == Op::DELETE_FAST ||
         other.op == Op::LOAD_FAST_AND_CLEAR))
      return kNone;
  return value.arg;
}

bool Lockstep::different_values(Known x, Known y) {
  const std::uint32_t a = argument(kA, x.value), b = argument(kB, y.value);
  if (a != kNone && b != kNone) return a != b;
  const Token &p = tokens_[x.token], &q = tokens_[y.token];
  if (a != kNone || b != kNone) return is_told_by_value(a != kNone ? q : p);
  return different_constants(p, q) || different_entries(p, q);
}

bool Lockstep::different_constants(const Token& p, const Token& q) const {
  return is_told_by_value(p) && is_told_by_value(q) && p.a != q.a;
}

bool Lockstep::different_entries(const Token& p, const Token& q) {
  if (p.kind != TokenKind::Object || q.kind != TokenKind::Object || p.op != q.op ||
      p.items_count != q.items_count)
    return false;
  if (p.op == Op::BUILD_TUPLE) return different_items(p, q);
  if (p.op != Op::BUILD_MAP) return false;
  // of keys that are equal, such as 1 and True, the last value stays: names alone are told apart
  std::unordered_set<TokenId> names;
  bool differ = false;
  for (std::uint32_t i = 0; i < p.items_count; i += 2) {
    const TokenId name = tokens_.item(p, i);
    const Literal* key = literal(name);
    const bool named = key && key->kind == ConstKind::Str;
    if (!named || name != tokens_.item(q, i) || !names.insert(name).second) return false;
    const Token &x = tokens_[tokens_.item(p, i + 1)], &y = tokens_[tokens_.item(q, i + 1)];
    differ |= different_constants(x, y) || different_items(x, y);
  }
  return differ;
}

bool Lockstep::different_items(const Token& p, const Token& q) {
  // Tuples in tuples keep the items that they were built of, also where same() has paired them.
  const auto tuple = [](const Token& token) {
    return token.kind == TokenKind::Object && token.op == Op::BUILD_TUPLE;
  };
  std::vector<std::pair<const Token*, const Token*>> work{{&p, &q}};
  while (!work.empty()) {
    const auto [x, y] = work.back();
    work.pop_back();
    if (different_constants(*x, *y)) return true;
    if (!tuple(*x) || !tuple(*y)) continue;
    if (x->items_count != y->items_count) return true;
    for (std::uint32_t i = 0; i < x->items_count; ++i)
      work.emplace_back(&tokens_[tokens_.item(*x, i)], &tokens_[tokens_.item(*y, i)]);
    spend(x->items_count);
  }
  return false;
}

}  // namespace depyf::verify_detail
