// What a walk of the prover knows of values: tokens, operations without effects, and which values
// of the two sides correspond.
#include <algorithm>

#include "opcode/arithmetic.h"
#include "opcode/op_set.h"
#include "simplify/simplify.h"
#include "verify/lockstep_walk.h"

namespace depyf::verify_detail {

TokenId Lockstep::constant(std::uint32_t number) {
  const Literal& literal = canon_[number];
  if (literal.kind == ConstKind::Code)
    return tokens_.consed(TokenKind::Code, Op::LOAD_CONST, literal.code.index, 0, {}, literal.side);
  return tokens_.consed(TokenKind::Constant, Op::LOAD_CONST, number, 0, {});
}

TokenId& Lockstep::local(std::uint32_t name) {
  if (name >= local_.size()) {
    local_.resize(name + 1, kNoToken);
    local_epoch_.resize(name + 1, 0);
  }
  if (local_epoch_[name] != walk_) {
    local_epoch_[name] = walk_;
    local_[name] = kNoToken;
    local_names_.push_back(name);
  }
  return local_[name];
}

TokenId Lockstep::load_local(std::uint32_t name) {
  TokenId& token = local(name);
  if (token == kNoToken) token = tokens_.leaf();
  return tokens_.find(token);
}

bool Lockstep::set_integer(Which side, ValueId id, std::optional<std::int64_t> result) {
  if (result) set(side, id, constant(canon_.integer(*result)));
  return result.has_value();
}

bool Lockstep::all_constant(std::span<const TokenId> items, bool plain) {
  return std::all_of(items.begin(), items.end(), [&](TokenId item) {
    const Literal* l = literal(item);
    return l && (!plain || l->plain);
  });
}

TokenId Lockstep::fold(ConstKind kind, std::span<const TokenId> items) {
  std::vector<std::uint32_t> numbers;
  for (TokenId item : items) numbers.push_back(tokens_[item].a);
  return constant(kind == ConstKind::Tuple ? canon_.tuple(numbers) : canon_.slice(numbers));
}

int Lockstep::truth(TokenId token) {
  const Literal* l = literal(token);
  if (!l) return -1;
  switch (l->kind) {
    case ConstKind::None:
    case ConstKind::False:
      return 0;
    case ConstKind::True:
    case ConstKind::Ellipsis:
      return 1;
    case ConstKind::Int:
      return l->small ? !l->empty : 1;
    case ConstKind::Str:
    case ConstKind::Bytes:
    case ConstKind::Tuple:
    case ConstKind::FrozenSet:
      return !l->empty;
    case ConstKind::StopIteration:
    case ConstKind::Float:
    case ConstKind::Complex:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::Dict:
    case ConstKind::Slice:
    case ConstKind::Code:
    case ConstKind::Object:
      return -1;
  }
  return -1;
}

bool Lockstep::is_text(Which side, ValueId id, TokenId token) {
  const Value& value = (*sides_[side].lifted)[id];
  if (value.kind == ValueKind::Operation &&
      (value.op == Op::FORMAT || value.op == Op::CONVERT || value.op == Op::BUILD_STRING))
    return true;
  const Literal* l = literal(token);
  return l && l->kind == ConstKind::Str;
}

void Lockstep::flatten(TokenId object, std::vector<TokenId>& items, TokenId& base) {
  items.clear();
  base = kNoToken;
  std::vector<TokenId> chain;
  object = tokens_.find(object);
  while (true) {
    const Token& t = tokens_[object];
    if (t.kind != TokenKind::Object) {
      base = object;
      break;
    }
    chain.push_back(object);
    if (t.op != Op::LIST_APPEND && t.op != Op::LIST_EXTEND) break;
    object = tokens_.find(tokens_.item(t, 0));
  }
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    const Token t = tokens_[*at];
    if (t.op == Op::LIST_EXTEND) {
      for (std::uint32_t number : canon_.items(tokens_[tokens_.item(t, 1)].a))
        items.push_back(constant(number));
    } else {
      for (std::uint32_t i = t.op == Op::LIST_APPEND ? 1 : 0; i < t.items_count; ++i)
        items.push_back(tokens_.find(tokens_.item(t, i)));
    }
  }
  spend(items.size() / 8 + chain.size() / 8);
}

Op Lockstep::object_op(TokenId object) {
  Token t = tokens_[object];
  while (t.kind == TokenKind::Object && (t.op == Op::LIST_APPEND || t.op == Op::LIST_EXTEND)) {
    spend(1);
    t = tokens_[tokens_.find(tokens_.item(t, 0))];
  }
  return t.kind == TokenKind::Object ? t.op : Op::BUILD_LIST;
}

std::vector<TokenId> Lockstep::operands(Which side, const Value& value) {
  std::vector<TokenId> items;
  for (ValueId operand : value.operands) items.push_back(get(side, operand));
  return items;
}

bool Lockstep::evaluate(Which side, ValueId id) {
  const SideState& s = sides_[side];
  const Value& value = (*s.lifted)[id];
  if (value.kind != ValueKind::Operation) return false;
  if (s.facts.values[id.index].transparent) return true;
  if (value.op == Op::POP_TOP) return true;  // kept by lift to tell `except:` from `finally:`
  return evaluate_load(side, id, value) || evaluate_operator(side, id, value) ||
         evaluate_display(side, id, value);
}

bool Lockstep::evaluate_load(Which side, ValueId id, const Value& value) {
  switch (value.op) {
    case Op::LOAD_CONST:
      set(side, id, constant(canon_.constant(side, sides_[side].lifted->code, ConstId(value.arg))));
      return true;
    case Op::LOAD_COMMON:
      set(side, id, tokens_.consed(TokenKind::Nullary, value.op, value.arg, 0, {}));
      return true;
    case Op::LOAD_CLOSURE:
      // What the slot holds. From 3.12 on an inlined comprehension puts another cell there, and
      // the old one back when it ends.
      set(side, id, load_local(local_name(side, value)));
      return true;
    case Op::LOAD_FAST:
      if (!sides_[side].facts.values[id.index].bound) return false;
      set(side, id, load_local(local_name(side, value)));
      return true;
    case Op::LOAD_GLOBAL:
      if (!loaded_globals_stay_ || !installed_by_dynamo(canon_.module(side), StrId(value.arg)))
        return false;
      set(side, id,
          tokens_.consed(TokenKind::Nullary, value.op, canon_.str(side, StrId(value.arg)), 0, {}));
      return true;
    case Op::LOAD_BUILD_CLASS:
    case Op::LOAD_FAST_AND_CLEAR:
    case Op::LOAD_DEREF:
    case Op::LOAD_CLASSDEREF:
    case Op::LOAD_NAME:
    case Op::LOAD_LOCALS:
    case Op::LOAD_FROM_DICT_OR_GLOBALS:
    case Op::LOAD_ATTR:
    case Op::LOAD_METHOD:
    case Op::LOAD_SUPER_ATTR:
    case Op::LOAD_SUBSCR:
    case Op::LOAD_SLICE:
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~(OP_CONSTANTS | OP_LOADS))
#include "opcode/op.def"
      break;
  }
  return false;
}

bool Lockstep::evaluate_operator(Which side, ValueId id, const Value& value) {
  switch (value.op) {
    case Op::IS: {
      const std::vector<TokenId> items = operands(side, value);
      const bool is_not = negates(side, id);
      const Literal *x = literal(items[0]), *y = literal(items[1]);
      const bool fresh_x = tokens_[items[0]].kind == TokenKind::Object,
                 fresh_y = tokens_[items[1]].kind == TokenKind::Object;
      if (is_singleton(x) && is_singleton(y))
        set(side, id, constant(canon_.boolean((items[0] == items[1]) != is_not)));
      else if ((is_singleton(x) && fresh_y) || (is_singleton(y) && fresh_x))
        set(side, id, constant(canon_.boolean(is_not)));
      else if (fresh_x || fresh_y)
        return false;  // an object becomes one with that of the other side only where both meet
      else
        set(side, id, tokens_.consed(TokenKind::Pure, value.op, is_not, 0, items));
      return true;
    }
    case Op::UNARY: {
      const std::vector<TokenId> items = operands(side, value);
      const auto op = static_cast<UnaryOp>(value.arg);
      if (const Literal* x = small_integer(items[0]); x && op != UnaryOp::Not)
        return set_integer(side, id, computed(op, x->integer));
      const int known = op == UnaryOp::Not ? truth(items[0]) : -1;
      if (known < 0) return false;
      set(side, id, constant(canon_.boolean(known == 0)));
      return true;
    }
    case Op::COMPARE: {
      // Comparing small integers runs no code: the dispatch loops of irreducible code depend on
      // it.
      const std::vector<TokenId> items = operands(side, value);
      const Literal *x = small_integer(items[0]), *y = small_integer(items[1]);
      if (!x || !y) return false;
      const std::optional<bool> holds =
          compared(static_cast<CompareOp>(value.arg), x->integer, y->integer);
      if (!holds) return false;
      set(side, id, constant(canon_.boolean(*holds)));
      return true;
    }
    case Op::BINARY: {
      // `(1 if a else 0) + 2`: the compiler folds some copies of the sum, and others not.
      const std::vector<TokenId> items = operands(side, value);
      const Literal *x = small_integer(items[0]), *y = small_integer(items[1]);
      if (!x || !y) return false;
      return set_integer(side, id,
                         computed(static_cast<BinaryOp>(value.arg), x->integer, y->integer));
    }
    case Op::INPLACE:
    case Op::CONTAINS:
    case Op::TO_BOOL:
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~(OP_OPERATORS))
#include "opcode/op.def"
      break;
  }
  return false;
}

/// An empty text adds nothing to the new one that two or more others are joined to. Releases of
/// 3.12 end a nested format with one, or not. Of a single text BUILD_STRING makes the same object,
/// and with an empty one a copy, which is no longer of a subclass: a program can tell the two.
void Lockstep::drop_empty_texts(std::vector<TokenId>& items) {
  const auto is_empty = [&](TokenId item) {
    const Literal* text = literal(item);
    return text && text->kind == ConstKind::Str && text->empty;
  };
  if (std::ranges::count_if(items, std::not_fn(is_empty)) >= 2) std::erase_if(items, is_empty);
}

bool Lockstep::evaluate_display(Which side, ValueId id, const Value& value) {
  static constexpr OpSet pure{Op::BUILD_STRING, Op::BUILD_TUPLE,         Op::BUILD_SLICE,
                              Op::BUILD_LIST,   Op::BUILD_SET,           Op::BUILD_MAP,
                              Op::LIST_APPEND,  Op::BUILD_CONST_KEY_MAP, Op::LIST_EXTEND,
                              Op::LIST_TO_TUPLE};
  const bool grows = value.op == Op::LIST_APPEND || value.op == Op::LIST_EXTEND;
  if (!pure[value.op] || (grows && (value.aux & kInPlace))) return false;
  std::vector<TokenId> items = operands(side, value);
  switch (value.op) {
    case Op::BUILD_STRING:
      for (std::size_t i = 0; i < items.size(); ++i)
        if (!is_text(side, value.operands[i], items[i]))
          return false;  // of anything else it raises
      drop_empty_texts(items);
      set(side, id,
          tokens_.consed(TokenKind::Pure, value.op, static_cast<std::uint32_t>(items.size()), 0,
                         items));
      return true;
    case Op::BUILD_TUPLE:
    case Op::BUILD_SLICE:
      if (value.op == Op::BUILD_SLICE && items.size() == 2)
        items.push_back(constant(canon_.none()));  // slice(a, b) is slice(a, b, None)
      // Immutable: whether it is a constant or built each time is the compiler's choice.
      if (all_constant(items, false))
        set(side, id,
            fold(value.op == Op::BUILD_TUPLE ? ConstKind::Tuple : ConstKind::Slice, items));
      else
        set(side, id, tokens_.object(side, value.op, items));
      return true;
    case Op::BUILD_LIST:
    case Op::LIST_APPEND:
      set(side, id, tokens_.object(side, value.op, items));
      return true;
    case Op::BUILD_SET:
      if (!all_constant(items, true)) return false;
      set(side, id, tokens_.object(side, value.op, items));
      return true;
    case Op::BUILD_MAP: {
      for (std::size_t i = 0; i < items.size(); i += 2)
        if (const Literal* l = literal(items[i]); !l || !l->plain) return false;
      set(side, id, tokens_.object(side, value.op, items));
      return true;
    }
    case Op::BUILD_CONST_KEY_MAP: {
      const Literal* keys = literal(items.back());
      if (!keys || keys->kind != ConstKind::Tuple || !keys->plain ||
          keys->items_count + 1 != items.size())
        return false;
      const std::uint32_t number = tokens_[items.back()].a;
      std::vector<TokenId> pairs;
      for (std::uint32_t i = 0; i + 1 < items.size(); ++i) {
        pairs.push_back(constant(canon_.items(number)[i]));
        pairs.push_back(items[i]);
      }
      set(side, id, tokens_.object(side, Op::BUILD_MAP, pairs));
      return true;
    }
    case Op::LIST_EXTEND: {
      const Literal* more = literal(items[1]);
      if (!more || more->kind != ConstKind::Tuple) return false;
      set(side, id, tokens_.object(side, value.op, items));
      return true;
    }
    case Op::LIST_TO_TUPLE: {
      if (tokens_[items[0]].kind != TokenKind::Object) return false;
      std::vector<TokenId> content;
      TokenId base;
      flatten(items[0], content, base);
      if (base != kNoToken) return false;
      if (all_constant(content, false))
        set(side, id, fold(ConstKind::Tuple, content));
      else
        set(side, id, tokens_.object(side, Op::BUILD_TUPLE, content));
      return true;
    }
    case Op::BUILD_TUPLE_UNPACK:
    case Op::BUILD_LIST_UNPACK:
    case Op::BUILD_SET_UNPACK:
    case Op::BUILD_MAP_UNPACK:
    case Op::SET_ADD:
    case Op::MAP_ADD:
    case Op::SET_UPDATE:
    case Op::DICT_UPDATE:
    case Op::DICT_MERGE:
    case Op::FORMAT:
    case Op::CONVERT:
    case Op::BUILD_INTERPOLATION:
    case Op::BUILD_TEMPLATE:
#define OP(name, ...) case Op::name:
#define OP_GROUPS (OP_ALL & ~(OP_DISPLAYS))
#include "opcode/op.def"
      break;
  }
  return false;
}

bool Lockstep::same(TokenId x, TokenId y, std::vector<TokenId>* log) {
  struct Pairing {
    TokenId a, b;
  };
  std::vector<Pairing> work{{x, y}};
  std::vector<TokenId> items_x, items_y;
  while (!work.empty()) {
    const TokenId a = tokens_.find(work.back().a), b = tokens_.find(work.back().b);
    work.pop_back();
    spend(1);
    if (a == b) continue;
    const Token s = tokens_[a], t = tokens_[b];
    if (s.kind != t.kind) return false;
    switch (s.kind) {
      case TokenKind::Leaf:
      case TokenKind::Nullary:
        return false;
      case TokenKind::Constant:
        if (!canon_.same_constant(s.a, t.a)) return false;
        // They hold NaNs that stand for each other from here on.
        tokens_[b].forward = a;
        ++changes_;
        if (log) log->push_back(b);
        break;
      case TokenKind::Code: {
        if (s.side == t.side) return false;
        const Module &ma = canon_.module(kA), &mb = canon_.module(kB);
        const CodeId ca(s.side == kA ? s.a : t.a), cb(s.side == kA ? t.a : s.a);
        if (ma[ma[ca].name] != mb[mb[cb].name]) return false;
        nested_.many(ca, cb);
        break;  // what the pair is worth is proven in its turn
      }
      case TokenKind::Pure:
        // Same operation on values that became one only after both were computed.
        if (s.op != t.op || s.a != t.a || s.b != t.b || s.items_count != t.items_count)
          return false;
        for (std::uint32_t i = 0; i < s.items_count; ++i)
          work.push_back({tokens_.item(s, i), tokens_.item(t, i)});
        break;
      case TokenKind::Object: {
        if (s.side == t.side || object_op(a) != object_op(b)) return false;
        TokenId base_x, base_y;
        flatten(a, items_x, base_x);
        flatten(b, items_y, base_y);
        if (items_x.size() != items_y.size() || (base_x == kNoToken) != (base_y == kNoToken))
          return false;
        const TokenId both = tokens_.leaf();
        tokens_[a].forward = tokens_[b].forward = both;
        ++changes_;
        if (log) {
          log->push_back(a);
          log->push_back(b);
        }
        if (base_x != kNoToken) work.push_back({base_x, base_y});
        for (std::size_t i = 0; i < items_x.size(); ++i) work.push_back({items_x[i], items_y[i]});
        break;
      }
    }
  }
  return true;
}

bool Lockstep::same_searched(ValueId x, ValueId y) {
  const Token &s = tokens_[get(kA, x)], &t = tokens_[get(kB, y)];
  return s.kind == TokenKind::Constant && t.kind == TokenKind::Constant &&
         canon_.same_collection(s.a, t.a);
}

}  // namespace depyf::verify_detail
