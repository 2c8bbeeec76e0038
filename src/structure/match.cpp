// `match`: chains of pattern tests -> one node for each `case`.
//
// CPython compiles a pattern to tests of the subject and of what is taken out of it, depth first
// (codegen_pattern_*); whichever test fails, control goes to the next case. Here that is read
// backwards. Tests that lead to the same two places are one test, as the operands of `and` and `or`
// are: two that share where they fail belong to one pattern, two of the same value that share where
// they succeed are alternatives of `|`. What a case's tests say of each value makes its pattern.
// Nothing is changed unless every operation between the subject and the bodies has its place.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "opcode/op_set.h"
#include "structure/graph.h"
#include "structure/operations.h"

namespace depyf {
namespace {

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
  std::vector<std::uint32_t> kids;  // And, Or
  std::vector<BlockId> tail;        // blocks behind the last test that only take values apart
  Edge yes, no;                     // no.to is none where it always matches
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
  explicit Matcher(Structurer& s) : s_(s) {}

  void run() {
    if (!worth_a_look()) return;
    find_dead_params();
    tree_of_.assign(s_.nodes.size(), kNone);
    alias_.assign(s_.lifted.values.size(), ValueId());
    preds_.assign(s_.nodes.size(), 0);
    for (const Node& node : s_.nodes)
      for (ValueId v : node.body)
        if (s_.is_op(v, Op::MATCH_KEYS)) keys_.insert(resolve(s_.at(v).operands[1]).index);
    for (std::size_t i = 0; i < s_.nodes.size(); ++i) preds_[i] = s_.nodes[i].pred_count;
    order_ = s_.reverse_postorder_blocks();
    for (std::size_t i = order_.size(); i > 0; --i) {
      if (!leaf(order_[i - 1])) continue;
      while (fold(order_[i - 1])) {
      }
    }
    for (std::size_t i = 0; i < order_.size(); ++i)  // which grows
      if (const BlockId b = order_[i];
          s_.nodes[b.index].alive && s_.nodes[b.index].match == kNone && tree_of_[b.index] != kNone)
        chain(b, resolve(trees_[tree_of_[b.index]].tested));
    for (std::size_t i = 0; i < order_.size(); ++i) chain_of_captures(order_[i]);
    if (touched_.empty()) return;
    drop_dead_params();
    s_.count_preds();
    for (Node& node : s_.nodes)
      if (node.alive && node.pred_count == 0 &&
          (node.term == TermKind::Return || node.term == TermKind::Jump)) {
        node.alive = false;
        node.body.clear();
      }
    s_.recount();
    s_.thread_empty_blocks();
  }

 private:
  // ---------------------------------------------------------------- tests

  /// A pattern's own operation, or a value that is compared again in another block.
  bool worth_a_look() {
    static constexpr OpSet telling{
        Op::MATCH_SEQUENCE, Op::MATCH_MAPPING, Op::MATCH_CLASS, Op::COMPARE,     Op::IS,
        Op::STORE_FAST,     Op::STORE_DEREF,   Op::STORE_NAME,  Op::STORE_GLOBAL};
    std::map<std::uint32_t, BlockId> compared;  // values that are no operations
    for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
      const Node& node = s_.nodes[i];
      if (!node.alive) continue;
      for (ValueId v : node.body) {
        const Value& value = s_.at(v);
        if (!telling[value.op] || value.operands.empty()) continue;
        if (value.op == Op::MATCH_SEQUENCE || value.op == Op::MATCH_MAPPING ||
            value.op == Op::MATCH_CLASS)
          return true;
        ValueId first = resolve(value.operands[0]);
        const BlockId here(static_cast<std::uint32_t>(i));
        const Value& made = s_.at(first);
        if (made.kind != ValueKind::Operation) {
          if (compared.emplace(first.index, here).first->second != here) return true;
          continue;
        }
        if (block_of(first) != here ||
            (!is_name_store(value.op) && made.line > 0 && value.line > made.line))
          return true;
        if (value.op == Op::COMPARE && value.height > made.height) return true;  // `0 | _`
      }
    }
    return false;
  }

  /// Parameters that nobody reads: they differ by the way taken, and would make equal edges look
  /// different.
  void find_dead_params() {
    live_.assign(s_.lifted.values.size(), 0);
    std::vector<ValueId> work;
    auto reach = [&](ValueId v) {
      v = resolve(v);
      if (!v || live_[v.index]) return;
      live_[v.index] = 1;
      if (s_.at(v).kind == ValueKind::Param) work.push_back(v);
    };
    std::unordered_map<std::uint32_t, std::vector<ValueId>> given;  // to each parameter
    for (const Node& node : s_.nodes) {
      if (!node.alive) continue;
      for (ValueId v : node.body)
        for (ValueId o : s_.at(v).operands) reach(o);
      reach(node.value);
      for (ValueId v : node.raise_args) reach(v);
      for (int k = 0; k < node.edge_count(); ++k) {
        const auto& params = s_.nodes[node.edges[k].to.index].params;
        for (std::size_t i = 0; i < params.size() && i < node.edges[k].args.size(); ++i)
          given[params[i].index].push_back(node.edges[k].args[i]);
      }
    }
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      for (ValueId arg : given[v.index]) reach(arg);
    }
  }

  bool dead(ValueId param) const { return param.index < live_.size() && !live_[param.index]; }
  bool takes_nothing(BlockId b) const {
    const auto& params = s_.nodes[b.index].params;
    return std::all_of(params.begin(), params.end(), [&](ValueId p) { return dead(p); });
  }

  /// Of the blocks that cases lead to.
  void drop_dead_params() {
    std::vector<std::vector<std::size_t>> dropped(s_.nodes.size());
    for (BlockId b : touched_) {
      Node& node = s_.nodes[b.index];
      if (!node.alive || !dropped[b.index].empty()) continue;
      for (std::size_t p = 0; p < node.params.size(); ++p)
        if (dead(node.params[p])) dropped[b.index].push_back(p);
      for (std::size_t k = dropped[b.index].size(); k > 0; --k)
        node.params.erase(node.params.begin() +
                          static_cast<std::ptrdiff_t>(dropped[b.index][k - 1]));
    }
    for (Node& node : s_.nodes) {
      if (!node.alive) continue;
      for (int k = 0; k < node.edge_count(); ++k) {
        Edge& edge = node.edges[k];
        const auto& gone = dropped[edge.to.index];
        if (gone.empty()) continue;
        std::vector<ValueId> args;
        for (std::size_t a = 0; a < edge.args.size(); ++a)
          if (!std::binary_search(gone.begin(), gone.end(), a)) args.push_back(edge.args[a]);
        edge.args = s_.lifted.arena.copy(args);
      }
    }
  }

  /// As Structurer::resolve; a parameter of a block that one test leads to is what the test hands
  /// over.
  ValueId resolve(ValueId v) {
    for (v = s_.resolve(v); v && v.index < alias_.size() && alias_[v.index];
         v = s_.resolve(alias_[v.index])) {
    }
    return v;
  }

  void alias_params(const Edge& edge) {
    const auto& params = s_.nodes[edge.to.index].params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const ValueId v = resolve(edge.args[i]);
      if (v == params[i]) continue;
      if (alias_.size() <= params[i].index) alias_.resize(params[i].index + 1);
      alias_[params[i].index] = v;
    }
  }

  BlockId block_of(ValueId v) const {
    const Value& value = s_.at(v);
    return value.kind == ValueKind::Result && !value.operands.empty()
               ? s_.at(value.operands[0]).block
               : value.block;
  }

  const Value& operand(ValueId v, std::size_t i) { return s_.at(resolve(s_.at(v).operands[i])); }

  bool is_none(ValueId v) const {
    return s_.is_const(v) && s_.module[ConstId(s_.at(v).arg)].kind == ConstKind::None;
  }

  /// The value that a test is about, and whether the test holds when it is false.
  ValueId tested_by(ValueId test, bool& inverted) {
    inverted = false;
    const Value value = s_.at(test);
    if (value.kind == ValueKind::Result) {
      const ValueId op = resolve(value.operands[0]);
      if (value.arg == 1 && (s_.is_op(op, Op::MATCH_KEYS) || s_.is_op(op, Op::MATCH_CLASS)))
        return resolve(s_.at(op).operands[0]);
      return {};
    }
    if (value.kind != ValueKind::Operation) return {};
    if (value.op == Op::MATCH_SEQUENCE || value.op == Op::MATCH_MAPPING)
      return resolve(value.operands[0]);
    if (value.op == Op::IS && value.arg == 0) {
      const ValueId left = resolve(value.operands[0]), right = resolve(value.operands[1]);
      if (!s_.is_const(right)) return {};
      if (s_.is_op(left, Op::MATCH_KEYS) || s_.is_op(left, Op::MATCH_CLASS)) {
        inverted = true;
        return is_none(right) ? resolve(s_.at(left).operands[0]) : ValueId();
      }
      const ConstKind kind = s_.module[ConstId(s_.at(right).arg)].kind;
      if (kind != ConstKind::None && kind != ConstKind::True && kind != ConstKind::False) return {};
      return left;
    }
    if (value.op == Op::COMPARE) {
      const ValueId left = resolve(value.operands[0]), right = resolve(value.operands[1]);
      const bool length = s_.is_op(left, Op::GET_LEN);
      if (length && s_.is_const(right) &&
          (value.arg == static_cast<std::uint32_t>(CompareOp::Eq) ||
           value.arg == static_cast<std::uint32_t>(CompareOp::Ge)))
        return resolve(s_.at(left).operands[0]);
      if (length || value.arg != static_cast<std::uint32_t>(CompareOp::Eq)) return {};
      return s_.is_const(right) || s_.is_op(right, Op::LOAD_ATTR) || s_.is_op(right, Op::BINARY) ||
                     s_.is_op(right, Op::UNARY)
                 ? left
                 : ValueId();
    }
    return {};
  }

  bool leaf(BlockId b) {
    const Node& node = s_.nodes[b.index];
    if (!node.alive || node.term != TermKind::Branch || node.match != kNone) return false;
    const ValueId test = resolve(node.value);
    if (block_of(test) != b) return false;
    bool inverted = false;
    Tree tree;
    tree.tested = tested_by(test, inverted);
    if (!tree.tested) return false;
    tree.first = b;
    tree.yes = node.edges[inverted ? 1 : 0];
    tree.no = node.edges[inverted ? 0 : 1];
    ValueId base = tree.tested;
    while (block_of(base) == b) {
      const Value& value = s_.at(base);
      if (value.kind == ValueKind::Result && (s_.is_op(value.operands[0], Op::UNPACK_SEQUENCE) ||
                                              s_.is_op(value.operands[0], Op::UNPACK_EX)))
        base = resolve(s_.at(value.operands[0]).operands[0]);
      else if (value.kind == ValueKind::Result && s_.is_op(value.operands[0], Op::MATCH_KEYS))
        break;
      else if (s_.is_op(base, Op::LOAD_SUBSCR))
        base = resolve(value.operands[0]);
      else
        break;
    }
    tree.own = block_of(base) == b;
    if (!tree.own)
      for (ValueId v : node.body)
        if (!pattern_op(v)) return false;
    tree_of_[b.index] = add(std::move(tree));
    return true;
  }

  std::uint32_t add(Tree tree) {
    trees_.push_back(std::move(tree));
    return static_cast<std::uint32_t>(trees_.size() - 1);
  }

  bool takes_apart(ValueId v) const {
    const Value& value = s_.at(v);
    if (value.kind != ValueKind::Operation) return false;
    static constexpr OpSet takes{
        Op::LOAD_CONST, Op::BUILD_TUPLE, Op::UNPACK_SEQUENCE, Op::UNPACK_EX,
        Op::GET_LEN,    Op::BINARY,      Op::LOAD_SUBSCR,     Op::COPY_DICT_WITHOUT_KEYS,
        Op::BUILD_MAP,  Op::DICT_UPDATE, Op::DELETE_SUBSCR};
    return takes[value.op];
  }

  bool pattern_op(ValueId v) const {
    if (takes_apart(v)) return true;
    const Value& value = s_.at(v);
    if (value.kind != ValueKind::Operation) return false;
    static constexpr OpSet tests{
        Op::LOAD_FAST,     Op::LOAD_GLOBAL, Op::LOAD_NAME,  Op::LOAD_DEREF, Op::LOAD_CLASSDEREF,
        Op::LOAD_ATTR,     Op::UNARY,       Op::COMPARE,    Op::IS,         Op::MATCH_SEQUENCE,
        Op::MATCH_MAPPING, Op::MATCH_KEYS,  Op::MATCH_CLASS};
    return tests[value.op];
  }

  bool same_edge(const Edge& a, const Edge& b) {
    if (a.to != b.to || a.args.size() != b.args.size()) return false;
    const auto& params = s_.nodes[a.to.index].params;
    for (std::size_t i = 0; i < a.args.size(); ++i)
      if (resolve(a.args[i]) != resolve(b.args[i]) && !(i < params.size() && dead(params[i])))
        return false;
    return true;
  }

  /// The same place, or copies of one short way out: the same operations of the same lines.
  bool same_place(const Edge& a, const Edge& b) {
    if (!a.to || !b.to) return false;
    if (same_edge(a, b)) return true;
    constexpr std::size_t kLongest = 8;
    if (a.to == b.to || !takes_nothing(a.to) || !takes_nothing(b.to)) return false;
    const Node &x = s_.nodes[a.to.index], &y = s_.nodes[b.to.index];
    if (x.region != y.region || x.term != y.term || x.term_line != y.term_line ||
        x.body.size() != y.body.size() || x.body.size() > kLongest)
      return false;
    if (x.match != kNone || y.match != kNone || preds_[a.to.index] != 1 ||
        preds_[b.to.index] != 1) {
      if (!plain_return(a.to) || !plain_return(b.to)) return false;
    }
    auto same = [&](ValueId v, ValueId w) {
      v = resolve(v);
      w = resolve(w);
      if (v == w) return true;
      if (s_.is_const(v) && s_.is_const(w))
        return s_.same_const(ConstId(s_.at(v).arg), ConstId(s_.at(w).arg));
      for (std::size_t i = 0; i < x.body.size(); ++i)
        if (x.body[i] == v) return y.body[i] == w;
      return false;
    };
    for (std::size_t i = 0; i < x.body.size(); ++i) {
      const Value &v = s_.at(x.body[i]), &w = s_.at(y.body[i]);
      if (!s_.copied_operation(v, w)) return false;
      for (std::size_t k = 0; k < v.operands.size(); ++k)
        if (!same(v.operands[k], w.operands[k])) return false;
    }
    if (x.term == TermKind::Return) return same(x.value, y.value);
    return x.term == TermKind::Jump && !x.body.empty() && same_edge(x.edges[0], y.edges[0]);
  }

  bool plain_return(BlockId b) {
    const Node& node = s_.nodes[b.index];
    return node.term == TermKind::Return && s_.is_const(resolve(node.value)) &&
           std::all_of(node.body.begin(), node.body.end(),
                       [&](ValueId v) { return s_.is_const(v); });
  }

  /// Another test that can only be reached through this one.
  std::uint32_t next_tree(BlockId from, const Edge& edge) {
    if (!edge.to) return kNone;
    const Node& node = s_.nodes[edge.to.index];
    const std::uint32_t t = tree_of_[edge.to.index];
    if (t == kNone || trees_[t].own || preds_[edge.to.index] != 1 ||
        edge.args.size() != node.params.size() || node.region != s_.nodes[from.index].region)
      return kNone;
    return t;
  }

  bool fold(BlockId a) {
    const std::uint32_t t = tree_of_[a.index];
    // behind the last test: the parts that a class or a mapping pattern gives, on the way to where
    // alternatives meet
    {
      const BlockId b = trees_[t].yes.to;
      const Node& node = s_.nodes[b.index];
      if (tree_of_[b.index] == kNone && preds_[b.index] == 1 &&
          trees_[t].yes.args.size() == node.params.size() &&
          node.region == s_.nodes[a.index].region && node.term == TermKind::Jump &&
          node.match == kNone && !node.body.empty() && preds_[node.edges[0].to.index] > 1 &&
          std::all_of(node.body.begin(), node.body.end(),
                      [&](ValueId v) { return takes_apart(v); }) &&
          std::any_of(node.body.begin(), node.body.end(), [&](ValueId v) {
            return s_.is_op(v, Op::UNPACK_SEQUENCE) || s_.is_op(v, Op::UNPACK_EX) ||
                   s_.is_op(v, Op::LOAD_SUBSCR);
          })) {
        alias_params(trees_[t].yes);
        trees_[t].tail.push_back(b);
        trees_[t].yes = node.edges[0];
        return true;
      }
    }
    if (std::uint32_t u = next_tree(a, trees_[t].yes); u != kNone) {
      const Edge fail = trees_[t].no, next_fail = trees_[u].no;
      if (!fail.to || !next_fail.to || same_place(fail, next_fail)) {
        join(a, t, u, Tree::And);
        return true;
      }
      if (may_always_match(u)) {
        match_always(u);
        return true;
      }
    }
    if (std::uint32_t u = next_tree(a, trees_[t].no);
        u != kNone && resolve(trees_[u].tested) == resolve(trees_[t].tested) &&
        takes_nothing(trees_[t].no.to) &&
        ((trees_[t].yes.to == trees_[u].yes.to &&
          trees_[t].yes.args.size() == trees_[u].yes.args.size()) ||
         same_place(trees_[t].yes, trees_[u].yes))) {
      join(a, t, u, Tree::Or);
      return true;
    }
    return false;
  }

  /// Both ways lead to one place: `0 | _`, `[x] | x`, or a test that decides nothing.
  bool may_always_match(std::uint32_t t) {
    return trees_[t].no.to && trees_[t].yes.to == trees_[t].no.to &&
           trees_[t].yes.args.size() == trees_[t].no.args.size();
  }

  /// Adds an alternative that takes anything: a capture, or `_`.
  std::uint32_t match_always(std::uint32_t t) {
    Tree any;
    any.kind = Tree::Any;
    any.first = trees_[t].first;
    any.tested = trees_[t].tested;
    any.yes = trees_[t].no;
    const std::uint32_t u = add(std::move(any));
    join(trees_[t].first, t, u, Tree::Or);
    return tree_of_[trees_[t].first.index];
  }

  /// How many values lie on the stack below the tested one when the first test looks at it.
  std::uint32_t place_of(std::uint32_t t) {
    while (trees_[t].kind == Tree::And || trees_[t].kind == Tree::Or) t = trees_[t].kids.front();
    if (trees_[t].kind == Tree::Any) return kNone;
    ValueId test = resolve(s_.nodes[trees_[t].first.index].value);
    if (!test) return kNone;  // part of another match by now
    if (s_.at(test).kind == ValueKind::Result) test = resolve(s_.at(test).operands[0]);
    if (s_.is_op(test, Op::COMPARE) || s_.is_op(test, Op::IS)) {
      const ValueId left = resolve(s_.at(test).operands[0]);
      if (s_.is_op(left, Op::GET_LEN) || s_.is_op(left, Op::MATCH_KEYS) ||
          s_.is_op(left, Op::MATCH_CLASS))
        test = left;
    }
    const Value& value = s_.at(test);
    const bool keeps =
        value.op == Op::MATCH_SEQUENCE || value.op == Op::MATCH_MAPPING || value.op == Op::GET_LEN;
    return value.height - (keeps ? 1u : value.op == Op::MATCH_KEYS ? 2u : 0u);
  }

  void join(BlockId a, std::uint32_t t, std::uint32_t u, Tree::Kind kind) {
    Tree both;
    both.kind = kind;
    both.first = a;
    both.tested = trees_[t].tested;
    both.own = trees_[t].own;
    if (trees_[u].kind != Tree::Any) tree_of_[trees_[u].first.index] = kNone;
    if (kind == Tree::And) {
      alias_params(trees_[t].yes);
      both.kids = {t, u};
      both.yes = trees_[u].yes;
      both.no = trees_[u].no.to ? trees_[u].no : trees_[t].no;
      if (trees_[t].no.to && trees_[u].no.to) --preds_[trees_[t].no.to.index];
    } else {
      const bool meet = trees_[t].yes.to == trees_[u].yes.to;  // copies of a `return` take nothing
      for (std::uint32_t side : {t, u}) {
        const Tree& part = trees_[side];
        if (part.kind == Tree::Or && part.tail.empty()) {
          both.kids.insert(both.kids.end(), part.kids.begin(), part.kids.end());
          for (const auto& list : part.args)
            both.args.push_back(meet ? list : std::vector<ValueId>());
        } else {
          both.kids.push_back(side);
          both.args.emplace_back();
          if (meet)
            for (ValueId v : part.yes.args) both.args.back().push_back(resolve(v));
        }
      }
      for (std::size_t i = 0; i < both.args[0].size(); ++i) {
        bool same = true;
        for (const auto& list : both.args)
          same &= list.size() == both.args[0].size() && list[i] == both.args[0][i];
        if (same) {
          both.outs.push_back(both.args[0][i]);
          continue;
        }
        Value out;
        out.kind = ValueKind::Param;
        out.block = a;
        both.outs.push_back(s_.add_value(out));
      }
      both.yes = Edge{trees_[u].yes.to, s_.lifted.arena.copy(both.outs)};
      both.no = trees_[u].no;
      --preds_[trees_[t].yes.to.index];
    }
    tree_of_[a.index] = add(std::move(both));
  }

  // ---------------------------------------------------------------- patterns

  struct Failed {};

  std::uint32_t constant_number(ValueId v) {
    if (!s_.is_const(v)) throw Failed();
    const Const& c = s_.module[ConstId(s_.at(v).arg)];
    if (c.kind != ConstKind::Int || c.big || c.integer < 0 ||
        c.integer > static_cast<std::int64_t>(kMaxKids))
      throw Failed();
    return static_cast<std::uint32_t>(c.integer);
  }

  void mark(ValueId v) {
    if (v.index < marked_.size()) marked_[v.index] = builds_;
  }

  /// A class, a key or a value: a constant, or a name with attributes.
  ExprId expression(ValueId v, int depth = 0) {
    v = resolve(v);
    const Value value = s_.at(v);
    if (depth > kMaxDepth || value.kind != ValueKind::Operation) throw Failed();
    mark(v);
    static constexpr OpSet parts{
        Op::LOAD_FAST,       Op::LOAD_GLOBAL, Op::LOAD_NAME, Op::LOAD_DEREF,
        Op::LOAD_CLASSDEREF, Op::LOAD_ATTR,   Op::BINARY,    Op::UNARY};
    if (value.op == Op::LOAD_CONST) return s_.ast.constant(ConstId(value.arg), s_.origin(v));
    if (!parts[value.op]) throw Failed();
    std::vector<ExprId> kids;
    for (ValueId o : value.operands) kids.push_back(expression(o, depth + 1));
    return make_expression(s_.ast, s_.lifted, v, kids);
  }

  /// What the grammar has for values in patterns: numbers, strings, and names with a dot.
  /// `any_name`: a name alone too (of a class).
  ExprId pattern_value(ValueId v, bool any_name = false) {
    const ExprId id = expression(v);
    const Expr* e = &s_.ast[id];
    if (e->kind == ExprKind::Constant && !any_name) {
      const ConstKind kind = s_.module[ConstId(e->a)].kind;
      if (kind != ConstKind::Int && kind != ConstKind::Float && kind != ConstKind::Complex &&
          kind != ConstKind::Str && kind != ConstKind::Bytes)
        throw Failed();
      return id;
    }
    const bool dotted = e->kind == ExprKind::Attribute;
    while (e->kind == ExprKind::Attribute) e = &s_.ast[e->kids[0]];
    if (e->kind != ExprKind::Name || !(dotted || any_name)) throw Failed();
    return id;
  }

  std::vector<ExprId> key_expressions(ValueId keys) {
    keys = resolve(keys);
    mark(keys);
    std::vector<ExprId> out;
    if (s_.is_op(keys, Op::BUILD_TUPLE)) {
      const auto operands = s_.at(keys).operands;
      for (ValueId o : operands) {
        const bool singleton = s_.is_const(resolve(o));  // None, True, False are keys as well
        out.push_back(singleton ? expression(o) : pattern_value(o));
      }
      return out;
    }
    if (!s_.is_const(keys)) throw Failed();
    const Const& c = s_.module[ConstId(s_.at(keys).arg)];
    if (c.kind != ConstKind::Tuple) throw Failed();
    Origin origin = s_.origin(keys);
    origin.columns = 0;  // of all of them
    for (ConstId item : c.items) out.push_back(s_.ast.constant(item, origin));
    return out;
  }

  /// Puts down what a block's operations, all of them or those in [from, to), say.
  void read(Scope& scope, BlockId b, std::size_t from, std::size_t to) {
    const Node& node = s_.nodes[b.index];
    for (std::size_t i = from; i < to; ++i) {
      const ValueId v = node.body[i];
      const Value value = s_.at(v);
      if (value.kind != ValueKind::Operation) throw Failed();
      auto subject = [&]() -> Facts& { return scope.facts[resolve(value.operands[0]).index]; };
      enum class Says : std::uint8_t {
        Nothing,  // operands: marked by what uses them
        Sequence,
        Mapping,
        Keys,
        Class,
        Unpacks,
        Item,
        Rest,
        RestByUpdate,
        RestLosesKey,
        Compares,
        Is,
      };
      static constexpr OpTable<Says> kSays{
          {Says::Sequence, {Op::MATCH_SEQUENCE}},
          {Says::Mapping, {Op::MATCH_MAPPING}},
          {Says::Keys, {Op::MATCH_KEYS}},
          {Says::Class, {Op::MATCH_CLASS}},
          {Says::Unpacks, {Op::UNPACK_SEQUENCE, Op::UNPACK_EX}},
          {Says::Item, {Op::LOAD_SUBSCR}},
          {Says::Rest, {Op::COPY_DICT_WITHOUT_KEYS}},
          {Says::RestByUpdate, {Op::DICT_UPDATE}},
          {Says::RestLosesKey, {Op::DELETE_SUBSCR}},
          {Says::Compares, {Op::COMPARE}},
          {Says::Is, {Op::IS}},
      };
      switch (kSays[value.op]) {
        case Says::Sequence:
          subject().sequence = true;
          mark(v);
          break;
        case Says::Mapping:
          subject().mapping = true;
          mark(v);
          break;
        case Says::Keys:
          if (subject().keys) throw Failed();
          subject().keys = v;
          mark(v);
          break;
        case Says::Class:
          if (subject().type) throw Failed();
          subject().type = v;
          mark(v);
          break;
        case Says::Unpacks: {
          mark(v);
          const ValueId from_value = resolve(value.operands[0]);
          if (keys_.count(from_value.index)) break;  // those that **rest does without
          Facts& facts = subject();
          if (facts.unpacked) throw Failed();
          facts.unpacked = v;
          break;
        }
        case Says::Item:
          subject().items.push_back(v);
          mark(v);
          break;
        case Says::Rest:
          subject().rest = v;
          mark(v);
          mark(resolve(value.operands[1]));
          break;
        case Says::RestByUpdate: {
          const ValueId fresh = resolve(value.operands[0]);
          if (!s_.is_op(fresh, Op::BUILD_MAP) || !s_.at(fresh).operands.empty()) throw Failed();
          mark(fresh);
          mark(v);
          scope.facts[resolve(value.operands[1]).index].rest = (value.aux & kInPlace) ? fresh : v;
          break;
        }
        case Says::RestLosesKey:
          mark(v);
          break;
        case Says::Compares: {
          const ValueId left = resolve(value.operands[0]);
          mark(v);
          if (s_.is_op(left, Op::GET_LEN)) {
            mark(left);
            mark(resolve(value.operands[1]));
            Facts& facts = scope.facts[resolve(s_.at(left).operands[0]).index];
            if (facts.length) throw Failed();
            facts.length = resolve(value.operands[1]);
            facts.at_least = value.arg == static_cast<std::uint32_t>(CompareOp::Ge);
          } else {
            subject().equals.push_back(v);
          }
          break;
        }
        case Says::Is: {
          const ValueId left = resolve(value.operands[0]);
          mark(v);
          mark(resolve(value.operands[1]));
          if (!s_.is_op(left, Op::MATCH_KEYS) && !s_.is_op(left, Op::MATCH_CLASS))
            subject().is.push_back(v);
          break;
        }
        case Says::Nothing:
          break;
      }
    }
    for (std::size_t i = from; i < to; ++i) blocks_read_.push_back(node.body[i]);
  }

  std::size_t pattern_start(BlockId b, ValueId subject) {
    // the subject's own operations come before
    const Node& node = s_.nodes[b.index];
    std::size_t start = 0;
    for (std::size_t i = 0; i < node.body.size(); ++i) {
      const Value& value = s_.at(node.body[i]);
      if (node.body[i] == subject ||
          (is_name_store(value.op) && value.kind == ValueKind::Operation))
        start = i + 1;
    }
    return start;
  }

  void read_tree(Scope& scope, std::uint32_t root, BlockId head, ValueId subject) {
    std::vector<std::uint32_t> work{root};
    while (!work.empty()) {
      const std::uint32_t t = work.back();
      work.pop_back();
      const Tree& tree = trees_[t];
      switch (tree.kind) {
        case Tree::Leaf: {
          const std::size_t start =
              tree.first == head && tree.own ? pattern_start(head, subject) : 0;
          read(scope, tree.first, start, s_.nodes[tree.first.index].body.size());
          break;
        }
        case Tree::And:
          for (std::size_t i = tree.kids.size(); i > 0; --i) work.push_back(tree.kids[i - 1]);
          break;
        case Tree::Any:
          break;
        case Tree::Or: {
          // what the first block takes out before the first test belongs to the whole pattern
          scope.facts[resolve(tree.tested).index].alternatives.push_back(t);
          const BlockId first = tree.first;
          if (!(first == head && tree.own)) {
            if (const std::size_t shared = taken_before(first, resolve(tree.tested)); shared > 0)
              read(scope, first, 0, shared);
          }
          break;
        }
      }
      for (BlockId b : tree.tail) {
        read(scope, b, 0, s_.nodes[b.index].body.size());
      }
    }
  }

  /// How many operations at the start of alternatives' first block come before them: all that its
  /// test does not need, and what makes the tested value.
  std::size_t taken_before(BlockId first, ValueId tested) {
    const auto& body = s_.nodes[first.index].body;
    std::set<std::uint32_t> needed;
    std::vector<ValueId> work{resolve(s_.nodes[first.index].value)};
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      if (!v || v == tested || block_of(v) != first || !needed.insert(v.index).second) continue;
      for (ValueId o : s_.at(v).operands) work.push_back(resolve(o));
    }
    std::size_t count = body.size();
    while (count > 0 && needed.count(body[count - 1].index) && !defines(body[count - 1], tested))
      --count;
    return count;
  }

  bool defines(ValueId op, ValueId v) const {
    const Value& value = s_.at(v);
    return op == v || (value.kind == ValueKind::Result && value.operands[0] == op);
  }

  ExprId as_name(ExprKind kind, ValueId store) {
    const ExprId target = make_target(s_.ast, s_.lifted, store, {});
    return s_.ast.expr(kind, {}, s_.ast[target].a, s_.ast[target].op, s_.origin(store));
  }

  ExprId with_kids(ExprKind kind, const std::vector<ExprId>& kids, std::uint32_t a = UINT32_MAX,
                   std::uint8_t op = 0, std::vector<std::uint32_t> extra = {}) {
    Expr e;
    e.kind = kind;
    e.op = op;
    e.a = a;
    e.kids = s_.ast.arena.copy(kids);
    e.extra = s_.ast.arena.copy(extra);
    return s_.ast.add(e);
  }

  ValueId result(ValueId op, std::uint32_t index, std::uint32_t count) {
    for (ValueId r : s_.results_of(op))
      if (s_.at(r).arg == count - 1 - index) return r;
    return {};
  }

  /// Patterns of the `count` items of what MATCH_CLASS or MATCH_KEYS gave.
  std::vector<ExprId> parts(Scope& scope, ValueId source, std::size_t count, int depth) {
    std::vector<ExprId> out;
    Facts none;
    auto at = scope.facts.find(source.index);
    Facts& facts = at == scope.facts.end() ? none : at->second;
    facts.used = true;
    std::vector<ValueId> values(count);
    if (facts.unpacked) {
      if (s_.at(facts.unpacked).op != Op::UNPACK_SEQUENCE || s_.at(facts.unpacked).arg != count)
        throw Failed();
      for (std::size_t i = 0; i < count; ++i)
        values[i] = result(facts.unpacked, static_cast<std::uint32_t>(i),
                           static_cast<std::uint32_t>(count));
    }
    for (ValueId item : facts.items) {
      const ValueId index = resolve(s_.at(item).operands[1]);
      const std::uint32_t i = constant_number(index);
      mark(index);
      if (i >= count || values[i]) throw Failed();
      values[i] = item;
    }
    for (ValueId v : values) out.push_back(v ? pattern(scope, v, depth + 1) : wildcard());
    return out;
  }

  ExprId wildcard() { return s_.ast.expr(ExprKind::MatchAs, {}); }

  ExprId bind(Scope& scope, ValueId v, ExprId base) {
    for (Capture& capture : *scope.captures) {
      if (capture.value != v || capture.used) continue;
      capture.used = true;
      const ExprId name = as_name(ExprKind::MatchAs, capture.store);
      if (base) {
        const std::vector<ExprId> kids{base};
        s_.ast[name].kids = s_.ast.arena.copy(kids);
      }
      base = name;
    }
    return base ? base : wildcard();
  }

  ExprId sequence(Scope& scope, ValueId v, Facts& facts, int depth) {
    std::vector<ExprId> kids;
    auto star = [&](ValueId value) {
      if (value && scope.facts.count(value.index)) throw Failed();
      if (value)
        for (Capture& capture : *scope.captures)
          if (capture.value == value && !capture.used) {
            capture.used = true;
            return as_name(ExprKind::MatchStar, capture.store);
          }
      return s_.ast.expr(ExprKind::MatchStar, {});
    };
    const std::uint32_t length = facts.length ? constant_number(facts.length) : 0;
    if (facts.unpacked) {
      const Value unpack = s_.at(facts.unpacked);
      if (!facts.items.empty()) throw Failed();
      const bool starred = unpack.op == Op::UNPACK_EX;
      const std::uint32_t count = starred ? unpack.arg + 1 + unpack.aux : unpack.arg;
      if (count > kMaxKids || starred != (facts.at_least || !facts.length) ||
          length != (starred ? count - 1 : count))
        throw Failed();
      for (std::uint32_t i = 0; i < count; ++i) {
        const ValueId item = result(facts.unpacked, i, count);
        if (starred && i == unpack.arg)
          kids.push_back(star(item));
        else
          kids.push_back(item ? pattern(scope, item, depth + 1) : wildcard());
      }
    } else {
      const bool starred = facts.at_least || !facts.length;
      std::vector<ExprId> front, back;  // back: last item first
      for (ValueId item : facts.items) {
        const ValueId index = resolve(s_.at(item).operands[1]);
        mark(index);
        bool from_end = false;
        std::uint32_t n = 0;
        if (s_.is_op(index, Op::BINARY)) {
          const ValueId whole = resolve(s_.at(index).operands[0]),
                        part = resolve(s_.at(index).operands[1]);
          if (s_.at(index).arg != static_cast<std::uint32_t>(BinaryOp::Subtract) ||
              !s_.is_op(whole, Op::GET_LEN) || resolve(s_.at(whole).operands[0]) != v)
            throw Failed();
          mark(whole);
          mark(part);
          from_end = true;
          n = constant_number(part);
          if (n == 0) throw Failed();
          --n;
        } else {
          n = constant_number(index);
        }
        std::vector<ExprId>& side = from_end ? back : front;
        if (n >= length || !starred) throw Failed();
        if (side.size() <= n) side.resize(n + 1);
        if (side[n]) throw Failed();
        side[n] = pattern(scope, item, depth + 1);
      }
      if (front.size() + back.size() > length) throw Failed();
      kids = front;
      kids.resize(length - back.size());
      if (starred) kids.push_back(star({}));
      kids.insert(kids.end(), back.rbegin(), back.rend());
      for (ExprId& kid : kids)
        if (!kid) kid = wildcard();
    }
    return with_kids(ExprKind::MatchSequence, kids);
  }

  ExprId mapping(Scope& scope, Facts& facts, int depth) {
    std::vector<ExprId> kids;
    std::size_t count = 0;
    if (facts.keys) {
      std::vector<ExprId> keys = key_expressions(s_.at(facts.keys).operands[1]);
      count = keys.size();
      ValueId values = facts.keys;
      if (s_.at(facts.keys).aux == 1) {
        values = ValueId();
        for (ValueId r : s_.results_of(facts.keys))
          if (s_.at(r).arg == 0) values = r;
        if (!values) throw Failed();
      }
      std::vector<ExprId> items = parts(scope, values, count, depth);
      for (std::size_t i = 0; i < count; ++i) {
        kids.push_back(keys[i]);
        kids.push_back(items[i]);
      }
    }
    if (facts.length && (!facts.at_least || constant_number(facts.length) != count)) throw Failed();
    if (!facts.length && count > 0) throw Failed();
    std::uint32_t rest = UINT32_MAX;
    std::uint8_t scope_of_rest = 0;
    if (facts.rest) {
      bool bound = false;
      for (Capture& capture : *scope.captures)
        if (capture.value == facts.rest && !capture.used && !bound) {
          capture.used = bound = true;
          const ExprId target = make_target(s_.ast, s_.lifted, capture.store, {});
          rest = s_.ast[target].a;
          scope_of_rest = s_.ast[target].op;
        }
      if (!bound) throw Failed();
    } else if (facts.keys && count == 0) {
      throw Failed();
    }
    return with_kids(ExprKind::MatchMapping, kids, rest, scope_of_rest);
  }

  ExprId instance(Scope& scope, Facts& facts, int depth) {
    const Value match = s_.at(facts.type);
    std::vector<ExprId> kids{pattern_value(match.operands[1], true)};
    const ValueId names = resolve(match.operands[2]);
    mark(names);
    if (!s_.is_const(names)) throw Failed();
    const Const& c = s_.module[ConstId(s_.at(names).arg)];
    if (c.kind != ConstKind::Tuple || match.arg > kMaxKids) throw Failed();
    std::vector<std::uint32_t> keywords;
    for (ConstId item : c.items) {
      if (s_.module[item].kind != ConstKind::Str) throw Failed();
      keywords.push_back(s_.module.intern(s_.module[item].text).index);
    }
    ValueId values = facts.type;
    if (match.aux == 1) {
      values = ValueId();
      for (ValueId r : s_.results_of(facts.type))
        if (s_.at(r).arg == 0) values = r;
      if (!values) throw Failed();
    }
    std::vector<ExprId> items = parts(scope, values, match.arg + keywords.size(), depth);
    kids.insert(kids.end(), items.begin(), items.end());
    return with_kids(ExprKind::MatchClass, kids, UINT32_MAX, 0, keywords);
  }

  ExprId alternatives(Scope& scope, std::uint32_t t, int depth) {
    const Tree tree = trees_[t];
    std::vector<ExprId> kids;
    for (std::size_t k = 0; k < tree.kids.size(); ++k) {
      std::vector<Capture> captures;
      for (const Capture& outer : *scope.captures)
        for (std::size_t i = 0; i < tree.outs.size(); ++i)
          if (resolve(tree.outs[i]) == outer.value && tree.outs[i] != tree.args[k][i])
            captures.push_back({resolve(tree.args[k][i]), outer.store, false});
      Scope inner;
      inner.captures = &captures;
      read_alternative(inner, tree.kids[k], k == 0 ? tree.first : BlockId(), tree.tested);
      kids.push_back(pattern(inner, tree.tested, depth + 1));
      finish(inner);
    }
    for (std::size_t i = 0; i < tree.outs.size(); ++i)
      for (Capture& outer : *scope.captures)
        if (outer.value == resolve(tree.outs[i]) && tree.outs[i] != tree.args[0][i])
          outer.used = true;
    return with_kids(ExprKind::MatchOr, kids);
  }

  /// Like read_tree, but the first block's operations up to the tested value are the whole
  /// pattern's.
  void read_alternative(Scope& scope, std::uint32_t t, BlockId first, ValueId tested) {
    std::vector<std::uint32_t> work{t};
    while (!work.empty()) {
      const Tree tree = trees_[work.back()];
      const std::uint32_t id = work.back();
      work.pop_back();
      switch (tree.kind) {
        case Tree::Leaf: {
          std::size_t start = 0;
          if (tree.first == first) {
            start = taken_before(first, tested);
            if (tree.own) start = std::max(start, pattern_start(first, tested));
          }
          read(scope, tree.first, start, s_.nodes[tree.first.index].body.size());
          break;
        }
        case Tree::And:
          for (std::size_t i = tree.kids.size(); i > 0; --i) work.push_back(tree.kids[i - 1]);
          break;
        case Tree::Any:
          break;
        case Tree::Or:
          if (tree.first == first && tree.tested == tested) throw Failed();
          scope.facts[resolve(tree.tested).index].alternatives.push_back(id);
          if (tree.first != first) {
            const std::size_t shared = taken_before(tree.first, resolve(tree.tested));
            if (shared > 0) read(scope, tree.first, 0, shared);
          }
          break;
      }
      for (BlockId b : tree.tail) {
        read(scope, b, 0, s_.nodes[b.index].body.size());
      }
    }
  }

  ExprId pattern(Scope& scope, ValueId v, int depth) {
    if (depth > kMaxDepth) throw Failed();
    auto found = scope.facts.find(v.index);
    if (found == scope.facts.end()) return bind(scope, v, {});
    Facts& facts = found->second;
    if (facts.used) throw Failed();
    facts.used = true;
    const std::size_t kinds = facts.sequence + facts.mapping + static_cast<bool>(facts.type) +
                              facts.equals.size() + facts.is.size() + facts.alternatives.size();
    if (kinds != 1) throw Failed();
    ExprId base;
    if (facts.sequence) {
      if (facts.keys || facts.rest) throw Failed();
      base = sequence(scope, v, facts, depth);
    } else if (facts.mapping) {
      if (facts.unpacked || !facts.items.empty()) throw Failed();
      base = mapping(scope, facts, depth);
    } else {
      if (facts.length || facts.keys || facts.rest || facts.unpacked || !facts.items.empty())
        throw Failed();
      if (facts.type) {
        base = instance(scope, facts, depth);
      } else if (!facts.equals.empty()) {
        base =
            s_.ast.expr(ExprKind::MatchValue, {pattern_value(s_.at(facts.equals[0]).operands[1])});
      } else if (!facts.is.empty()) {
        base = s_.ast.expr(ExprKind::MatchSingleton, {}, operand(facts.is[0], 1).arg);
      } else {
        base = alternatives(scope, facts.alternatives[0], depth);
      }
    }
    return bind(scope, v, base);
  }

  void finish(const Scope& scope) {
    for (const auto& [v, facts] : scope.facts)
      if (!facts.used) throw Failed();
    for (const Capture& capture : *scope.captures)
      if (!capture.used) throw Failed();
  }

  /// The captures at the start of the body, and the last parts that are taken out; sets how many
  /// operations that is.
  void read_body_start(Scope& scope, const Tree& tree, std::vector<Capture>& captures, Found& out) {
    const BlockId b = tree.yes.to;
    const Node& node = s_.nodes[b.index];
    if (preds_[b.index] != 1) {
      if (!takes_nothing(b)) throw Failed();
      return;
    }
    auto through = [&](ValueId v) {
      v = resolve(v);
      for (std::size_t i = 0; i < node.params.size() && i < tree.yes.args.size(); ++i)
        if (node.params[i] == v) return resolve(tree.yes.args[i]);
      return v;
    };
    // everything up to the last operation that takes a value from before the block
    std::map<std::uint32_t, bool> ours;
    std::size_t end = 0;
    for (std::size_t i = 0; i < node.body.size(); ++i) {
      const Value& value = s_.at(node.body[i]);
      if (value.kind != ValueKind::Operation) break;
      if (!takes_apart(node.body[i]) && !is_name_store(value.op)) break;
      bool takes = false;
      for (ValueId o : value.operands) {
        const ValueId v = resolve(o);
        takes |= block_of(v) != b || ours.count(v.index) ||
                 std::find(node.params.begin(), node.params.end(), v) != node.params.end() ||
                 (s_.at(v).kind == ValueKind::Result && ours.count(s_.at(v).operands[0].index));
      }
      if (!takes) continue;
      ours[node.body[i].index] = true;
      end = i + 1;
    }
    // uses beyond the start would need the values
    for (std::size_t i = 0; i < end; ++i) {
      const Value& value = s_.at(node.body[i]);
      if (is_name_store(value.op))
        captures.push_back({through(value.operands[0]), node.body[i], false});
    }
    std::size_t from = 0;
    for (std::size_t i = 0; i < end; ++i)
      if (is_name_store(s_.at(node.body[i]).op)) {
        read(scope, b, from, i);
        from = i + 1;
      }
    read(scope, b, from, end);
    out.prefix = end;
  }

  std::int32_t last_line(std::uint32_t t) {
    std::int32_t line = 0;
    std::vector<std::uint32_t> work{t};
    while (!work.empty()) {
      const Tree& tree = trees_[work.back()];
      work.pop_back();
      if (tree.kind == Tree::Leaf) line = std::max(line, s_.nodes[tree.first.index].term_line);
      work.insert(work.end(), tree.kids.begin(), tree.kids.end());
    }
    return line;
  }

  void build(Found& found, ValueId subject, BlockId head) {
    const Tree tree = trees_[found.tree];
    ++builds_;
    marked_.resize(s_.lifted.values.size(), 0);
    blocks_read_.clear();
    std::vector<Capture> captures;
    Scope scope;
    scope.captures = &captures;
    read_body_start(scope, tree, captures, found);
    read_tree(scope, found.tree, found.block == head ? head : BlockId(), subject);
    found.pattern = pattern(scope, subject, 0);
    finish(scope);
    for (ValueId v : blocks_read_)
      if (marked_[v.index] != builds_ && !(s_.is_const(v) && used_by_read(v))) throw Failed();
    found.line = last_line(found.tree);
  }

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
                             std::size_t from = 0) {
    const Node& node = s_.nodes[b.index];
    std::size_t n = 0;
    for (std::size_t i = from; i < node.body.size(); ++i) {
      if (!stores_subject(node.body[i], subject)) break;
      if (stores) stores->push_back(node.body[i]);
      ++n;
    }
    return n;
  }

  bool tests_subject(BlockId b, ValueId subject) {
    const std::uint32_t t = tree_of_[b.index];
    return t != kNone && !trees_[t].own && trees_[t].tested == subject;
  }

  /// Where on the stack the subject lies while cases are tested: how many values are below it.
  std::uint32_t home_of(ValueId subject) {
    const Value& value = s_.at(subject);
    if (value.kind == ValueKind::Operation) return value.height;
    if (value.block.index >= s_.lifted.blocks.size()) return kNone;
    const auto& stack = s_.lifted.blocks[value.block.index].stack_in;
    for (std::size_t i = 0; i < stack.size(); ++i)
      if (stack[i] && resolve(stack[i]) == subject) return static_cast<std::uint32_t>(i);
    return kNone;
  }

  /// Is the subject still on the stack where the block's first operation is made? Then that belongs
  /// to a guard or to the next case.
  bool keeps(BlockId b, ValueId subject, std::uint32_t home) {
    if (b.index >= s_.lifted.blocks.size()) return false;
    const auto& stack = s_.lifted.blocks[b.index].stack_in;
    if (home >= stack.size() || !stack[home] || resolve(stack[home]) != subject) return false;
    for (ValueId v : s_.nodes[b.index].body) {
      const Value& value = s_.at(v);
      if (value.kind != ValueKind::Operation) return false;
      return value.height > home || (value.height == home && !value.operands.empty() &&
                                     resolve(value.operands[0]) == subject);
    }
    return false;
  }

  /// Behind a guard, whose blocks begin at `b`: where the next case begins. The operands of a guard
  /// follow one another; the last one's test goes on to the body, which has no subject, or jumps to
  /// the next case.
  BlockId case_behind_guard(BlockId b, ValueId subject) {
    const std::uint32_t home = home_of(subject);
    for (int steps = 0; steps < kMostHops; ++steps) {
      const Node& node = s_.nodes[b.index];
      if (b.index >= s_.lifted.blocks.size() || node.term == TermKind::Raise) return {};
      BlockId next, other;
      switch (node.term) {
        case TermKind::Jump:
          next = node.edges[0].to;
          break;
        case TermKind::ForIter:
        case TermKind::Send:
          next = node.edges[1].to;
          break;
        case TermKind::Branch:
          next = node.edges[node.falls].to;
          other = node.edges[1 - node.falls].to;
          break;
        case TermKind::Return:
        case TermKind::Raise:
        case TermKind::Reraise:
        case TermKind::Unreachable:
          return {};
      }
      if (!keeps(next, subject, home))
        return other && other != b && next != other && other != block_of(subject) &&
                       keeps(other, subject, home)
                   ? other
                   : BlockId();
      b = next;
    }
    return {};
  }

  /// Of a pattern whose both ways lead to one place: does its last alternative take anything (`0 |
  /// _`)? Otherwise nothing is left of a body. `stays`: the subject is still there when it fails,
  /// so a pattern begins with a copy; alternatives have one more.
  bool has_wildcard(std::uint32_t t, std::uint32_t home, bool stays) {
    const Tree& tree = trees_[t];
    for (std::size_t i = 0; i < tree.yes.args.size(); ++i)
      if (resolve(tree.yes.args[i]) != resolve(tree.no.args[i]) &&
          !dead(s_.nodes[tree.yes.to.index].params[i]))
        return true;
    const std::uint32_t place = place_of(t);
    return home != kNone && place != kNone && place > home + (stays ? 1 : 0);
  }

  /// Alternatives that lead to a place which others reach too may be cases without a body of their
  /// own.
  std::vector<std::uint32_t> split_cases(std::uint32_t t, std::uint32_t home, bool stays) {
    if (trees_[t].kind != Tree::Or || !trees_[t].outs.empty() || !trees_[t].tail.empty())
      return {t};
    const std::vector<std::uint32_t> kids = trees_[t].kids;
    const bool shared = preds_[trees_[t].yes.to.index] > 1;
    std::vector<std::uint32_t> firsts;  // of the cases
    // a case's first test comes behind a copy of the subject, but for the last one's; an
    // alternative's behind one more
    auto at_most = [&](std::size_t k, std::uint32_t copies) {
      const std::uint32_t place = place_of(kids[k]);
      return home != kNone && place != kNone && place <= home + copies;
    };
    const bool last_alone = at_most(kids.size() - 1, stays ? 1 : 0);
    bool apart = false;
    for (std::size_t k = 0; k < kids.size(); ++k) {
      const bool alone = k + 1 == kids.size() ? last_alone : (stays || last_alone) && at_most(k, 1);
      if (k == 0 || alone || apart || (shared && last_line(kids[k]) != last_line(kids[k - 1])))
        firsts.push_back(static_cast<std::uint32_t>(k));
      apart = alone;
    }
    if (firsts.size() == 1) return {t};
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      const std::size_t begin = firsts[i],
                        end = i + 1 < firsts.size() ? firsts[i + 1] : kids.size();
      if (end - begin == 1) {
        out.push_back(kids[begin]);
        continue;
      }
      Tree part;
      part.kind = Tree::Or;
      part.first = trees_[kids[begin]].first;
      part.tested = trees_[kids[begin]].tested;
      part.own = trees_[kids[begin]].own;
      part.kids.assign(kids.begin() + static_cast<std::ptrdiff_t>(begin),
                       kids.begin() + static_cast<std::ptrdiff_t>(end));
      part.args.resize(end - begin);
      part.yes = trees_[kids[begin]].yes;
      part.no = trees_[kids[end - 1]].no;
      out.push_back(add(std::move(part)));
    }
    preds_[trees_[t].yes.to.index] += static_cast<std::uint32_t>(out.size()) - 1;
    return out;
  }

  bool uses_value(BlockId b, ValueId v, std::size_t from) {
    const Node& node = s_.nodes[b.index];
    if (node.value && resolve(node.value) == v) return true;
    for (std::size_t i = from; i < node.body.size(); ++i)
      for (ValueId o : s_.at(node.body[i]).operands)
        if (resolve(o) == v) return true;
    return false;
  }

  /// The subject is still on the stack when control comes here, so another case begins here: `case
  /// _` with a guard. But no guard tests a pattern.
  bool holds_subject(BlockId b, ValueId subject) {
    if (b.index >= s_.lifted.blocks.size() || s_.nodes[b.index].term != TermKind::Branch)
      return false;
    if (const std::uint32_t t = tree_of_[b.index]; t != kNone && unmistakable(t)) return false;
    const auto& stack = s_.lifted.blocks[b.index].stack_in;
    return !stack.empty() && stack.back() && resolve(stack.back()) == subject;
  }

  /// The least column (3.11+) of a block's operations on rows below the subject's; 0: none.
  std::uint32_t least_column(BlockId b, ValueId subject) {
    std::uint32_t least = 0;
    for (ValueId v : s_.nodes[b.index].body) {
      const Value& value = s_.at(v);
      if (value.kind != ValueKind::Operation || value.columns == 0 ||
          value.line <= s_.at(subject).line)
        continue;
      const std::uint32_t column = value.columns >> 16;
      least = least == 0 ? column : std::min(least, column);
    }
    return least;
  }

  /// Does a statement behind the `match` begin here? It stands further left than a pattern, and a
  /// guard further right.
  bool left_of_patterns(BlockId b, const std::vector<Found>& cases, ValueId subject) {
    const std::uint32_t column = least_column(b, subject);
    for (const Found& found : cases)
      if (column != 0 && column < least_column(found.block, subject)) return true;
    return false;
  }

  /// The cases from the block `head` on, which computes the subject or tests it first.
  void chain(BlockId head, ValueId subject) {
    if (failures_ > kMaxFailures) return;
    std::vector<Found> cases;
    std::unordered_set<std::uint32_t> visited;
    const std::uint32_t home = home_of(subject);
    BlockId at = head;
    bool certain = false;
    // a first case that always matches, with a guard: it stands where the subject is computed
    const BlockId start = block_of(subject);
    if ((start != head || tree_of_[head.index] == kNone) &&
        (tree_of_[head.index] == kNone || !trees_[tree_of_[head.index]].own) &&
        s_.nodes[start.index].alive && s_.nodes[start.index].match == kNone &&
        s_.nodes[start.index].region == s_.nodes[head.index].region) {
      const auto& body = s_.nodes[start.index].body;
      const auto position = std::find(body.begin(), body.end(), subject);
      if (position != body.end() || s_.at(subject).kind == ValueKind::Param) {
        std::vector<Found> before;
        Found found;
        found.block = start;
        found.prefix =
            position == body.end() ? 0 : static_cast<std::size_t>(position - body.begin()) + 1;
        while (found.prefix < body.size() && stores_subject(body[found.prefix], subject) &&
               s_.at(body[found.prefix]).line == s_.at(subject).line && s_.at(subject).line > 0)
          ++found.prefix;  // `match (x := f()):`
        for (std::size_t steps = 0; steps < kMaxFailures; ++steps) {
          leading_stores(found.block, subject, &found.stores, found.prefix);
          if (uses_value(found.block, subject, found.prefix + found.stores.size()))
            break;  // a guard cannot: `a == b == 0`
          before.push_back(found);
          const BlockId next = case_behind_guard(found.block, subject);
          if (next == head || (next && head == start)) {
            cases = before;
            head = start;
            at = next;
            certain = true;
            break;
          }
          if (!next || tree_of_[next.index] != kNone ||
              s_.nodes[next.index].region != s_.nodes[start.index].region)
            break;
          found = Found();
          found.block = next;
        }
      }
    }
    if (cases.empty() && tree_of_[head.index] == kNone) return;
    while (at) {
      if (!visited.insert(at.index).second || (at == head && !cases.empty())) break;
      if (at != head && s_.nodes[at.index].region != s_.nodes[head.index].region) break;
      Found found;
      found.block = at;
      if ((at == head && cases.empty()) || tests_subject(at, subject)) {
        const std::uint32_t t = tree_of_[at.index];
        const BlockId next = trees_[t].no.to;
        const bool stays = next && (tests_subject(next, subject) || keeps(next, subject, home));
        const std::vector<std::uint32_t> parts = split_cases(t, home, stays);
        for (std::uint32_t part : parts) {
          found.tree = part;
          found.block = trees_[part].first;
          cases.push_back(found);
        }
        certain |= parts.size() > 1;
        if (std::uint32_t& part = cases.back().tree;
            may_always_match(part) && has_wildcard(part, home, stays))
          part = match_always(part);
        const Tree& last = trees_[cases.back().tree];
        at = last.no.to || !keeps(last.yes.to, subject, home)
                 ? last.no.to
                 : case_behind_guard(last.yes.to, subject);
        continue;
      }
      leading_stores(at, subject, &found.stores);
      const BlockId next = case_behind_guard(at, subject);
      if (found.stores.empty() && !keeps(at, subject, home) &&
          (!holds_subject(at, subject) || left_of_patterns(at, cases, subject)))
        break;
      certain |= !found.stores.empty() || next;
      cases.push_back(found);
      at = next;
    }
    // tests that also come about otherwise: `x == 1`, `x is None`
    std::size_t tests = 0;
    for (const Found& found : cases) tests += found.tree != kNone;
    certain |= tests > 1;
    for (const Found& found : cases)
      certain |= found.tree != kNone &&
                 (unmistakable(found.tree) || is_on_later_line(found.tree, subject));
    if (!certain) return;
    try {
      for (Found& found : cases) {
        if (found.tree != kNone) {
          if (trees_[found.tree].no.to && !takes_nothing(trees_[found.tree].no.to)) return;
          build(found, subject, head);
        } else {
          std::vector<Capture> captures;
          for (ValueId store : found.stores) captures.push_back({subject, store, false});
          Scope scope;
          scope.captures = &captures;
          found.pattern = bind(scope, subject, {});
          found.line = found.stores.empty() ? s_.nodes[found.block.index].term_line
                                            : s_.at(found.stores.back()).line;
        }
      }
    } catch (const Failed&) {
      ++failures_;
      return;
    }
    apply(cases, subject, head);
  }

  /// A `match` without any test: the subject is stored behind a guard.
  void chain_of_captures(BlockId b) {
    const Node& node = s_.nodes[b.index];
    if (!node.alive || node.match != kNone || node.body.empty()) return;
    const Value& store = s_.at(node.body.front());
    if (store.kind != ValueKind::Operation || !is_name_store(store.op)) return;
    const ValueId subject = resolve(store.operands[0]);
    const ValueKind kind = s_.at(subject).kind;
    if (!subject || (kind != ValueKind::Operation && kind != ValueKind::Param)) return;
    const BlockId start = block_of(subject);
    if (start == b || s_.nodes[start.index].match != kNone || !keeps(b, subject, home_of(subject)))
      return;
    chain(start, subject);
  }

  /// A comparison begins where its left side does; a pattern stands behind the subject.
  bool is_on_later_line(std::uint32_t t, ValueId subject) {
    while (!trees_[t].kids.empty()) t = trees_[t].kids.front();
    const BlockId first = trees_[t].first;  // none where the pattern takes anything
    const ValueId test = first ? resolve(s_.nodes[first.index].value) : ValueId();
    return test && s_.at(subject).kind == ValueKind::Operation && s_.at(subject).line > 0 &&
           s_.at(test).line > s_.at(subject).line;
  }

  bool unmistakable(std::uint32_t t) {
    std::vector<std::uint32_t> work{t};
    while (!work.empty()) {
      const Tree& tree = trees_[work.back()];
      work.pop_back();
      if (tree.kind == Tree::Or) return true;
      if (tree.kind == Tree::Leaf) {
        for (ValueId v : s_.nodes[tree.first.index].body)
          if (s_.is_op(v, Op::MATCH_SEQUENCE) || s_.is_op(v, Op::MATCH_MAPPING) ||
              s_.is_op(v, Op::MATCH_CLASS))
            return true;
        if (leading_stores(tree.yes.to, tree.tested, nullptr) > 0 && preds_[tree.yes.to.index] == 1)
          return true;
      }
      work.insert(work.end(), tree.kids.begin(), tree.kids.end());
    }
    return false;
  }

  /// The head of the statement keeps `count` operations, and then has the subject.
  void set_subject(BlockId head, ValueId subject, std::size_t count) {
    Select select;
    select.kind = Select::Subject;
    const ValueId id = s_.add_select(select, head, subject, subject);
    Node& node = s_.nodes[head.index];
    node.body.resize(count);
    node.body.push_back(id);
    node.value = id;
  }

  /// What the operands of a guard, on the pattern's row, jump to is one place, with what is written
  /// there, also where only the last one is followed by it.
  void share_written_jumps(BlockId b, std::int32_t line) {
    std::vector<BlockId> guard;
    while (line > 0 && s_.nodes[b.index].alive && s_.nodes[b.index].term == TermKind::Branch &&
           s_.nodes[b.index].match == kNone && s_.nodes[b.index].term_line == line &&
           guard.size() < 64) {
      guard.push_back(b);
      b = s_.nodes[b.index].edges[s_.nodes[b.index].falls].to;
    }
    if (guard.size() < 2) return;
    for (const Edge& last : s_.nodes[guard.back().index].edges)
      for (BlockId operand : guard)
        for (Edge& edge : s_.nodes[operand.index].edges)
          if (last.written && edge.to == last.to && !edge.written) edge.written = last.written;
  }

  /// The tests at the end of a block, of another statement, are at the end of `to` now.
  void move_tree(BlockId from, BlockId to) {
    const std::uint32_t root = tree_of_[from.index];
    if (root == kNone) return;
    tree_of_[to.index] = root;
    tree_of_[from.index] = kNone;
    std::vector<std::uint32_t> work{root};
    while (!work.empty()) {
      Tree& tree = trees_[work.back()];
      work.pop_back();
      if (tree.first != from) continue;
      tree.first = to;
      work.insert(work.end(), tree.kids.begin(), tree.kids.end());
    }
  }

  void apply(const std::vector<Found>& cases, ValueId subject, BlockId head) {
    std::vector<BlockId> consumed;
    for (const Found& found : cases) {
      const std::uint32_t index = static_cast<std::uint32_t>(s_.cases.size());
      const bool never =
          found.tree != kNone && &found != &cases.back() && may_always_match(found.tree);
      s_.cases.push_back({found.pattern, found.block == head, never, found.line});
      if (found.tree == kNone) {
        const BlockId body(static_cast<std::uint32_t>(s_.nodes.size()));
        Node rest = s_.nodes[found.block.index];
        rest.body.erase(
            rest.body.begin(),
            rest.body.begin() + static_cast<std::ptrdiff_t>(found.prefix + found.stores.size()));
        rest.params.clear();
        rest.pred_count = 0;
        for (ValueId v : rest.body) s_.lifted.values[v.index].block = body;
        if (found.block == head) set_subject(head, subject, found.prefix);
        touched_.push_back(found.block);
        Node& node = s_.nodes[found.block.index];
        if (found.block != head) {
          node.body.clear();
          node.value = ValueId();
        }
        node.term = TermKind::Jump;
        node.item = ValueId();
        node.raise_args = {};
        node.async_for = false;
        node.edges[0] = Edge{body, {}};
        node.match = index;
        s_.nodes.push_back(std::move(rest));
        tree_of_.push_back(kNone);
        preds_.push_back(1);
        order_.push_back(body);
        share_written_jumps(body, found.line);
        move_tree(found.block, body);
        continue;
      }
      const Tree& tree = trees_[found.tree];
      // the blocks of the tests
      std::vector<std::uint32_t> work{found.tree};
      while (!work.empty()) {
        const Tree& part = trees_[work.back()];
        work.pop_back();
        if (part.kind == Tree::Leaf && part.first != found.block) consumed.push_back(part.first);
        consumed.insert(consumed.end(), part.tail.begin(), part.tail.end());
        work.insert(work.end(), part.kids.begin(), part.kids.end());
      }
      if (preds_[tree.yes.to.index] == 1) {
        Node& body = s_.nodes[tree.yes.to.index];
        body.body.erase(body.body.begin(),
                        body.body.begin() + static_cast<std::ptrdiff_t>(found.prefix));
        body.params.clear();
      }
      const bool first = found.block == head;
      if (first) {
        set_subject(head, subject,
                    tree.own || s_.at(subject).block == head ? pattern_start(head, subject) : 0);
      } else {
        s_.nodes[found.block.index].body.clear();
        s_.nodes[found.block.index].value = ValueId();
      }
      Node& node = s_.nodes[found.block.index];
      node.term = tree.no.to ? TermKind::Branch : TermKind::Jump;
      node.edges[0] =
          Edge{tree.yes.to,
               s_.nodes[tree.yes.to.index].params.empty() ? std::span<ValueId>() : tree.yes.args};
      node.edges[1] = tree.no;
      touched_.push_back(tree.yes.to);
      if (tree.no.to) touched_.push_back(tree.no.to);
      share_written_jumps(tree.yes.to, found.line);
      node.match = index;
    }
    for (BlockId b : consumed) {
      s_.nodes[b.index].alive = false;
      s_.nodes[b.index].body.clear();
    }
  }

  Structurer& s_;
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
  std::size_t failures_ = 0;
};

}  // namespace

void Structurer::recognise_matches() {
  if (!lifted.traits.source_order) Matcher(*this).run();  // 3.10+
}

}  // namespace depyf
