#include "verify/lockstep.h"
#include "verify/lifetimes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <set>

#include "opcode/arithmetic.h"
#include "opcode/op_set.h"
#include "simplify/simplify.h"
#include "verify/side.h"
#include "verify/tokens.h"
#include "verify/words.h"

namespace depyf::verify_detail {

namespace {

/// What is known at a node about the values that are live there, without reference to one walk:
/// classes of equal values.
struct Class {
  TokenKind kind = TokenKind::Leaf;  // Leaf (also for Pure ones, whose structure is not kept),
                                     // Constant, Nullary, Code, Object
  Which side = kA;
  Op op = Op::UNKNOWN;
  std::uint32_t a = 0;
  std::uint32_t items_at = 0,
                items_count = 0;  // Object: classes; the first is what it grew from, or kNone
  bool operator==(const Class&) const = default;
};

struct State {
  std::vector<std::uint32_t> class_of;  // by key: of side A, then of side B
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      locals;  // sorted: (name, class), of names whose value is live elsewhere too
  std::vector<Class> classes;
  std::vector<std::uint32_t> items;
  bool operator==(const State&) const = default;
};

struct Position {
  std::uint32_t block = 0,
                index = 0;  // index into BlockFacts::events; their number: the terminator
  auto operator<=>(const Position&) const = default;
};

struct NodeKey {
  Position at[2];
  auto operator<=>(const NodeKey&) const = default;
};

struct Node {
  NodeKey key;
  std::vector<ValueId> keys[2];  // the live values, by id
  State state;
  bool queued = false;
};

enum class Stop : std::uint8_t { Here, Spin };

constexpr std::uint32_t kSpins =
    UINT32_MAX;  // as Position::index: the side goes round for ever without an effect

/// Raised inside a walk when the two sides part, or when the budget ends.
struct Parted {
  Difference difference;
};

class Lockstep {
 public:
  Lockstep(Canon& canon, const Lifted& a, const Lifted& b, bool compare_names, bool dynamo,
           Pairs& nested, CallPairs* calls)
      : canon_(canon),
        compare_names_(compare_names),
        nested_(nested),
        calls_(calls),
        loaded_globals_stay_(dynamo) {
    sides_[kA].lifted = &a;
    sides_[kB].lifted = &b;
    compares_held_ = !a.held_at_end.empty() && !b.held_at_end.empty();
    if (compares_held_) raises_on_ = only_raises_on(a);
  }

  std::optional<Difference> run() {
    try {
      prepare();
      walk_all();
    } catch (const Parted& parted) {
      return parted.difference;
    }
    return std::nullopt;
  }

 private:
  struct SideState {
    const Lifted* lifted = nullptr;
    Facts facts;
    Position at;
    std::vector<TokenId> env;          // by value
    std::vector<std::uint32_t> epoch;  // env is valid where this is the walk's
    struct Undo {
      ValueId id;
      TokenId token;
      std::uint32_t epoch;
    };
    std::vector<Undo> undo;
  };

  Canon& canon_;
  bool compare_names_;
  Pairs& nested_;
  CallPairs* calls_;
  SideState sides_[2];
  Tokens tokens_;
  std::uint32_t walk_ = 0;
  bool undoing_ = false;
  // No test of one object can come out in one way only, because of an earlier test.
  bool every_way_is_taken_ = true;
  std::vector<bool> raises_on_;  // of the first, see only_raises_on()
  bool compares_held_ = false;   // what the stack holds counts
  bool crossed_ = false;         // a side entered a block that has other ways in
  bool loaded_globals_stay_;  // torch wrote the code, and it binds none of the globals that torch
                              // installs

  std::vector<TokenId> local_;  // by name: token of its present value
  std::vector<std::uint32_t> local_epoch_;
  std::vector<std::uint32_t> local_names_;  // names with a token in this walk

  std::vector<std::pair<std::uint32_t, TokenId>>
      entry_tokens_;  // of the handler being entered: (kind, arg) -> token

  std::map<NodeKey, std::uint32_t> node_ids_;
  std::vector<Node> nodes_;
  std::priority_queue<std::pair<std::uint64_t, std::uint32_t>,
                      std::vector<std::pair<std::uint64_t, std::uint32_t>>, std::greater<>>
      queue_;

  std::size_t budget_ = 0;
  std::uint32_t mark_ = 0;
  std::uint64_t changes_ = 1;  // counts what a handler could see: stores and pairings
  struct HandlerVisit {
    std::uint64_t changes = 0;
    std::span<const ValueId> args[2];
  };
  std::map<std::uint64_t, HandlerVisit>
      handler_seen_;  // (handler A, handler B) -> changes_ and what they were given at the last
                      // visit in this walk

  // ---------------------------------------------------------------- reporting

  std::uint32_t offset(Which side) const {
    const SideState& s = sides_[side];
    const LiftedBlock& block = s.lifted->blocks[s.at.block];
    const std::vector<ValueId>& events = s.facts.blocks[s.at.block].events;
    return s.at.index < events.size() ? (*s.lifted)[events[s.at.index]].offset : block.term_offset;
  }

  [[noreturn]] void part(std::string text) const {
    Parted parted;
    parted.difference.offset_a = offset(kA);
    parted.difference.offset_b = offset(kB);
    parted.difference.text = std::move(text);
    throw parted;
  }

  void spend(std::size_t n) {
    if (budget_ < n) part("not proven: the comparison is larger than its budget");
    budget_ -= n;
  }

  std::string here(Which side) const {
    const SideState& s = sides_[side];
    const Words words(*s.lifted, canon_.module(side));
    const std::vector<ValueId>& events = s.facts.blocks[s.at.block].events;
    return s.at.index < events.size() ? words.event(events[s.at.index])
                                      : words.terminator(s.lifted->blocks[s.at.block]);
  }

  [[noreturn]] void part_here(bool distinguishes = false) const {
    Parted parted;
    parted.difference.offset_a = offset(kA);
    parted.difference.offset_b = offset(kB);
    parted.difference.text = here(kA) + ", but the other " + here(kB);
    parted.difference.distinguishes = distinguishes && every_way_is_taken_;
    throw parted;
  }

  /// What the program sees first from here on one side: an operation, or the end.
  struct Sight {
    enum : std::uint8_t { Nothing, Operation, End } kind = Nothing;
    const Value* value = nullptr;  // of an Operation
  };
  Sight sight(Which side) const {
    const SideState& s = sides_[side];
    const std::vector<ValueId>& events = s.facts.blocks[s.at.block].events;
    for (std::size_t i = s.at.index; i < events.size(); ++i) {
      const Value& value = (*s.lifted)[events[i]];
      if (value.kind != ValueKind::Operation) return {};
      // that a function is made is seen where it is stored or called
      if (value.op == Op::MAKE_FUNCTION || value.op == Op::SET_FUNCTION_ATTRIBUTE) continue;
      return is_seen(value.op) ? Sight{Sight::Operation, &value} : Sight{};
    }
    const TermKind term = s.lifted->blocks[s.at.block].term;
    const bool ends = term == TermKind::Return || term == TermKind::Raise;
    return ends ? Sight{Sight::End} : Sight{};
  }

  /// Operations of which two of different kinds or names do different things. Calls are none: there
  /// are several ways to make the same one.
  static bool is_seen(Op op) {
    return op == Op::LOAD_GLOBAL || op == Op::LOAD_ATTR || op == Op::LOAD_METHOD ||
           op == Op::STORE_ATTR || op == Op::DELETE_ATTR || op == Op::STORE_GLOBAL ||
           op == Op::DELETE_GLOBAL || op == Op::LOAD_SUBSCR || op == Op::STORE_SUBSCR ||
           op == Op::DELETE_SUBSCR || op == Op::UNARY || op == Op::BINARY || op == Op::INPLACE ||
           op == Op::COMPARE || op == Op::GET_ITER || op == Op::YIELD_VALUE ||
           op == Op::IMPORT_NAME || op == Op::CALL || op == Op::LOAD_NAME || op == Op::STORE_NAME ||
           op == Op::LOAD_BUILD_CLASS;
  }

  /// A reason why the two do different things where they stand: another operation, another name,
  /// another constant.
  bool different_sight() const {
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

  /// A constant whose number says by itself what a program sees of it.
  bool is_told_by_value(const Token& token) const {
    if (token.kind != TokenKind::Constant) return false;
    std::vector<std::uint32_t> left{token.a};
    while (!left.empty()) {
      const std::uint32_t number = left.back();
      left.pop_back();
      const Literal& l = canon_[number];
      if (l.nan || l.kind == ConstKind::Object || l.kind == ConstKind::FrozenSet ||
          l.kind == ConstKind::Code || left.size() > 1000)
        return false;
      if (l.kind != ConstKind::Tuple) continue;
      const auto items = canon_.items(number);
      left.insert(left.end(), items.begin(), items.end());
    }
    return true;
  }

  /// Is it a function that a module or class keeps under a name?
  bool is_defined(Which side, const Value& made) const {
    const SideState& s = sides_[side];
    const std::vector<ValueId>& events = s.facts.blocks[s.at.block].events;
    if (made.op != Op::MAKE_FUNCTION || s.at.index + 1 >= events.size()) return false;
    const Value& store = (*s.lifted)[events[s.at.index + 1]];
    return store.kind == ValueKind::Operation && store.op == Op::STORE_NAME &&
           store.operands.back() == events[s.at.index];
  }

  bool same_name(const Value& x, const Value& y) const {
    return canon_.module(kA)[StrId(x.arg)] == canon_.module(kB)[StrId(y.arg)];
  }

  /// The name of the argument that `id` loads, when nothing ever stores into it; kNone otherwise.
  std::uint32_t argument(Which side, ValueId id) const {
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

  /// Two constants of which a program sees that they are two, two arguments, or one of each.
  bool different_values(ValueId x, ValueId y) {
    const std::uint32_t a = argument(kA, x), b = argument(kB, y);
    if (a != kNone && b != kNone) return a != b;
    const Token &p = tokens_[get(kA, x)], &q = tokens_[get(kB, y)];
    if (a != kNone || b != kNone) return is_told_by_value(a != kNone ? q : p);
    return is_told_by_value(p) && is_told_by_value(q) && p.a != q.a;
  }

  // ---------------------------------------------------------------- tokens of values

  void prepare() {
    std::size_t size = 0;
    for (Which side : {kA, kB}) {
      SideState& s = sides_[side];
      size += s.lifted->values.size() + s.lifted->blocks.size();
      for (const std::vector<ValueId>& list : s.lifted->held) size += list.size();
      for (const std::vector<ValueId>& list : s.lifted->held_at_end) size += list.size();
    }
    budget_ = 20000 + 100 * size;
    for (Which side : {kA, kB}) {
      SideState& s = sides_[side];
      s.facts = gather(*s.lifted, canon_.module(side), canon_.bare[side], 10000 + 100 * size);
      if (!s.facts.complete) {
        Parted parted;
        parted.difference.text = "not proven: the code is larger than the budget of the comparison";
        parted.difference.has_offsets = false;
        throw parted;
      }
      for (const Value& value : s.lifted->values)
        every_way_is_taken_ &= value.kind != ValueKind::Operation ||
                               (value.op != Op::IS && value.op != Op::CONTAINS &&
                                value.op != Op::EXC_MATCH && value.op != Op::CHECK_EXC_MATCH);
      s.env.assign(s.lifted->values.size(), kNoToken);
      s.epoch.assign(s.lifted->values.size(), 0);
      for (const Value& value : s.lifted->values)
        if (value.kind == ValueKind::Operation &&
            (value.op == Op::STORE_GLOBAL || value.op == Op::DELETE_GLOBAL) &&
            installed_by_dynamo(canon_.module(side)[StrId(value.arg)]))
          loaded_globals_stay_ = false;
    }
  }

  void begin_walk() {
    tokens_.reset();
    ++walk_;
    local_names_.clear();
    handler_seen_.clear();
    entry_tokens_.clear();
    for (SideState& s : sides_) s.undo.clear();
  }

  void set(Which side, ValueId id, TokenId token) {
    SideState& s = sides_[side];
    if (undoing_) s.undo.push_back({id, s.env[id.index], s.epoch[id.index]});
    s.env[id.index] = token;
    s.epoch[id.index] = walk_;
  }

  TokenId get(Which side, ValueId id) {
    SideState& s = sides_[side];
    if (!id.valid()) return tokens_.leaf();
    if ((*s.lifted)[id].kind == ValueKind::Null)
      return tokens_.consed(TokenKind::Nullary, Op::PUSH_NULL, 0, 0, {});
    if (s.epoch[id.index] != walk_) {
      // Nothing is known about it: equal to nothing.
      s.env[id.index] = tokens_.leaf();
      s.epoch[id.index] = walk_;
    }
    return tokens_.find(s.env[id.index]);
  }

  TokenId constant(std::uint32_t number) {
    const Literal& literal = canon_[number];
    if (literal.kind == ConstKind::Code)
      return tokens_.consed(TokenKind::Code, Op::LOAD_CONST, literal.code.index, 0, {},
                            literal.side);
    return tokens_.consed(TokenKind::Constant, Op::LOAD_CONST, number, 0, {});
  }

  TokenId& local(std::uint32_t name) {
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

  TokenId load_local(std::uint32_t name) {
    TokenId& token = local(name);
    if (token == kNoToken) token = tokens_.leaf();
    return tokens_.find(token);
  }

  std::uint32_t local_name(Which side, const Value& value) {
    return canon_.content(side, sides_[side].lifted->code, value.arg);
  }

  // ---------------------------------------------------------------- pure operations

  const Literal* literal(TokenId token) {
    const Token& t = tokens_[token];
    return t.kind == TokenKind::Constant ? &canon_[t.a] : nullptr;
  }

  const Literal* small_integer(TokenId token) {
    const Literal* l = literal(token);
    return l && l->kind == ConstKind::Int && l->small ? l : nullptr;
  }

  bool set_integer(Which side, ValueId id, std::optional<std::int64_t> result) {
    if (result) set(side, id, constant(canon_.integer(*result)));
    return result.has_value();
  }

  bool all_constant(std::span<const TokenId> items, bool plain) {
    return std::all_of(items.begin(), items.end(), [&](TokenId item) {
      const Literal* l = literal(item);
      return l && (!plain || l->plain);
    });
  }

  TokenId fold(ConstKind kind, std::span<const TokenId> items) {
    std::vector<std::uint32_t> numbers;
    for (TokenId item : items) numbers.push_back(tokens_[item].a);
    return constant(kind == ConstKind::Tuple ? canon_.tuple(numbers) : canon_.slice(numbers));
  }

  /// Truth of a constant, when it is known; -1 else.
  int truth(TokenId token) {
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

  bool is_text(Which side, ValueId id, TokenId token) {
    const Value& value = (*sides_[side].lifted)[id];
    if (value.kind == ValueKind::Operation &&
        (value.op == Op::FORMAT || value.op == Op::CONVERT || value.op == Op::BUILD_STRING))
      return true;
    const Literal* l = literal(token);
    return l && l->kind == ConstKind::Str;
  }

  static bool is_singleton(const Literal* l) {
    return l && (l->kind == ConstKind::None || l->kind == ConstKind::True ||
                 l->kind == ConstKind::False || l->kind == ConstKind::Ellipsis);
  }

  /// The items of a list, tuple … that only the stack knows; `base` is what it grew from, kNoToken
  /// when it was built here.
  void flatten(TokenId object, std::vector<TokenId>& items, TokenId& base) {
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

  /// What the object is when its versions are forgotten.
  Op object_op(TokenId object) {
    Token t = tokens_[object];
    while (t.kind == TokenKind::Object && (t.op == Op::LIST_APPEND || t.op == Op::LIST_EXTEND)) {
      spend(1);
      t = tokens_[tokens_.find(tokens_.item(t, 0))];
    }
    return t.kind == TokenKind::Object ? t.op : Op::BUILD_LIST;
  }

  std::vector<TokenId> operands(Which side, const Value& value) {
    std::vector<TokenId> items;
    for (ValueId operand : value.operands) items.push_back(get(side, operand));
    return items;
  }

  /// Executes `id` when it has no effect and gives its value a token; false when it is an effect,
  /// where both sides must meet.
  bool evaluate(Which side, ValueId id) {
    const SideState& s = sides_[side];
    const Value& value = (*s.lifted)[id];
    if (value.kind != ValueKind::Operation) return false;
    if (s.facts.values[id.index].transparent) return true;
    if (value.op == Op::POP_TOP) return true;  // kept by lift to tell `except:` from `finally:`
    return evaluate_load(side, id, value) || evaluate_operator(side, id, value) ||
           evaluate_display(side, id, value);
  }

  bool evaluate_load(Which side, ValueId id, const Value& value) {
    switch (value.op) {
      case Op::LOAD_CONST:
        set(side, id,
            constant(canon_.constant(side, sides_[side].lifted->code, ConstId(value.arg))));
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
        if (!loaded_globals_stay_ || !installed_by_dynamo(canon_.module(side)[StrId(value.arg)]))
          return false;
        set(side, id,
            tokens_.consed(TokenKind::Nullary, value.op, canon_.str(side, StrId(value.arg)), 0,
                           {}));
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

  /// Of an IS: does its value hold for two objects?
  bool negates(Which side, ValueId id) const {
    const SideState& s = sides_[side];
    return (*s.lifted)[id].arg != 0 && !s.facts.values[id.index].inverted;
  }

  bool evaluate_operator(Which side, ValueId id, const Value& value) {
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

  bool evaluate_display(Which side, ValueId id, const Value& value) {
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
        set(side, id, tokens_.consed(TokenKind::Pure, value.op, value.arg, 0, items));
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

  // ---------------------------------------------------------------- correspondence of values

  struct Pairing {
    TokenId a, b;
  };

  /// Do the two stand for the same value from here on? Objects that nobody else knows are paired
  /// for good when they were built alike. With `log`, forwarded tokens are noted so that the caller
  /// can take them back.
  bool same(TokenId x, TokenId y, std::vector<TokenId>* log = nullptr) {
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

  bool same_values(ValueId x, ValueId y) { return same(get(kA, x), get(kB, y)); }

  /// Constants of which a search, `in`, finds the same.
  bool same_searched(ValueId x, ValueId y) {
    const Token &s = tokens_[get(kA, x)], &t = tokens_[get(kB, y)];
    return s.kind == TokenKind::Constant && t.kind == TokenKind::Constant &&
           canon_.same_collection(s.a, t.a);
  }

  // ---------------------------------------------------------------- going on

  /// Takes edge `which` of the block that `side` stands at the end of.
  void take(Which side, unsigned which) {
    SideState& s = sides_[side];
    const Edge& edge = s.lifted->blocks[s.at.block].edges[which];
    if (!edge.to.valid()) part("not proven: the graph is damaged");
    bind(side, edge.to, edge.args);
    if (s.facts.blocks[edge.to.index].predecessors > 1) crossed_ = true;
    s.at = {edge.to.index, 0};
  }

  /// Parameters get their arguments' tokens, all at once.
  void bind(Which side, BlockId to, std::span<const ValueId> args) {
    const std::vector<ValueId>& params = sides_[side].lifted->blocks[to.index].params;
    std::vector<TokenId> values;
    for (ValueId arg : args) values.push_back(get(side, arg));
    for (std::size_t i = 0; i < params.size(); ++i)
      set(side, params[i], i < values.size() ? values[i] : tokens_.leaf());
    spend(1 + params.size());
  }

  /// To the next effect, or the next terminator that decides something.
  Stop advance(Which side) {
    SideState& s = sides_[side];
    std::size_t jumps = 0;
    while (true) {
      const BlockFacts& facts = s.facts.blocks[s.at.block];
      const LiftedBlock& block = s.lifted->blocks[s.at.block];
      while (s.at.index < facts.events.size()) {
        if (!evaluate(side, facts.events[s.at.index])) return Stop::Here;
        spend(1);
        ++s.at.index;
      }
      unsigned which = 0;
      if (block.term == TermKind::Branch) {
        const int known = truth(get(side, facts.test));
        if (known < 0) return Stop::Here;
        which = (known != 0) != facts.flipped ? 0 : 1;
      } else if (block.term != TermKind::Jump) {
        return Stop::Here;
      }
      // A loop without effects comes back to a block that was passed before the blocks are used up.
      if (++jumps > s.lifted->blocks.size() + 1) return Stop::Spin;
      take(side, which);
    }
  }

  /// Both continue to where they must meet; a node is made there when one of them crossed a merge
  /// or when `always`. True when a node was made.
  bool meet(bool always) {
    if (!always) crossed_ = false;
    const Stop stop_a = advance(kA), stop_b = advance(kB);
    if (stop_a != stop_b)
      part(stop_a == Stop::Spin
               ? "goes round for ever without an effect, but the other " + here(kB)
               : here(kA) + ", but the other goes round for ever without an effect");
    if (stop_a == Stop::Spin) sides_[kA].at.index = sides_[kB].at.index = kSpins;
    if (!always && !crossed_ && stop_a == Stop::Here) return false;
    arrive();
    return true;
  }

  // ---------------------------------------------------------------- effects

  /// Does `op` in a body raise or run anything? Only asked for operations that evaluate() refused.
  bool raises(Which side, ValueId id) const {
    const SideState& s = sides_[side];
    const Value& value = (*s.lifted)[id];
    if (value.kind != ValueKind::Operation) return false;
    if (value.op == Op::DELETE_FAST) return !s.facts.values[id.index].bound;
    return value.op != Op::STORE_FAST && value.op != Op::STORE_DEREF &&
           value.op != Op::MAKE_FUNCTION && value.op != Op::SET_FUNCTION_ATTRIBUTE &&
           value.op != Op::IS && value.op != Op::LOAD_FAST_AND_CLEAR && value.op != Op::POP_EXCEPT;
  }

  /// Do two operations of one kind have the same argument?
  bool same_argument(ValueId va, ValueId vb) {
    const Value &x = (*sides_[kA].lifted)[va], &y = (*sides_[kB].lifted)[vb];
    if (x.op == Op::IS) return negates(kA, va) == negates(kB, vb);
    return canonical_arg(canon_, kA, sides_[kA].lifted->code, x.op, x.arg) ==
           canonical_arg(canon_, kB, sides_[kB].lifted->code, y.op, y.arg);
  }

  void effect() {
    SideState &a = sides_[kA], &b = sides_[kB];
    const ValueId va = a.facts.blocks[a.at.block].events[a.at.index],
                  vb = b.facts.blocks[b.at.block].events[b.at.index];
    const Value &x = (*a.lifted)[va], &y = (*b.lifted)[vb];
    if (x.kind != y.kind) part_here();
    if (x.kind == ValueKind::Previous)
      return;  // PUSH_EXC_INFO: the exception it stacks is the handler's own on both sides
    // A method call and a call of the attribute are the same; lift has made their calls alike.
    const auto plain = [](Op op) { return op == Op::LOAD_METHOD ? Op::LOAD_ATTR : op; };
    const Op op = plain(x.op);
    const bool marked_alike =
        x.aux == y.aux || is_name_store(op);  // of a store, aux says how the source wrote it
    if (op != plain(y.op) || x.operands.size() != y.operands.size() || !marked_alike ||
        !same_argument(va, vb))
      part_here(different_sight());
    for (std::size_t i = 0; i < x.operands.size(); ++i) {
      if (blank_operand(x, y, i)) continue;
      if (op == Op::CONTAINS && i == 1 && same_searched(x.operands[i], y.operands[i])) continue;
      if (!same_values(x.operands[i], y.operands[i])) {
        const bool seen = is_seen(op) || (is_defined(kA, x) && is_defined(kB, y));
        part_here(seen && different_values(x.operands[i], y.operands[i]));
      }
    }
    if (calls_ && (op == Op::CALL || op == Op::CALL_KW || op == Op::CALL_EX))
      calls_->emplace(x.offset, y.offset);
    if (may_free(op)) same_held(held_of(kA, va), held_of(kB, vb));
    if (raises(kA, va) || raises(kB, vb)) handlers();

    const std::uint32_t name = op == Op::LOAD_FAST || op == Op::STORE_FAST ||
                                       op == Op::DELETE_FAST || op == Op::LOAD_FAST_AND_CLEAR
                                   ? local_name(kA, x)
                                   : kNone;
    if (name != kNone && name != local_name(kB, y)) part_here();
    TokenId result = kNoToken;
    if (op == Op::LOAD_FAST || op == Op::LOAD_FAST_AND_CLEAR)
      result = load_local(name);
    else
      result = tokens_.leaf();
    if (op == Op::STORE_FAST)
      local(name) = get(kA, x.operands[0]);
    else if (op == Op::DELETE_FAST || op == Op::LOAD_FAST_AND_CLEAR)
      local(name) = tokens_.leaf();
    if (name != kNone && op != Op::LOAD_FAST) ++changes_;
    set(kA, va, result);
    set(kB, vb, result);
    results(va, vb);
    spend(1 + x.operands.size());
  }

  // ---------------------------------------------------------------- what the stack holds

  static constexpr std::uint32_t kBySide[2] = {1, 2}, kByBoth = 4;

  std::span<const ValueId> held_of(Which side, ValueId id) const {
    const std::vector<std::vector<ValueId>>& held = sides_[side].lifted->held;
    return id.index < held.size() ? std::span<const ValueId>(held[id.index])
                                  : std::span<const ValueId>();
  }

  std::span<const ValueId> held_at_end(Which side) const {
    const std::vector<std::vector<ValueId>>& held = sides_[side].lifted->held_at_end;
    const std::uint32_t block = sides_[side].at.block;
    return block < held.size() ? std::span<const ValueId>(held[block]) : std::span<const ValueId>();
  }

  void mark_held(TokenId id, std::uint32_t by, std::vector<TokenId>& seen) {
    Token& token = tokens_[id];
    if (token.mark != mark_) {
      token.mark = mark_;
      token.mark_class = 0;
      seen.push_back(id);
    }
    token.mark_class |= by;
  }

  /// Do the stacks of both hold the same values here? A value ends when nobody holds it any more,
  /// so where they do at every operation that may run code of the program, every value ends between
  /// the same two. What a tuple, list or map holds that nobody else knows counts in its place:
  /// nobody sees how these end. Constants stay, and so does what a local holds on both sides.
  /// `during`: what is tested here, held until then.
  void same_held(std::span<const ValueId> a, std::span<const ValueId> b, ValueId during_a = {},
                 ValueId during_b = {}) {
    if (!compares_held_) return;
    const std::span<const ValueId> lists[2] = {a, b};
    // The frame ends with the exception: what its stack holds until then does not count, as what
    // the traceback keeps does not.
    const bool goes_away =
        sides_[kA].at.block < raises_on_.size() && raises_on_[sides_[kA].at.block];
    std::vector<TokenId> seen, work, items;
    ++mark_;
    for (std::uint32_t name : local_names_)
      if (local_[name] != kNoToken) mark_held(tokens_.find(local_[name]), kByBoth, seen);
    if (during_a.valid()) mark_held(get(kA, during_a), kByBoth, seen);
    if (during_b.valid()) mark_held(get(kB, during_b), kByBoth, seen);
    for (Which side : {kA, kB})
      for (ValueId id : lists[side]) {
        if (!id.valid() && side == kA && goes_away) continue;
        if (!id.valid()) part("not proven: when a value that the stack held ends");
        const ValueKind kind = (*sides_[side].lifted)[id].kind;
        if (kind == ValueKind::Null || kind == ValueKind::Previous || kind == ValueKind::Lasti ||
            kind == ValueKind::ExceptionType || kind == ValueKind::Traceback || is_bool(side, id))
          continue;
        work.assign(1, get(side, id));
        while (!work.empty()) {
          const TokenId at = tokens_.find(work.back());
          work.pop_back();
          spend(1);
          const TokenKind what = tokens_[at].kind;
          if (what == TokenKind::Leaf) {
            mark_held(at, kBySide[side], seen);
          } else if (what == TokenKind::Object) {
            TokenId base;
            flatten(at, items, base);
            if (base != kNoToken) work.push_back(base);
            work.insert(work.end(), items.begin(), items.end());
          }
        }
      }
    spend(local_names_.size() / 8 + 1);
    for (TokenId id : seen) {
      const std::uint32_t by = tokens_[id].mark_class;
      if (by == kBySide[kA] && goes_away) continue;
      if (by == kBySide[kA] || by == kBySide[kB])
        part(here(kA) + " while the stack of the " +
             (by == kBySide[kA] ? "first holds a value that the second"
                                : "second holds a value that the first") +
             " has let go of");
    }
  }

  /// The several results of one effect.
  void results(ValueId va, ValueId vb) {
    const std::vector<ValueFacts>&fa = sides_[kA].facts.values, &fb = sides_[kB].facts.values;
    std::vector<std::pair<std::uint32_t, TokenId>> tokens;
    for (std::uint32_t i = fa[va.index].results; i != kNone; i = fa[i].next_result) {
      tokens.emplace_back(sides_[kA].lifted->values[i].arg, tokens_.leaf());
      set(kA, ValueId(i), tokens.back().second);
    }
    std::sort(tokens.begin(), tokens.end());
    for (std::uint32_t i = fb[vb.index].results; i != kNone; i = fb[i].next_result) {
      const std::uint32_t arg = sides_[kB].lifted->values[i].arg;
      const auto found =
          std::lower_bound(tokens.begin(), tokens.end(), std::pair<std::uint32_t, TokenId>{arg, 0});
      set(kB, ValueId(i),
          found != tokens.end() && found->first == arg ? found->second : tokens_.leaf());
    }
    spend(tokens.size());
  }

  /// Operands that follow from where the code stands: a class's line number, the qualified name of
  /// a function (3.10 and before).
  bool blank_operand(const Value& x, const Value& y, std::size_t i) {
    const Value &p = (*sides_[kA].lifted)[x.operands[i]], &q = (*sides_[kB].lifted)[y.operands[i]];
    if (p.op != Op::LOAD_CONST || q.op != Op::LOAD_CONST || p.kind != ValueKind::Operation ||
        q.kind != ValueKind::Operation)
      return false;
    const Module &ma = canon_.module(kA), &mb = canon_.module(kB);
    const Const &c = ma[ConstId(p.arg)], &d = mb[ConstId(q.arg)];
    if (x.op == Op::STORE_NAME) {
      const bool lines = c.kind == ConstKind::Int && d.kind == ConstKind::Int &&
                         ma[StrId(x.arg)] == "__firstlineno__";
      canon_.lines_differ |=
          lines && canonical_arg(canon_, kA, sides_[kA].lifted->code, p.op, p.arg) !=
                       canonical_arg(canon_, kB, sides_[kB].lifted->code, q.op, q.arg);
      return lines;
    }
    if (x.op != Op::MAKE_FUNCTION || x.aux != 1 || i + 1 != x.operands.size() || compare_names_)
      return false;
    const auto last = [](std::string_view text) { return text.substr(text.rfind('.') + 1); };
    return c.kind == ConstKind::Str && d.kind == ConstKind::Str && last(c.text) == last(d.text);
  }

  // ---------------------------------------------------------------- handlers

  BlockId handler(Which side) const {
    const SideState& s = sides_[side];
    const LiftedBlock& block = s.lifted->blocks[s.at.block];
    return block.region.valid() ? s.lifted->regions[block.region.index].handler : BlockId::none();
  }

  std::span<const ValueId> handler_args(Which side) const {
    return sides_[side].lifted->blocks[sides_[side].at.block].handler_args;
  }

  /// Where an exception raised here goes on both sides.
  void handlers() {
    const BlockId ha = handler(kA), hb = handler(kB);
    if (ha.valid() != hb.valid())
      part(here(kA) + (ha.valid()
                           ? " under an exception handler, but the other does so outside of it"
                           : " outside of the exception handler that the other has"));
    if (!ha.valid()) return;
    const std::span<const ValueId> args[2] = {handler_args(kA), handler_args(kB)};
    HandlerVisit& seen = handler_seen_[(std::uint64_t{ha.index} << 32) | hb.index];
    if (seen.changes == changes_ && std::ranges::equal(seen.args[kA], args[kA]) &&
        std::ranges::equal(seen.args[kB], args[kB]))
      return;
    seen = {changes_, {args[kA], args[kB]}};
    const bool outer = undoing_;
    const Position back_a = sides_[kA].at, back_b = sides_[kB].at;
    const std::size_t undo_a = sides_[kA].undo.size(), undo_b = sides_[kB].undo.size();
    undoing_ = true;
    entry_tokens_.clear();
    for (Which side : {kA, kB}) {
      SideState& s = sides_[side];
      const BlockId to = side == kA ? ha : hb;
      bind(side, to, args[side]);
      for (ValueId id : s.facts.blocks[to.index].at_entry) {
        const Value& value = (*s.lifted)[id];
        const std::uint32_t what = static_cast<std::uint32_t>(value.kind) * 8 +
                                   (value.kind == ValueKind::Previous ? value.arg : 0);
        auto found = std::find_if(entry_tokens_.begin(), entry_tokens_.end(),
                                  [&](const auto& entry) { return entry.first == what; });
        if (found == entry_tokens_.end())
          found = entry_tokens_.insert(found, {what, tokens_.leaf()});
        set(side, id, found->second);
      }
      s.at = {to.index, 0};
    }
    const bool crossed = crossed_;
    meet(true);
    crossed_ = crossed;
    take_back(kA, undo_a);
    take_back(kB, undo_b);
    sides_[kA].at = back_a;
    sides_[kB].at = back_b;
    undoing_ = outer;
  }

  void take_back(Which side, std::size_t to) {
    SideState& s = sides_[side];
    while (s.undo.size() > to) {
      const auto& entry = s.undo.back();
      s.env[entry.id.index] = entry.token;
      s.epoch[entry.id.index] = entry.epoch;
      s.undo.pop_back();
    }
  }

  // ---------------------------------------------------------------- terminators

  /// The value of a test that is a bool already, so that testing it runs nothing.
  bool is_bool(Which side, ValueId id) {
    const Value& value = (*sides_[side].lifted)[id];
    if (value.kind == ValueKind::Operation)
      return value.op == Op::IS || value.op == Op::CONTAINS || value.op == Op::EXC_MATCH ||
             value.op == Op::TO_BOOL || value.op == Op::MATCH_MAPPING ||
             value.op == Op::MATCH_SEQUENCE ||
             (value.op == Op::UNARY && value.arg == static_cast<std::uint32_t>(UnaryOp::Not)) ||
             (value.op == Op::COMPARE && value.aux == 1);
    return value.kind == ValueKind::Result && value.op == Op::MATCH_CLASS && value.arg == 1;
  }

  /// Goes along edge `ea` of A and `eb` of B, makes the node there, and comes back.
  void along(unsigned ea, unsigned eb, TokenId item = kNoToken) {
    const Position back_a = sides_[kA].at, back_b = sides_[kB].at;
    const std::size_t undo_a = sides_[kA].undo.size(), undo_b = sides_[kB].undo.size();
    undoing_ = true;
    if (item != kNoToken)
      for (Which side : {kA, kB}) {
        const ValueId id = sides_[side].lifted->blocks[sides_[side].at.block].item;
        if (id.valid()) set(side, id, item);
      }
    take(kA, ea);
    take(kB, eb);
    meet(true);
    take_back(kA, undo_a);
    take_back(kB, undo_b);
    sides_[kA].at = back_a;
    sides_[kB].at = back_b;
    undoing_ = false;
  }

  void terminator() {
    const LiftedBlock &x = sides_[kA].lifted->blocks[sides_[kA].at.block],
                      &y = sides_[kB].lifted->blocks[sides_[kB].at.block];
    if (x.term != y.term) part_here(different_sight());
    switch (x.term) {
      case TermKind::Jump:
        return;  // advance() follows these
      case TermKind::Branch: {
        const BlockFacts &fa = sides_[kA].facts.blocks[sides_[kA].at.block],
                         &fb = sides_[kB].facts.blocks[sides_[kB].at.block];
        if (!same_values(fa.test, fb.test)) part_here();
        same_held(held_at_end(kA), held_at_end(kB), fa.test, fb.test);
        if (!is_bool(kA, fa.test) && !is_bool(kB, fb.test)) handlers();
        for (unsigned holds : {0u, 1u})
          along(holds ^ unsigned{fa.flipped}, holds ^ unsigned{fb.flipped});
        return;
      }
      case TermKind::ForIter:
        if (!same_values(x.value, y.value)) part_here();
        same_held(held_at_end(kA), held_at_end(kB));
        handlers();
        along(0, 0, tokens_.leaf());
        along(1, 1);
        return;
      case TermKind::Send:
        if (!same_values(x.value, y.value)) part_here();
        along(0, 0);
        along(1, 1);
        return;
      case TermKind::Return:
        if (!same_values(x.value, y.value)) part_here(different_values(x.value, y.value));
        return;
      case TermKind::Raise:
        if (x.raise_args.size() != y.raise_args.size()) part_here();
        for (std::size_t i = 0; i < x.raise_args.size(); ++i)
          if (!same_values(x.raise_args[i], y.raise_args[i])) part_here();
        same_held(held_at_end(kA), held_at_end(kB));
        handlers();
        return;
      case TermKind::Reraise:
        if (!same_values(x.value, y.value)) part_here();
        handlers();
        return;
      case TermKind::Unreachable:
        return;
    }
  }

  // ---------------------------------------------------------------- nodes

  bool live(const SideState& s, ValueId id) const {
    const ValueFacts& facts = s.facts.values[id.index];
    return facts.last_use == kLiveOut || facts.last_use > s.at.index;
  }

  /// The values of `side` that something after its position reads.
  std::vector<ValueId> live_values(Which side) {
    const SideState& s = sides_[side];
    const BlockFacts& facts = s.facts.blocks[s.at.block];
    std::vector<ValueId> out = facts.live_in;
    const auto add = [&](ValueId id) {
      if (live(s, id)) out.push_back(id);
    };
    for (ValueId id : s.lifted->blocks[s.at.block].params) add(id);
    for (ValueId id : facts.at_entry) add(id);
    const std::size_t passed = std::min<std::size_t>(s.at.index, facts.events.size());
    for (std::size_t i = 0; i < passed; ++i) {
      add(facts.events[i]);
      for (std::uint32_t r = s.facts.values[facts.events[i].index].results; r != kNone;
           r = s.facts.values[r].next_result)
        add(ValueId(r));
    }
    std::sort(out.begin(), out.end());
    spend(1 + out.size() + passed / 4);
    return out;
  }

  /// The present knowledge about the node's keys, in canonical form.
  State extract(const Node& node) {
    State out;
    ++mark_;
    std::vector<TokenId> objects;  // classes whose items are still to be numbered
    const auto class_of = [&](TokenId id) {
      id = tokens_.find(id);
      Token& token = tokens_[id];
      if (token.mark == mark_) return token.mark_class;
      token.mark = mark_;
      token.mark_class = static_cast<std::uint32_t>(out.classes.size());
      Class made;
      made.kind = token.kind == TokenKind::Pure ? TokenKind::Leaf : token.kind;
      if (made.kind != TokenKind::Leaf) {
        made.side = token.side;
        made.op = token.kind == TokenKind::Object ? Op::UNKNOWN : token.op;
        made.a = token.a;
      }
      out.classes.push_back(made);
      if (token.kind == TokenKind::Object) objects.push_back(id);
      return tokens_[id].mark_class;
    };
    for (Which side : {kA, kB})
      for (ValueId id : node.keys[side]) out.class_of.push_back(class_of(get(side, id)));
    std::vector<TokenId> items;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const TokenId object = objects[i];
      TokenId base;
      flatten(object, items, base);
      const std::uint32_t at = tokens_[object].mark_class;
      std::vector<std::uint32_t> classes{base == kNoToken ? kNone : class_of(base)};
      for (TokenId item : items) classes.push_back(class_of(item));
      Class& made = out.classes[at];
      made.op = object_op(object);
      made.items_at = static_cast<std::uint32_t>(out.items.size());
      made.items_count = static_cast<std::uint32_t>(classes.size());
      out.items.insert(out.items.end(), classes.begin(), classes.end());
      spend(classes.size());
    }
    if (!out.classes.empty()) {
      for (std::uint32_t name : local_names_) {
        if (local_[name] == kNoToken) continue;
        const Token& token = tokens_[tokens_.find(local_[name])];
        if (token.mark == mark_) out.locals.emplace_back(name, token.mark_class);
      }
      std::sort(out.locals.begin(), out.locals.end());
      spend(local_names_.size() / 8 + 1);
    }
    return out;
  }

  /// Tokens for the classes of a state.
  std::vector<TokenId> instantiate(const State& state) {
    std::vector<TokenId> out(state.classes.size(), kNoToken);
    // Objects hold each other without cycles, but in any order: first the simple ones, then objects
    // whose items are done.
    std::vector<std::uint32_t> work;
    for (std::uint32_t c = 0; c < state.classes.size(); ++c) work.push_back(c);
    std::reverse(work.begin(), work.end());
    std::vector<TokenId> items;
    while (!work.empty()) {
      const std::uint32_t c = work.back();
      if (out[c] != kNoToken) {
        work.pop_back();
        continue;
      }
      const Class& from = state.classes[c];
      if (from.kind != TokenKind::Object) {
        out[c] = from.kind == TokenKind::Leaf
                     ? tokens_.leaf()
                     : tokens_.consed(from.kind, from.op, from.a, 0, {}, from.side);
        work.pop_back();
        continue;
      }
      bool ready = true;
      for (std::uint32_t i = 0; i < from.items_count; ++i) {
        const std::uint32_t item = state.items[from.items_at + i];
        if (item != kNone && out[item] == kNoToken) {
          ready = false;
          work.push_back(item);
        }
      }
      spend(1 + from.items_count);
      if (!ready) continue;
      work.pop_back();
      items.clear();
      for (std::uint32_t i = 1; i < from.items_count; ++i)
        items.push_back(out[state.items[from.items_at + i]]);
      if (state.items[from.items_at] == kNone) {
        out[c] = tokens_.object(from.side, from.op, items);
      } else {
        // Grown from something that is known to both: the same chain again.
        TokenId grown = out[state.items[from.items_at]];
        if (items.empty())
          grown = tokens_.object(from.side, Op::LIST_APPEND, std::vector<TokenId>{grown});
        for (TokenId item : items)
          grown = tokens_.object(from.side, Op::LIST_APPEND, std::vector<TokenId>{grown, item});
        out[c] = grown;
      }
    }
    return out;
  }

  /// Both sides stand where they must meet: a node, new or known.
  void arrive() {
    const NodeKey key{{sides_[kA].at, sides_[kB].at}};
    const auto [found, fresh] =
        node_ids_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
    const std::uint32_t id = found->second;
    if (fresh) {
      nodes_.emplace_back();
      nodes_[id].key = key;
      for (Which side : {kA, kB}) nodes_[id].keys[side] = live_values(side);
      nodes_[id].state = extract(nodes_[id]);
      enqueue(id);
      return;
    }
    State incoming = extract(nodes_[id]);
    spend(1 + incoming.class_of.size());
    if (incoming == nodes_[id].state) return;
    State joined = join(nodes_[id], incoming);
    if (joined == nodes_[id].state) return;
    nodes_[id].state = std::move(joined);
    enqueue(id);
  }

  void enqueue(std::uint32_t id) {
    Node& node = nodes_[id];
    if (node.queued) return;
    node.queued = true;
    const std::uint64_t a = sides_[kA].facts.blocks[node.key.at[kA].block].number,
                        b = sides_[kB].facts.blocks[node.key.at[kB].block].number;
    queue_.emplace((a << 32) | b, id);
  }

  /// What holds on both ways into the node: values are equal when they are equal on both. An object
  /// that one way has already given away, and that the other way holds alike on both sides, counts
  /// as given away on both.
  State join(const Node& node, const State& incoming) {
    const State& known = node.state;
    const std::vector<TokenId> old_tokens = instantiate(known), new_tokens = instantiate(incoming);
    pair_alike(node, known, old_tokens, incoming, new_tokens);

    using Two = std::pair<TokenId, TokenId>;
    std::set<Two> poisoned;
    while (true) {
      State out;
      std::map<Two, std::uint32_t> ids;
      std::vector<Two> order;
      const auto class_of = [&](TokenId x, TokenId y) {
        const Two two{tokens_.find(x), tokens_.find(y)};
        const auto [found, fresh] =
            ids.try_emplace(two, static_cast<std::uint32_t>(out.classes.size()));
        if (fresh) {
          out.classes.emplace_back();
          order.push_back(two);
        }
        return found->second;
      };
      for (std::size_t i = 0; i < known.class_of.size(); ++i)
        out.class_of.push_back(
            class_of(old_tokens[known.class_of[i]], new_tokens[incoming.class_of[i]]));
      std::map<TokenId, TokenId> partner, partner_back;
      bool conflict = false;
      std::vector<TokenId> items_x, items_y;
      for (std::size_t i = 0; i < order.size(); ++i) {
        const auto [x, y] = order[i];
        const Token s = tokens_[x], t = tokens_[y];
        Class& made = out.classes[i];
        if (s.kind != t.kind || s.kind == TokenKind::Leaf || s.kind == TokenKind::Pure) continue;
        if (s.kind != TokenKind::Object) {
          if (x == y) {
            made.kind = s.kind;
            made.side = s.side;
            made.op = s.op;
            made.a = s.a;
          }
          continue;
        }
        // Distinct objects must stay distinct: one object of one way goes with one object of the
        // other.
        const TokenId px = partner.try_emplace(x, y).first->second,
                      py = partner_back.try_emplace(y, x).first->second;
        if (px != y || py != x) {
          conflict |= poisoned.insert({x, y}).second;
          conflict |= poisoned.insert({x, px}).second;
          conflict |= poisoned.insert({py, y}).second;
          continue;
        }
        if (poisoned.count({x, y}) || s.side != t.side || object_op(x) != object_op(y)) continue;
        TokenId base_x, base_y;
        flatten(x, items_x, base_x);
        flatten(y, items_y, base_y);
        if (items_x.size() != items_y.size() || (base_x == kNoToken) != (base_y == kNoToken))
          continue;
        std::vector<std::uint32_t> classes{base_x == kNoToken ? kNone : class_of(base_x, base_y)};
        for (std::size_t k = 0; k < items_x.size(); ++k)
          classes.push_back(class_of(items_x[k], items_y[k]));
        Class& object = out.classes[i];
        object.kind = TokenKind::Object;
        object.side = s.side;
        object.op = object_op(x);
        object.items_at = static_cast<std::uint32_t>(out.items.size());
        object.items_count = static_cast<std::uint32_t>(classes.size());
        out.items.insert(out.items.end(), classes.begin(), classes.end());
        spend(classes.size());
      }
      spend(4 * order.size());
      if (conflict) continue;
      std::size_t at = 0;
      for (const auto& [name, class_old] : known.locals) {
        while (at < incoming.locals.size() && incoming.locals[at].first < name) ++at;
        if (at == incoming.locals.size() || incoming.locals[at].first != name) continue;
        const Two two{tokens_.find(old_tokens[class_old]),
                      tokens_.find(new_tokens[incoming.locals[at].second])};
        if (const auto found = ids.find(two); found != ids.end())
          out.locals.emplace_back(name, found->second);
      }
      return out;
    }
  }

  /// An object that one way has given away, or that the ways built differently, cannot stay known
  /// at the merge. Where a value of the other side is the same object on each way, the two become
  /// one for good.
  void pair_alike(const Node& node, const State& known, const std::vector<TokenId>& known_tokens,
                  const State& incoming, const std::vector<TokenId>& incoming_tokens) {
    using Two = std::pair<TokenId, TokenId>;
    std::vector<Two> splits[2];
    std::vector<TokenId> items_x, items_y;
    const std::size_t split = node.keys[kA].size();
    for (Which side : {kA, kB}) {
      std::vector<Two> reached;
      std::set<Two> seen;
      const auto reach = [&](TokenId x, TokenId y) {
        const Two two{tokens_.find(x), tokens_.find(y)};
        if (two.first != two.second && seen.insert(two).second) reached.push_back(two);
      };
      for (std::size_t i = side == kA ? 0 : split; i < (side == kA ? split : known.class_of.size());
           ++i)
        reach(known_tokens[known.class_of[i]], incoming_tokens[incoming.class_of[i]]);
      for (std::size_t i = 0; i < reached.size(); ++i) {
        const auto [x, y] = reached[i];
        const bool object_x = tokens_[x].kind == TokenKind::Object,
                   object_y = tokens_[y].kind == TokenKind::Object;
        if (!object_x && !object_y) continue;
        bool alike = object_x && object_y && object_op(x) == object_op(y);
        if (alike) {
          TokenId base_x, base_y;
          flatten(x, items_x, base_x);
          flatten(y, items_y, base_y);
          alike = items_x.size() == items_y.size() && (base_x == kNoToken) == (base_y == kNoToken);
          for (std::size_t k = 0; alike && k < items_x.size(); ++k) reach(items_x[k], items_y[k]);
        }
        if (!alike) splits[side].push_back({x, y});
      }
      spend(1 + reached.size());
    }
    for (const auto& [old_a, new_a] : splits[kA])
      for (const auto& [old_b, new_b] : splits[kB]) {
        std::vector<TokenId> log;
        if (same(old_a, old_b, &log) && same(new_a, new_b, &log)) break;
        for (TokenId id : log) tokens_[id].forward = kNoToken;
      }
  }

  void walk_all() {
    begin_walk();
    for (SideState& s : sides_) s.at = {s.lifted->entry.index, 0};
    meet(true);
    while (!queue_.empty()) {
      const std::uint32_t id = queue_.top().second;
      queue_.pop();
      nodes_[id].queued = false;
      walk(id);
    }
  }

  void walk(std::uint32_t id) {
    begin_walk();
    {
      const Node& node = nodes_[id];
      const std::vector<TokenId> tokens = instantiate(node.state);
      std::size_t key = 0;
      for (Which side : {kA, kB})
        for (ValueId value : node.keys[side]) set(side, value, tokens[node.state.class_of[key++]]);
      for (const auto& [name, cls] : node.state.locals) local(name) = tokens[cls];
      sides_[kA].at = node.key.at[kA];
      sides_[kB].at = node.key.at[kB];
    }
    if (sides_[kA].at.index == kSpins)
      return handlers();  // only an asynchronous exception ends this
    while (true) {
      const bool event_a =
          sides_[kA].at.index < sides_[kA].facts.blocks[sides_[kA].at.block].events.size();
      const bool event_b =
          sides_[kB].at.index < sides_[kB].facts.blocks[sides_[kB].at.block].events.size();
      if (event_a != event_b) part_here(different_sight());
      if (!event_a) {
        terminator();
        return;
      }
      effect();
      ++sides_[kA].at.index;
      ++sides_[kB].at.index;
      if (meet(false)) return;
    }
  }
};

}  // namespace

std::optional<Difference> lockstep_difference(Canon& canon, const Lifted& a, const Lifted& b,
                                              bool compare_names, bool dynamo, Pairs& nested,
                                              CallPairs* calls) {
  return Lockstep(canon, a, b, compare_names, dynamo, nested, calls).run();
}

}  // namespace depyf::verify_detail
