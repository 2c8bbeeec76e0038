// Tests of a pattern that lead to the same two places become one test.
#include <algorithm>
#include <unordered_map>

#include "opcode/op_set.h"
#include "structure/copies.h"
#include "structure/match.h"

namespace depyf::match {

bool Matcher::worth_a_look() {
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

void Matcher::find_dead_params() {
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

void Matcher::drop_dead_params() {
  std::vector<std::vector<std::size_t>> dropped(s_.nodes.size());
  for (BlockId b : touched_) {
    Node& node = s_.nodes[b.index];
    if (!node.alive || !dropped[b.index].empty()) continue;
    for (std::size_t p = 0; p < node.params.size(); ++p)
      if (dead(node.params[p])) dropped[b.index].push_back(p);
    for (std::size_t k = dropped[b.index].size(); k > 0; --k)
      node.params.erase(node.params.begin() + static_cast<std::ptrdiff_t>(dropped[b.index][k - 1]));
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

void Matcher::alias_params(const Edge& edge) {
  const auto& params = s_.nodes[edge.to.index].params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const ValueId v = resolve(edge.args[i]);
    if (v == params[i]) continue;
    if (alias_.size() <= params[i].index) alias_.resize(params[i].index + 1);
    alias_[params[i].index] = v;
  }
}

ValueId Matcher::tested_by(ValueId test, bool& inverted) {
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
    const ConstKind kind = s_.constant(right).kind;
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

bool Matcher::leaf(BlockId b) {
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
  tree.no = past_drops(node.edges[inverted ? 0 : 1]);
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

/// Past a block that only drops what patterns left on the stack, before code that something else
/// protects: the last test, with nothing to drop, leads there at once.
Edge Matcher::past_drops(const Edge& edge) {
  const Node& node = s_.nodes[edge.to.index];
  const bool drops = node.is_plain_jump() && node.body.empty() && node.edges[0].args.empty() &&
                     s_.nodes[node.edges[0].to.index].region != node.region &&
                     std::all_of(node.params.begin(), node.params.end(),
                                 [&](ValueId param) { return dead(param); });
  return drops ? node.edges[0] : edge;
}

bool Matcher::takes_apart(ValueId v) const {
  const Value& value = s_.at(v);
  if (value.kind != ValueKind::Operation) return false;
  static constexpr OpSet takes{
      Op::LOAD_CONST, Op::BUILD_TUPLE, Op::UNPACK_SEQUENCE, Op::UNPACK_EX,
      Op::GET_LEN,    Op::BINARY,      Op::LOAD_SUBSCR,     Op::COPY_DICT_WITHOUT_KEYS,
      Op::BUILD_MAP,  Op::DICT_UPDATE, Op::DELETE_SUBSCR};
  return takes[value.op];
}

bool Matcher::pattern_op(ValueId v) const {
  if (takes_apart(v)) return true;
  const Value& value = s_.at(v);
  if (value.kind != ValueKind::Operation) return false;
  static constexpr OpSet tests{
      Op::LOAD_FAST,      Op::LOAD_GLOBAL,   Op::LOAD_NAME,  Op::LOAD_DEREF, Op::LOAD_CLASSDEREF,
      Op::LOAD_LOCALS,    Op::LOAD_ATTR,     Op::UNARY,      Op::COMPARE,    Op::IS,
      Op::MATCH_SEQUENCE, Op::MATCH_MAPPING, Op::MATCH_KEYS, Op::MATCH_CLASS};
  return tests[value.op];
}

bool Matcher::same_edge(const Edge& a, const Edge& b) {
  if (a.to != b.to || a.args.size() != b.args.size()) return false;
  const auto& params = s_.nodes[a.to.index].params;
  for (std::size_t i = 0; i < a.args.size(); ++i)
    if (resolve(a.args[i]) != resolve(b.args[i]) && !(i < params.size() && dead(params[i])))
      return false;
  return true;
}

bool Matcher::same_place(const Edge& a, const Edge& b) {
  if (!a.to || !b.to) return false;
  if (same_edge(a, b)) return true;
  constexpr std::size_t kLongest = 8;
  if (a.to == b.to || !takes_nothing(a.to) || !takes_nothing(b.to)) return false;
  const Node &x = s_.nodes[a.to.index], &y = s_.nodes[b.to.index];
  if (x.region != y.region || x.term != y.term || x.term_line != y.term_line ||
      x.body.size() != y.body.size() || x.body.size() > kLongest)
    return false;
  if (x.match != kNone || y.match != kNone || preds_[a.to.index] != 1 || preds_[b.to.index] != 1) {
    if (!plain_return(a.to) || !plain_return(b.to)) return false;
  }
  CopiedRun run(s_, x.body, y.body);
  run.aliases = &alias_;
  if (!run.same_operations(
          [&](ValueId v, ValueId w) { return s_.copied_operation(s_.at(v), s_.at(w)); }))
    return false;
  if (x.term == TermKind::Return) return run.same_value(x.value, y.value);
  return x.term == TermKind::Jump && !x.body.empty() && same_edge(x.edges[0], y.edges[0]);
}

std::uint32_t Matcher::next_tree(BlockId from, const Edge& edge) {
  if (!edge.to) return kNone;
  const Node& node = s_.nodes[edge.to.index];
  const std::uint32_t t = tree_of_[edge.to.index];
  if (t == kNone || trees_[t].own || preds_[edge.to.index] != 1 ||
      edge.args.size() != node.params.size() || node.region != s_.nodes[from.index].region)
    return kNone;
  return t;
}

bool Matcher::fold(BlockId a) {
  const std::uint32_t t = tree_of_[a.index];
  // after the last test: the parts that a class or a mapping pattern gives, on the way to where
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

std::uint32_t Matcher::match_always(std::uint32_t t) {
  Tree any;
  any.kind = Tree::Any;
  any.first = trees_[t].first;
  any.tested = trees_[t].tested;
  any.yes = trees_[t].no;
  const std::uint32_t u = add(std::move(any));
  join(trees_[t].first, t, u, Tree::Or);
  return tree_of_[trees_[t].first.index];
}

std::uint32_t Matcher::place_of(std::uint32_t t) {
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

void Matcher::join(BlockId a, std::uint32_t t, std::uint32_t u, Tree::Kind kind) {
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
      both.outs.push_back(s_.add_param(a));
    }
    both.yes = Edge{trees_[u].yes.to, s_.lifted.arena.copy(both.outs)};
    both.no = trees_[u].no;
    --preds_[trees_[t].yes.to.index];
  }
  tree_of_[a.index] = add(std::move(both));
}

}  // namespace depyf::match
