// `match`: chains of pattern tests -> one node for each `case`.
//
// CPython compiles a pattern to tests of the subject and of what is taken out of it, depth first
// (codegen_pattern_*); whichever test fails, control goes to the next case. Here that is read
// backwards. Tests that lead to the same two places are one test, as the operands of `and` and `or`
// are: two that share where they fail belong to one pattern, two of the same value that share where
// they succeed are alternatives of `|`. What a case's tests say of each value makes its pattern.
// Nothing is changed unless every operation between the subject and the bodies has its place.
#include "structure/match.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "opcode/op_set.h"
#include "structure/operations.h"
#include "structure/steps.h"

namespace depyf::match {

void Matcher::run() {
  if (!worth_a_look()) return;
  find_dead_params();
  split_behind_captures();
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

void Matcher::split_behind_captures() {
  const std::size_t count = std::min(s_.nodes.size(), s_.lifted.blocks.size());
  for (std::size_t i = 0; i < count; ++i) {
    const BlockId b(static_cast<std::uint32_t>(i));
    const Node& node = s_.nodes[i];
    if (!node.alive || node.term != TermKind::Branch || node.match != kNone || node.body.empty())
      continue;
    const Value& store = s_.at(node.body.front());
    if (store.kind != ValueKind::Operation || !is_name_store(store.op)) continue;
    const ValueId subject = resolve(store.operands[0]);
    bool inverted = false;
    if (!subject || block_of(subject) == b || tested_by(resolve(node.value), inverted) != subject ||
        !keeps(b, subject, home_of(subject)))
      continue;
    const std::size_t stores = leading_stores(b, subject, nullptr);
    if (stores == node.body.size()) continue;
    const BlockId tests = s_.split_off(b, stores);
    tests_behind_.emplace(b.index, tests);
    split_from_.emplace(tests.index, b);
  }
}

std::span<const ValueId> Matcher::stack_at(BlockId b) const {
  if (const auto split = split_from_.find(b.index); split != split_from_.end()) b = split->second;
  if (b.index >= s_.lifted.blocks.size()) return {};
  return s_.lifted.blocks[b.index].stack_in;
}

std::size_t Matcher::leading_stores(BlockId b, ValueId subject, std::vector<ValueId>* stores,
                                    std::size_t from) {
  const Node& node = s_.nodes[b.index];
  std::size_t n = 0;
  for (std::size_t i = from; i < node.body.size(); ++i) {
    if (!stores_subject(node.body[i], subject)) break;
    if (stores) stores->push_back(node.body[i]);
    ++n;
  }
  return n;
}

std::uint32_t Matcher::home_of(ValueId subject) {
  const Value& value = s_.at(subject);
  if (value.kind == ValueKind::Operation) return value.height;
  const auto place_in = [&](BlockId b) {
    if (b.index >= s_.lifted.blocks.size()) return kNone;
    const auto& stack = s_.lifted.blocks[b.index].stack_in;
    const auto lowest =
        std::ranges::find_if(stack, [&](ValueId v) { return v && resolve(v) == subject; });
    return lowest == stack.end() ? kNone : static_cast<std::uint32_t>(lowest - stack.begin());
  };
  if (value.kind != ValueKind::Select) return place_in(value.block);
  // Of a comprehension, whose operations are no longer in its block: where its block leaves it.
  const Node& node = s_.nodes[block_of(subject).index];
  for (int k = 0; k < node.edge_count(); ++k)
    if (const std::uint32_t home = place_in(node.edges[k].to); home != kNone) return home;
  return kNone;
}

bool Matcher::keeps(BlockId b, ValueId subject, std::uint32_t home) {
  const std::span<const ValueId> stack = stack_at(b);
  if (home >= stack.size() || !stack[home] || resolve(stack[home]) != subject) return false;
  for (ValueId v : s_.nodes[b.index].body) {
    const Value& value = s_.at(v);
    if (value.kind != ValueKind::Operation) return false;
    return value.height > home || (value.height == home && !value.operands.empty() &&
                                   resolve(value.operands[0]) == subject);
  }
  return false;
}

BlockId Matcher::case_behind_guard(BlockId b, ValueId subject) {
  if (const auto tests = tests_behind_.find(b.index); tests != tests_behind_.end())
    return tests->second;
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
    if (next == other && keeps(next, subject, home)) return next;  // `if f() and False`
    if (!keeps(next, subject, home))
      return other && other != b && next != other && other != block_of(subject) &&
                     keeps(other, subject, home)
                 ? other
                 : BlockId();
    b = next;
  }
  return {};
}

bool Matcher::has_wildcard(std::uint32_t t, std::uint32_t home, bool stays) {
  const Tree& tree = trees_[t];
  for (std::size_t i = 0; i < tree.yes.args.size(); ++i)
    if (resolve(tree.yes.args[i]) != resolve(tree.no.args[i]) &&
        !dead(s_.nodes[tree.yes.to.index].params[i]))
      return true;
  if (tree.kind == Tree::Or) return false;  // each of `a | b` comes after a copy of the subject
  const std::uint32_t place = place_of(t);
  return home != kNone && place != kNone && place > home + (stays ? 1 : 0);
}

std::vector<std::uint32_t> Matcher::split_cases(std::uint32_t t, std::uint32_t home, bool stays) {
  if (trees_[t].kind != Tree::Or || !trees_[t].outs.empty() || !trees_[t].tail.empty()) return {t};
  const std::vector<std::uint32_t> kids = trees_[t].kids;
  const bool shared = preds_[trees_[t].yes.to.index] > 1;
  std::vector<std::uint32_t> firsts;  // of the cases
  // a case's first test comes after a copy of the subject, but for the last one's; an
  // alternative's after one more
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
    const std::size_t begin = firsts[i], end = i + 1 < firsts.size() ? firsts[i + 1] : kids.size();
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

bool Matcher::uses_value(BlockId b, ValueId v, std::size_t from) {
  const Node& node = s_.nodes[b.index];
  if (node.value && resolve(node.value) == v) return true;
  for (std::size_t i = from; i < node.body.size(); ++i)
    for (ValueId o : s_.at(node.body[i]).operands)
      if (resolve(o) == v) return true;
  return false;
}

bool Matcher::holds_subject(BlockId b, ValueId subject) {
  if (b.index >= s_.lifted.blocks.size() || s_.nodes[b.index].term != TermKind::Branch)
    return false;
  if (const std::uint32_t t = tree_of_[b.index]; t != kNone && unmistakable(t)) return false;
  const auto& stack = s_.lifted.blocks[b.index].stack_in;
  return !stack.empty() && stack.back() && resolve(stack.back()) == subject;
}

std::uint32_t Matcher::least_column(BlockId b, ValueId subject) {
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

std::vector<Found> Matcher::captures_before(BlockId head, ValueId subject, BlockId& at) {
  const BlockId start = block_of(subject);
  const Node& node = s_[start];
  const std::uint32_t t = tree_of_[head.index];
  // The test of a guard looks like one of a pattern, too: `case k if k is None`.
  const bool tests_it = t != kNone && resolve(trees_[t].tested) == subject;
  if ((tests_it && (start == head || trees_[t].own)) || !node.alive || node.match != kNone ||
      node.region != s_[head].region)
    return {};
  const auto position = std::find(node.body.begin(), node.body.end(), subject);
  if (position == node.body.end() && s_.at(subject).kind != ValueKind::Param) return {};
  Found found;
  found.block = start;
  found.prefix =
      position == node.body.end() ? 0 : static_cast<std::size_t>(position - node.body.begin()) + 1;
  while (found.prefix < node.body.size() && stores_subject(node.body[found.prefix], subject) &&
         s_.at(node.body[found.prefix]).line == s_.at(subject).line && s_.at(subject).line > 0)
    ++found.prefix;  // `match (x := f()):`
  std::vector<Found> before;
  for (std::size_t steps = 0; steps < kMaxFailures; ++steps) {
    leading_stores(found.block, subject, &found.stores, found.prefix);
    if (uses_value(found.block, subject, found.prefix + found.stores.size()))
      return {};  // a guard cannot: `a == b == 0`
    before.push_back(found);
    const BlockId next = case_behind_guard(found.block, subject);
    if (next == head || (next && head == start)) {
      at = next;
      return before;
    }
    if (!next || tree_of_[next.index] != kNone || s_[next].region != node.region) return {};
    found = Found();
    found.block = next;
  }
  return {};
}

BlockId Matcher::add_tests(BlockId at, ValueId subject, std::uint32_t home,
                           std::vector<Found>& cases) {
  const std::uint32_t t = tree_of_[at.index];
  const BlockId next = trees_[t].no.to;
  const bool stays = next && (tests_subject(next, subject) || keeps(next, subject, home));
  for (std::uint32_t part : split_cases(t, home, stays)) {
    Found found;
    found.tree = part;
    found.block = trees_[part].first;
    cases.push_back(found);
  }
  if (std::uint32_t& part = cases.back().tree;
      may_always_match(part) && has_wildcard(part, home, stays))
    part = match_always(part);
  const Tree& last = trees_[cases.back().tree];
  return last.no.to || !keeps(last.yes.to, subject, home) ? last.no.to
                                                          : case_behind_guard(last.yes.to, subject);
}

void Matcher::chain(BlockId head, ValueId subject) {
  if (failures_ > kMaxFailures) return;
  std::unordered_set<std::uint32_t> visited;
  const std::uint32_t home = home_of(subject);
  // a first case that always matches, with a guard: it stands where the subject is computed
  BlockId at = head;
  std::vector<Found> cases = captures_before(head, subject, at);
  bool certain = !cases.empty();
  if (certain)
    head = cases.front().block;
  else if (tree_of_[head.index] == kNone)
    return;
  while (at) {
    if (!visited.insert(at.index).second || (at == head && !cases.empty())) break;
    if (at != head && s_.nodes[at.index].region != s_.nodes[head.index].region) break;
    if ((at == head && cases.empty()) || tests_subject(at, subject)) {
      const std::size_t before = cases.size();
      at = add_tests(at, subject, home, cases);
      certain |= cases.size() > before + 1;
      continue;
    }
    Found found;
    found.block = at;
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
    certain |=
        found.tree != kNone && (unmistakable(found.tree) || is_on_later_line(found.tree, subject));
  if (certain && build_patterns(cases, subject, head)) apply(cases, subject, head);
}

bool Matcher::build_patterns(std::vector<Found>& cases, ValueId subject, BlockId head) {
  try {
    for (Found& found : cases) {
      if (found.tree != kNone) {
        if (trees_[found.tree].no.to && !takes_nothing(trees_[found.tree].no.to)) return false;
        build(found, subject, head);
        continue;
      }
      std::vector<Capture> captures;
      for (ValueId store : found.stores) captures.push_back({subject, store, false});
      Scope scope;
      scope.captures = &captures;
      found.pattern = bind(scope, subject, {});
      found.line = found.stores.empty() ? s_.nodes[found.block.index].term_line
                                        : s_.at(found.stores.back()).line;
    }
  } catch (const Failed&) {
    ++failures_;
    return false;
  }
  return true;
}

void Matcher::chain_of_captures(BlockId b) {
  const Node& node = s_.nodes[b.index];
  if (!node.alive || node.match != kNone || node.body.empty()) return;
  const Value& store = s_.at(node.body.front());
  if (store.kind != ValueKind::Operation || !is_name_store(store.op)) return;
  const ValueId subject = resolve(store.operands[0]);
  const ValueKind kind = s_.at(subject).kind;
  if (!subject ||
      (kind != ValueKind::Operation && kind != ValueKind::Param && kind != ValueKind::Select))
    return;
  const BlockId start = block_of(subject);
  if (start == b || s_.nodes[start.index].match != kNone || !keeps(b, subject, home_of(subject)))
    return;
  chain(start, subject);
}

bool Matcher::is_on_later_line(std::uint32_t t, ValueId subject) {
  while (!trees_[t].kids.empty()) t = trees_[t].kids.front();
  const BlockId first = trees_[t].first;  // none where the pattern takes anything
  const ValueId test = first ? resolve(s_.nodes[first.index].value) : ValueId();
  return test && s_.at(subject).kind == ValueKind::Operation && s_.at(subject).line > 0 &&
         s_.at(test).line > s_.at(subject).line;
}

bool Matcher::unmistakable(std::uint32_t t) {
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

void Matcher::set_subject(BlockId head, ValueId subject, std::size_t count) {
  Select select;
  select.kind = Select::Subject;
  const ValueId id = s_.add_select(select, head, subject, subject);
  Node& node = s_.nodes[head.index];
  node.body.resize(count);
  node.body.push_back(id);
  node.value = id;
}

void Matcher::share_written_jumps(BlockId b, std::int32_t line) {
  std::vector<BlockId> guard;
  std::unordered_set<std::uint32_t> visited;
  while (line > 0 && s_.nodes[b.index].alive && s_.nodes[b.index].term == TermKind::Branch &&
         s_.nodes[b.index].match == kNone && s_.nodes[b.index].term_line == line &&
         visited.insert(b.index).second) {
    guard.push_back(b);
    b = s_.nodes[b.index].edges[s_.nodes[b.index].falls].to;
  }
  if (guard.size() < 2) return;
  for (const Edge& last : s_.nodes[guard.back().index].edges)
    for (BlockId operand : guard)
      for (Edge& edge : s_.nodes[operand.index].edges)
        if (last.written && edge.to == last.to && !edge.written) edge.written = last.written;
}

void Matcher::move_tree(BlockId from, BlockId to) {
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

void Matcher::apply(const std::vector<Found>& cases, ValueId subject, BlockId head) {
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
      const ValueId value = found.block == head ? node.value : ValueId();
      if (found.block != head) node.body.clear();
      node.jump_to(body);
      node.value = value;
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

}  // namespace depyf::match

namespace depyf {

void recognise_matches(StructureGraph& s) {
  if (!s.lifted.traits.source_order) match::Matcher(s).run();  // 3.10+
}

}  // namespace depyf
