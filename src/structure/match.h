#pragma once
// Chains of pattern tests -> one node for each `case`: the class of match*.cpp.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "structure/graph.h"
#include "structure/operations.h"

namespace depyf::match {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr int kMaxDepth = 100;  // of nested patterns
constexpr std::size_t kMaxKids = 4096;
constexpr std::size_t kMaxFailures = 64;  // each looks at a chain of cases again

struct Tree {
  enum Kind : std::uint8_t {
    Leaf,
    And,
    Or,
    Any
  } kind = Leaf;     // Any: what always matches, the last alternative
  BlockId first;     // the block that control enters
  ValueId tested;    // by its first test
  bool own = false;  // that value is computed in the first block: nothing comes before
  std::vector<std::uint32_t> kids;         // And, Or
  std::vector<BlockId> tail;               // blocks after the last test that only take values apart
  Edge yes, no;                            // no.to is none where it always matches
  std::vector<std::vector<ValueId>> args;  // Or: what each alternative hands over
  std::vector<ValueId> outs;               // Or: the values that stand for them
};

/// What the tests of one pattern say of one value.
struct Facts {
  bool sequence = false, mapping = false, used = false;
  ValueId length, unpacked, keys, rest, type;
  bool at_least = false;
  std::vector<ValueId> items;   // LOAD_SUBSCR
  std::vector<ValueId> equals;  // COMPARE
  std::vector<ValueId> is;      // IS
  std::vector<std::uint32_t> alternatives;
};

struct Capture {
  ValueId value, store;
  bool used = false;
};

struct Scope {
  std::map<std::uint32_t, Facts> facts;
  std::vector<Capture>* captures = nullptr;
};

struct Found {
  std::uint32_t tree = kNone;  // kNone: matches always
  BlockId block;
  std::vector<ValueId> stores;  // irrefutable: captures
  ExprId pattern;
  std::size_t prefix = 0;  // operations of the body's first block that belong to the pattern
  std::int32_t line = 0;
};

class Matcher {
 public:
  explicit Matcher(StructureGraph& s) : s_(s) {}
  void run();

 private:
  // ---------------------------------------------------------------- tests
  /// A pattern's own operation, or a value that is compared again in another block.
  bool worth_a_look();
  /// Parameters that nobody reads: they differ by the way taken, and would make equal edges look
  /// different.
  void find_dead_params();
  bool dead(ValueId param) const { return param.index < live_.size() && !live_[param.index]; }
  bool takes_nothing(BlockId b) const {
    const auto& params = s_.nodes[b.index].params;
    return std::all_of(params.begin(), params.end(), [&](ValueId p) { return dead(p); });
  }
  /// Of the blocks that cases lead to.
  void drop_dead_params();
  /// As StructureGraph::resolve; a parameter of a block that one test leads to is what the test
  /// hands over.
  ValueId resolve(ValueId v) {
    for (v = s_.resolve(v); v && v.index < alias_.size() && alias_[v.index];
         v = s_.resolve(alias_[v.index])) {
    }
    return v;
  }
  void alias_params(const Edge& edge);
  BlockId block_of(ValueId v) const {
    const Value& value = s_.at(v);
    return value.kind == ValueKind::Result && !value.operands.empty()
               ? s_.at(value.operands[0]).block
               : value.block;
  }
  const Value& operand(ValueId v, std::size_t i) { return s_.at(resolve(s_.at(v).operands[i])); }
  bool is_none(ValueId v) const { return s_.is_none(v); }
  /// The value that a test is about, and whether the test holds when it is false.
  ValueId tested_by(ValueId test, bool& inverted);
  bool leaf(BlockId b);
  std::uint32_t add(Tree tree) {
    trees_.push_back(std::move(tree));
    return static_cast<std::uint32_t>(trees_.size() - 1);
  }
  bool takes_apart(ValueId v) const;
  bool pattern_op(ValueId v) const;
  Edge past_drops(const Edge& edge);
  bool same_edge(const Edge& a, const Edge& b);
  /// The same place, or copies of one short way out: the same operations of the same lines.
  bool same_place(const Edge& a, const Edge& b);
  bool plain_return(BlockId b) {
    const Node& node = s_.nodes[b.index];
    return node.term == TermKind::Return && s_.is_const(resolve(node.value)) &&
           std::all_of(node.body.begin(), node.body.end(),
                       [&](ValueId v) { return s_.is_const(v); });
  }
  /// Another test that can only be reached through this one.
  std::uint32_t next_tree(BlockId from, const Edge& edge);
  bool fold(BlockId a);
  /// Both ways lead to one place: `0 | _`, `[x] | x`, or a test that decides nothing.
  bool may_always_match(std::uint32_t t) {
    return trees_[t].no.to && trees_[t].yes.to == trees_[t].no.to &&
           trees_[t].yes.args.size() == trees_[t].no.args.size();
  }
  /// Adds an alternative that takes anything: a capture, or `_`.
  std::uint32_t match_always(std::uint32_t t);
  /// How many values lie on the stack below the tested one when the first test looks at it.
  std::uint32_t place_of(std::uint32_t t);
  void join(BlockId a, std::uint32_t t, std::uint32_t u, Tree::Kind kind);
  // ---------------------------------------------------------------- patterns
  struct Failed {};
  std::uint32_t constant_number(ValueId v);
  void mark(ValueId v) {
    if (v.index < marked_.size()) marked_[v.index] = builds_;
  }
  /// A class, a key or a value: a constant, or a name with attributes.
  ExprId expression(ValueId v, int depth = 0);
  /// What the grammar has for values in patterns: numbers, strings, and names with a dot.
  /// `any_name`: a name alone too (of a class).
  ExprId pattern_value(ValueId v, bool any_name = false);
  std::vector<ExprId> key_expressions(ValueId keys);
  /// Puts down what a block's operations, all of them or those in [from, to), say.
  void read(Scope& scope, BlockId b, std::size_t from, std::size_t to);
  void read(Scope& scope, ValueId v);
  std::size_t pattern_start(BlockId b, ValueId subject);
  /// Reads the tests of a tree, in their order. `start`: from where on a leaf's block is the
  /// pattern's; `takes`: is what an alternative's first block does before the first test the whole
  /// pattern's?
  template <class Start, class Takes>
  void read_tests(Scope& scope, std::uint32_t root, const Start& start, const Takes& takes);
  void read_tree(Scope& scope, std::uint32_t root, BlockId head, ValueId subject);
  /// How many operations at the start of alternatives' first block come before them: all that its
  /// test does not need, and what makes the tested value.
  std::size_t taken_before(BlockId first, ValueId tested);
  bool defines(ValueId op, ValueId v) const {
    const Value& value = s_.at(v);
    return op == v || (value.kind == ValueKind::Result && value.operands[0] == op);
  }
  ExprId as_name(ExprKind kind, ValueId store) {
    const ExprId target = make_target(s_.ast, s_.lifted, store, {});
    return s_.ast.expr(kind, {}, s_.ast[target].a, s_.ast[target].op, s_.origin(store));
  }
  ExprId with_kids(ExprKind kind, const std::vector<ExprId>& kids, std::uint32_t a = UINT32_MAX,
                   std::uint8_t op = 0, const std::vector<std::uint32_t>& extra = {});
  ValueId result(ValueId op, std::uint32_t index, std::uint32_t count) {
    for (ValueId r : s_.results_of(op))
      if (s_.at(r).arg == count - 1 - index) return r;
    return {};
  }
  /// Patterns of the `count` items of what MATCH_CLASS or MATCH_KEYS gave.
  std::vector<ExprId> parts(Scope& scope, ValueId source, std::size_t count, int depth);
  ExprId wildcard() { return s_.ast.expr(ExprKind::MatchAs, {}); }
  ExprId bind(Scope& scope, ValueId v, ExprId base);
  ExprId sequence(Scope& scope, ValueId v, Facts& facts, int depth);
  ExprId mapping(Scope& scope, Facts& facts, int depth);
  ExprId instance(Scope& scope, Facts& facts, int depth);
  ExprId alternatives(Scope& scope, std::uint32_t t, int depth);
  /// Like read_tree, but the first block's operations up to the tested value are the whole
  /// pattern's.
  void read_alternative(Scope& scope, std::uint32_t t, BlockId first, ValueId tested);
  ExprId pattern(Scope& scope, ValueId v, int depth);
  void finish(const Scope& scope) {
    for (const auto& [v, facts] : scope.facts)
      if (!facts.used) throw Failed();
    for (const Capture& capture : *scope.captures)
      if (!capture.used) throw Failed();
  }
  /// The captures at the start of the body, and the last parts that are taken out; sets how many
  /// operations that is.
  void read_body_start(Scope& scope, const Tree& tree, std::vector<Capture>& captures, Found& out);
  std::int32_t last_line(std::uint32_t t);
  void build(Found& found, ValueId subject, BlockId head);
  /// A constant that is an index, a length, or one of the keys to leave out.
  bool used_by_read(ValueId v) {
    for (ValueId w : blocks_read_)
      for (ValueId o : s_.at(w).operands)
        if (resolve(o) == v) return true;
    return false;
  }
  // ---------------------------------------------------------------- cases
  bool stores_subject(ValueId v, ValueId subject) {
    const Value& value = s_.at(v);
    return value.kind == ValueKind::Operation && is_name_store(value.op) &&
           resolve(value.operands[0]) == subject;
  }
  std::size_t leading_stores(BlockId b, ValueId subject, std::vector<ValueId>* stores,
                             std::size_t from = 0);
  bool tests_subject(BlockId b, ValueId subject) {
    const std::uint32_t t = tree_of_[b.index];
    return t != kNone && !trees_[t].own && trees_[t].tested == subject;
  }
  /// Where on the stack the subject lies while cases are tested: how many values are below it.
  std::uint32_t home_of(ValueId subject);
  /// `case k if False` leads on to the next case, whose tests are in its block: they
  /// become a block of their own.
  void split_behind_captures();
  /// The stack where a block begins; empty where that is not known.
  std::span<const ValueId> stack_at(BlockId b) const;
  /// Is the subject still on the stack where the block's first operation is made? Then that belongs
  /// to a guard or to the next case.
  bool keeps(BlockId b, ValueId subject, std::uint32_t home);
  /// Behind a guard, whose blocks begin at `b`: where the next case begins. The operands of a guard
  /// follow one another; the last one's test goes on to the body, which has no subject, or jumps to
  /// the next case.
  BlockId case_behind_guard(BlockId b, ValueId subject);
  /// Of a pattern whose both ways lead to one place: does its last alternative take anything (`0 |
  /// _`)? Otherwise nothing is left of a body. `stays`: the subject is still there when it fails,
  /// so a pattern begins with a copy; alternatives have one more.
  bool has_wildcard(std::uint32_t t, std::uint32_t home, bool stays);
  /// Alternatives that lead to a place which others reach too may be cases without a body of their
  /// own.
  std::vector<std::uint32_t> split_cases(std::uint32_t t, std::uint32_t home, bool stays);
  bool uses_value(BlockId b, ValueId v, std::size_t from);
  /// The subject is still on the stack when control comes here, so another case begins here: `case
  /// _` with a guard. But no guard tests a pattern.
  bool holds_subject(BlockId b, ValueId subject);
  /// The least column (3.11+) of a block's operations on rows below the subject's; 0: none.
  std::uint32_t least_column(BlockId b, ValueId subject);
  /// Does a statement after the `match` begin here? It stands further left than a pattern, and a
  /// guard further right.
  bool left_of_patterns(BlockId b, const std::vector<Found>& cases, ValueId subject) {
    const std::uint32_t column = least_column(b, subject);
    for (const Found& found : cases)
      if (column != 0 && column < least_column(found.block, subject)) return true;
    return false;
  }
  /// The cases from the block `head` on, which computes the subject or tests it first.
  void chain(BlockId head, ValueId subject);
  /// Cases that always match, with guards, from where the subject is computed to the one at `head`;
  /// `at`: the next case.
  std::vector<Found> captures_before(BlockId head, ValueId subject, BlockId& at);
  /// The cases whose tests begin at `at`; where control goes when none of them matches.
  BlockId add_tests(BlockId at, ValueId subject, std::uint32_t home, std::vector<Found>& cases);
  /// False where one has no pattern.
  bool build_patterns(std::vector<Found>& cases, ValueId subject, BlockId head);
  /// A `match` without any test: the subject is stored after a guard.
  void chain_of_captures(BlockId b);
  /// A comparison begins where its left side does; a pattern follows the subject.
  bool is_on_later_line(std::uint32_t t, ValueId subject);
  bool unmistakable(std::uint32_t t);
  /// The head of the statement keeps `count` operations, and then has the subject.
  void set_subject(BlockId head, ValueId subject, std::size_t count);
  /// What the operands of a guard, on the pattern's row, jump to is one place, with what is written
  /// there, also where only the last one is followed by it.
  void share_written_jumps(BlockId b, std::int32_t line);
  /// The tests at the end of a block, of another statement, are at the end of `to` now.
  void move_tree(BlockId from, BlockId to);
  void apply(const std::vector<Found>& cases, ValueId subject, BlockId head);
  StructureGraph& s_;
  std::vector<Tree> trees_;
  std::vector<std::uint32_t> tree_of_;  // by block: the tree that begins there
  std::vector<BlockId> order_;          // in reverse postorder, and blocks made here
  std::vector<std::uint32_t> preds_;  // edges into each block, tests that were joined counted once
  std::vector<std::uint32_t>
      marked_;  // by value: the last of builds_ in whose pattern it has its place
  std::uint32_t builds_ = 0;
  std::vector<ValueId> blocks_read_;
  std::vector<ValueId> alias_;      // by value: see resolve
  std::set<std::uint32_t> keys_;    // operands of MATCH_KEYS
  std::vector<std::uint8_t> live_;  // by value: read by somebody
  std::vector<BlockId> touched_;
  std::map<std::uint32_t, BlockId> split_from_, tests_behind_;  // see split_behind_captures
  std::size_t failures_ = 0;
};

}  // namespace depyf::match
