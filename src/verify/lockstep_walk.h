#pragma once
// The walk over both sides at once that lockstep_difference() makes: its state, and what its five
// files share.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verify/lifetimes.h"
#include "verify/lockstep.h"
#include "verify/raw_code.h"
#include "verify/side.h"
#include "verify/tokens.h"

namespace depyf::verify_detail {

/// What is known at a node about the values that are live there, without reference to one walk:
/// classes of equal values.
struct Class {
  // Leaf (also for Pure ones, whose structure is not kept), Constant, Nullary, Code, Object.
  TokenKind kind = TokenKind::Leaf;
  Which side = kA;
  Op op = Op::UNKNOWN;
  std::uint32_t a = 0;
  // Of an Object: classes; the first is what it grew from, or kNone.
  std::uint32_t items_at = 0, items_count = 0;
  bool operator==(const Class&) const = default;
};

struct State {
  std::vector<std::uint32_t> class_of;  // by key: of side A, then of side B
  // Sorted: (name, class), of names whose value is live elsewhere too.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> locals;
  std::vector<Class> classes;
  std::vector<std::uint32_t> items;
  bool operator==(const State&) const = default;
};

struct Position {
  std::uint32_t block = 0;
  std::uint32_t index = 0;  // into BlockFacts::events; their number: the terminator
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
  bool compares_signals = false;
};

/// Where the signals go that one side took on a way, see lockstep_signals.cpp.
struct Signals {
  bool any = false;
  bool mixed = false;  // to several handlers, or to one that the walk cannot enter here
  BlockId handler;     // none: out of the frame
  BlockId block;       // where the last of them was taken
  void take(const Lifted& lifted, BlockId at);
  void add(const Signals& other);
};

/// A way from one node to another without an operation that may raise.
struct QuietWay {
  std::uint32_t to = 0;
  bool matched = true;  // both sides took theirs between the same two effects
  Signals signals[2];
};

/// Spin: round for ever, without an effect.
enum class Stop : std::uint8_t { Here, Spin };

/// As Position::index: the side goes round for ever without an effect.
constexpr std::uint32_t kSpins = UINT32_MAX;

/// Raised inside a walk when the two sides part, or when the budget ends.
struct Parted {
  Difference difference;
};

class Lockstep {
 public:
  /// The arguments are those of lockstep_difference().
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
    watches_signals_ = !a.regions.empty() || !b.regions.empty() || hides_signals();
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
    struct Undo {
      ValueId id;
      TokenId token;
      std::uint32_t epoch;
    };
    const Lifted* lifted = nullptr;
    Facts facts;
    Position at;
    std::vector<TokenId> env;          // by value
    std::vector<std::uint32_t> epoch;  // env is valid where this is the walk's
    std::vector<Undo> undo;
    Signals signals;                   // taken since the last effect
    std::vector<TokenId> signal_args;  // what the handler of the last of them is given
  };
  struct HandlerVisit {
    std::uint64_t changes = 0;
    std::span<const ValueId> args[2];
  };
  using Queued = std::pair<std::uint64_t, std::uint32_t>;  // (numbers of the blocks, node)

  Canon& canon_;
  bool compare_names_;
  Pairs& nested_;
  CallPairs* calls_;
  SideState sides_[2];
  // No test of one object can come out in one way only, because of an earlier test.
  bool every_way_is_taken_ = true;
  std::vector<bool> raises_on_;  // of the first, see only_raises_on()
  bool compares_held_ = false;   // what the stack holds counts
  // torch wrote the code, and it binds none of the globals that torch installs
  bool loaded_globals_stay_;
  std::size_t budget_ = 0;

  bool watches_signals_ = false;  // there are handlers

  // All walks.
  std::map<NodeKey, std::uint32_t> node_ids_;
  std::vector<Node> nodes_;
  std::priority_queue<Queued, std::vector<Queued>, std::greater<>> queue_;
  std::vector<std::vector<QuietWay>> quiet_ways_;  // by node

  // One walk.
  std::uint32_t walk_ = 0;  // its number
  std::uint32_t node_ = 0;  // where it began
  bool quiet_ = true;       // no handlers were compared since
  QuietWay way_;            // what both have done since
  Tokens tokens_;
  std::uint32_t mark_ = 0;
  bool undoing_ = false;        // set() notes what was there before
  bool crossed_ = false;        // a side entered a block that has other ways in
  std::vector<TokenId> local_;  // by name: token of its present value
  std::vector<std::uint32_t> local_epoch_;
  std::vector<std::uint32_t> local_names_;  // names with a token in this walk
  // of the handler being entered: (kind, arg) -> token
  std::vector<std::pair<std::uint32_t, TokenId>> entry_tokens_;
  std::uint64_t changes_ = 1;  // counts what a handler could see: stores and pairings
  // (handler A, handler B) -> changes_ and what they were given at the last visit in this walk
  std::map<std::uint64_t, HandlerVisit> handler_seen_;

  // --- the walk: lockstep.cpp

  void prepare();
  void begin_walk();
  void walk_all();
  void walk(std::uint32_t id);

  // --- moving on: lockstep.cpp

  /// Takes edge `which` of the block that `side` stands at the end of.
  void take(Which side, unsigned which);

  std::vector<TokenId> tokens_of(Which side, std::span<const ValueId> values);

  /// The parameters of a block get their values, all at once.
  void bind(Which side, BlockId to, const std::vector<TokenId>& values);

  /// Along the edge of a jump, or of a branch on what is known; false at other terminators.
  bool take_known(Which side);

  /// To the next effect, or the next terminator that decides something.
  Stop advance(Which side);

  /// Both continue to where they must meet; a node is made there when one of them crossed a merge
  /// or when `always`. True when a node was made.
  bool meet(bool always);

  // --- effects: lockstep.cpp

  /// Does `op` in a body raise or run anything? Only asked for operations that evaluate() refused.
  bool raises(Which side, ValueId id) const;

  /// Do two operations of one kind have the same argument?
  bool same_argument(ValueId va, ValueId vb);

  void effect();

  /// The several results of one effect.
  void results(ValueId va, ValueId vb);

  /// Operands that follow from where the code stands: a class's line number, the qualified name of
  /// a function (3.10 and before).
  bool blank_operand(const Value& x, const Value& y, std::size_t i);

  // --- what the stack holds: lockstep.cpp

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

  void mark_held(TokenId id, std::uint32_t by, std::vector<TokenId>& seen);
  bool ends_unnoticed(Which side, TokenId id);
  bool is_own_cell(Which side, const Value& value);

  /// Do the stacks of both hold the same values here? A value ends when nobody holds it any more,
  /// so where they do at every operation that may run code of the program, every value ends between
  /// the same two. What a tuple, list or map holds that nobody else knows counts in its place:
  /// nobody sees how these end. Constants stay, and so does what a local holds on both sides.
  /// `during`: what is tested here, held until then.
  void same_held(std::span<const ValueId> a, std::span<const ValueId> b, ValueId during_a = {},
                 ValueId during_b = {});

  // --- handlers: lockstep.cpp

  BlockId handler(Which side) const {
    const SideState& s = sides_[side];
    const LiftedBlock& block = s.lifted->blocks[s.at.block];
    return block.region.valid() ? s.lifted->regions[block.region.index].handler : BlockId::none();
  }

  std::span<const ValueId> handler_args(Which side) const {
    return sides_[side].lifted->blocks[sides_[side].at.block].handler_args;
  }

  /// Where an exception raised here goes on both sides.
  void handlers();

  /// Both sides go into these handlers, which get these values, and come back.
  void enter_handlers(BlockId a, BlockId b, const std::vector<TokenId> (&args)[2]);

  /// Runs `go`, which moves both sides, and puts back what it has moved and set.
  void there_and_back(const std::function<void()>& go);
  void take_back(Which side, std::size_t to);

  // --- signals: lockstep_signals.cpp

  /// Such a region may get a signal, and the graph does not have it.
  bool hides_signals() const {
    return sides_[kA].lifted->hides_signals || sides_[kB].lifted->hides_signals;
  }

  /// `side` leaves its block.
  void note_signals(Which side);

  /// Both have gone on to their next effect.
  void meet_signals();

  /// The way that ends at node `to` is quiet.
  void note_quiet_way(std::uint32_t to);

  /// The side goes round for ever: what of its signals, and the block where it stands for that.
  void signals_of_spin(Which side);
  void meet_spins();
  void walk_spins();

  /// Marks the nodes from where signals have to be compared, once all is walked; false when all
  /// are marked. Parts where the signals of a loop go to different handlers.
  bool mark_quiet_loops();
  bool mark_quiet_loop(const std::vector<std::uint32_t>& nodes,
                       const std::vector<std::uint32_t>& loop_of);

  // --- terminators: lockstep.cpp

  /// The value of a test that is a bool already, so that testing it runs nothing.
  bool is_bool(Which side, ValueId id);

  /// Goes along edge `ea` of A and `eb` of B, makes the node there, and comes back.
  void along(unsigned ea, unsigned eb, TokenId item = kNoToken);

  void terminator();

  // --- tokens of values: lockstep_values.cpp

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

  TokenId constant(std::uint32_t number);
  TokenId& local(std::uint32_t name);
  TokenId load_local(std::uint32_t name);
  std::uint32_t local_name(Which side, const Value& value) {
    return canon_.content(side, sides_[side].lifted->code, value.arg);
  }

  /// Of a LOAD_FAST_AND_CLEAR: does the cell of the free variable change, too?
  static bool puts_free_cell(const Value& value) {
    return value.aux == static_cast<std::uint32_t>(OwnCell::Free);
  }

  // --- pure operations: lockstep_values.cpp

  const Literal* literal(TokenId token) {
    const Token& t = tokens_[token];
    return t.kind == TokenKind::Constant ? &canon_[t.a] : nullptr;
  }

  bool holds_nan(TokenId token) {
    const Literal* l = literal(token);
    return l && l->nan;
  }

  const Literal* small_integer(TokenId token) {
    const Literal* l = literal(token);
    return l && l->kind == ConstKind::Int && l->small ? l : nullptr;
  }

  bool set_integer(Which side, ValueId id, std::optional<std::int64_t> result);
  bool all_constant(std::span<const TokenId> items, bool plain);
  TokenId fold(ConstKind kind, std::span<const TokenId> items);

  /// Truth of a constant, when it is known; -1 else.
  int truth(TokenId token);

  bool is_text(Which side, ValueId id, TokenId token);
  static bool is_singleton(const Literal* l) {
    return l && (l->kind == ConstKind::None || l->kind == ConstKind::True ||
                 l->kind == ConstKind::False || l->kind == ConstKind::Ellipsis);
  }

  /// The items of a list, tuple … that only the stack knows; `base` is what it grew from, kNoToken
  /// when it was built here.
  void flatten(TokenId object, std::vector<TokenId>& items, TokenId& base);

  /// What the object is when its versions are forgotten.
  Op object_op(TokenId object);

  std::vector<TokenId> operands(Which side, const Value& value);

  /// Executes `id` when it has no effect and gives its value a token; false when it is an effect,
  /// where both sides must meet.
  bool evaluate(Which side, ValueId id);

  bool evaluate_load(Which side, ValueId id, const Value& value);

  /// Of an IS: does its value hold for two objects?
  bool negates(Which side, ValueId id) const {
    const SideState& s = sides_[side];
    return (*s.lifted)[id].arg != 0 && !s.facts.values[id.index].inverted;
  }

  bool evaluate_operator(Which side, ValueId id, const Value& value);
  bool evaluate_display(Which side, ValueId id, const Value& value);
  void drop_empty_texts(std::vector<TokenId>& items);

  // --- correspondence of values: lockstep_values.cpp

  /// Do the two stand for the same value from here on? Objects that nobody else knows are paired
  /// for good when they were built alike. With `log`, forwarded tokens are noted so that the caller
  /// can take them back.
  bool same(TokenId x, TokenId y, std::vector<TokenId>* log = nullptr);

  bool same_values(ValueId x, ValueId y) { return same(get(kA, x), get(kB, y)); }

  /// Constants of which a search, `in`, finds the same.
  bool same_searched(ValueId x, ValueId y);

  // --- nodes: lockstep_nodes.cpp

  bool live(const SideState& s, ValueId id) const {
    const ValueFacts& facts = s.facts.values[id.index];
    return facts.last_use == kLiveOut || facts.last_use > s.at.index;
  }

  /// The values of `side` that something after its position reads.
  std::vector<ValueId> live_values(Which side);
  std::vector<TokenId> live_tokens(Which side) { return tokens_of(side, live_values(side)); }

  /// The present knowledge about the node's keys, in canonical form.
  State extract(const Node& node);

  /// Tokens for the classes of a state.
  std::vector<TokenId> instantiate(const State& state);

  /// Both sides stand where they must meet: a node, new or known.
  void arrive();

  void enqueue(std::uint32_t id);

  /// What holds on both ways into the node: values are equal when they are equal on both. An object
  /// that one way has already given away, and that the other way holds alike on both sides, counts
  /// as given away on both.
  State join(const Node& node, const State& incoming);

  /// An object that one way has given away, or that the ways built differently, cannot stay known
  /// at the merge. Where a value of the other side is the same object on each way, the two become
  /// one for good.
  void pair_alike(const Node& node, const State& known, const std::vector<TokenId>& known_tokens,
                  const State& incoming, const std::vector<TokenId>& incoming_tokens);

  // --- where the sides part: lockstep_reasons.cpp

  std::uint32_t offset(Which side) const;
  [[noreturn]] void part(std::string text) const;
  void spend(std::size_t n) {
    if (budget_ < n) part("not proven: the comparison is larger than its budget");
    budget_ -= n;
  }

  std::string here(Which side) const;
  [[noreturn]] void part_here(bool distinguishes = false) const;

  /// What the program sees first from here on one side: an operation, or the end.
  struct Sight {
    enum : std::uint8_t { Nothing, Operation, End } kind = Nothing;
    const Value* value = nullptr;  // of an Operation
  };

  Sight sight(Which side) const;

  /// Operations of which two of different kinds or names do different things, as they ask an object
  /// of the program. Calls of different functions are none: there are several ways to make the same
  /// one.
  bool is_seen(Which side, const Value& value) const;

  /// What is_programs() has found of locals, how many more values it looks at, and for how many
  /// more locals it looks for all that is stored to them.
  struct Origins {
    std::unordered_map<std::uint32_t, bool> locals;
    int left = 200;
    int searches = 1000;
  };

  /// Does the value come from outside of this code, so that its class may be the program's? Of a
  /// constant, or what is computed of constants, other operations may give the same.
  bool is_programs(Which side, ValueId id, Origins& origins) const;

  /// What the stores of a function put into its locals.
  struct LocalConstants {
    struct Stored {
      ValueId value;        // of the last store
      bool differ = false;  // the stores do not put one constant
      std::uint32_t count = 0;
    };
    std::vector<Stored> stored;  // by the number of the local
    void read(const Lifted& lifted);
  };
  /// The constant that a value is: one that is loaded, or what all stores put into a local. None
  /// where it is no constant or where the stores differ.
  const Const* constant(Which side, ValueId id, const LocalConstants& locals) const;

  /// The operation that makes a value, also where one store puts it into a local; or null.
  const Value* made_by(Which side, ValueId id, const LocalConstants& locals) const;

  /// The same where it makes a list, tuple, dict or set.
  const Value* display(Which side, ValueId id, const LocalConstants& locals) const;

  /// Is what the code makes itself tested, which may be true or false always?
  bool is_own_test(Which side, ValueId id, const LocalConstants& locals) const;

  /// May an operation on what `made` makes come out in one way only?
  bool is_decided_display(Which side, const Value& value, const Value& made) const;

  /// Is it computed of constants alone, by operators and through locals?
  bool is_own(Which side, ValueId id, Origins& origins) const;

  /// May an operation come out in one way only, whatever the program is: with an error, or with one
  /// answer to a test? Of what is no object of the program, as `1` in `for i in 1`.
  bool may_be_decided(Which side, const Value& value, Origins& origins,
                      const LocalConstants& locals) const;

  /// Does either side have such an operation or test on a way to where the two part? Nothing says
  /// then that the place is ever reached.
  bool decides() const;

  /// A reason why the two do different things where they stand: another operation, another name,
  /// another constant.
  bool different_sight() const;

  /// A constant whose number says by itself what a program sees of it.
  bool is_told_by_value(const Token& token) const;

  /// Is it a function that a module or class keeps under a name?
  bool is_defined(Which side, const Value& made) const;

  bool same_name(const Value& x, const Value& y) const {
    return canon_.module(kA)[StrId(x.arg)] == canon_.module(kB)[StrId(y.arg)];
  }

  /// The name of the argument that `id` loads, when nothing ever stores into it; kNone otherwise.
  std::uint32_t argument(Which side, ValueId id) const;

  /// A value, with its token as it was before same() may have paired what the value is made of.
  struct Known {
    ValueId value;
    TokenId token;
  };
  Known known(Which side, ValueId id) { return {id, get(side, id)}; }

  /// Two constants of which a program sees that they are two, two arguments, one of each, or two
  /// displays with such items.
  bool different_values(Known x, Known y);
  bool different_constants(const Token& p, const Token& q) const;

  /// Two tuples, or dictionaries of the same names, where a program sees that an item is another.
  bool different_entries(const Token& p, const Token& q);
  bool different_items(const Token& p, const Token& q);
};

}  // namespace depyf::verify_detail
