// Copies of exits, which the compiler makes, become one block again.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "structure/build.h"
#include "structure/copies.h"
#include "structure/graph.h"
#include "structure/jumps.h"
#include "structure/operations.h"
#include "structure/steps.h"
#include "support/small_vector.h"

namespace depyf {

namespace {

/// Does the edge leave a chain of comparisons whose test has failed? It hands over what was
/// compared with, and above it the test's own value where a statement drops that.
bool leaves_chain(StructureGraph& s, const Node& node, const Edge& edge) {
  if (node.term != TermKind::Branch || edge.args.empty() || edge.args.size() > 2) return false;
  const ValueId test = s.resolve(node.value);
  const Value& v = s.at(test);
  return v.kind == ValueKind::Operation && kComparisons[v.op] &&
         s.resolve(edge.args[0]) == s.resolve(v.operands[1]) &&
         (edge.args.size() == 1 || s.resolve(edge.args[1]) == test);
}

/// `f(a < b < c < d)`: where one of a chain's comparisons fails, what it compared with is dropped
/// below its value. Such a parameter, beside one that is read, is none. So are all, where nothing
/// but failed comparisons leads to a block that reads none.
void drop_unread_params(StructureGraph& s) {
  if (std::none_of(s.nodes.begin(), s.nodes.end(),
                   [](const Node& node) { return node.alive && !node.params.empty(); }))
    return;
  SmallVector<std::uint8_t, 256> wanted(s.nodes.size()), otherwise(s.nodes.size());
  for (const Node& node : s.nodes)
    for (int k = 0; node.alive && k < node.edge_count(); ++k)
      if (!leaves_chain(s, node, node.edges[k])) otherwise[node.edges[k].to.index] = 1;
  bool any = false;
  for (std::size_t i = 0; i < s.nodes.size(); ++i) {
    const std::vector<ValueId>& params = s.nodes[i].params;
    if (!s.nodes[i].alive || params.empty()) continue;
    const auto unread = std::count_if(params.begin(), params.end(),
                                      [&](ValueId p) { return s.uses[p.index] == 0; });
    // Two that nothing reads are what a chain of comparisons leaves, of a statement before a jump
    // back; one is the value of a statement.
    const bool of_chain = otherwise[i] == 0 || (params.size() > 1 && s.nodes[i].body.empty() &&
                                                s.nodes[i].term == TermKind::Jump);
    wanted[i] = unread > 0 && (of_chain || static_cast<std::size_t>(unread) < params.size());
    any |= wanted[i] != 0;
  }
  if (!any) return;
  for (const StructRegion& region : s.regions)
    wanted[region.handler.index] = 0;  // exceptions lead there too
  for (Node& node : s.nodes)
    for (int k = 0; node.alive && k < node.edge_count(); ++k) {
      Edge& edge = node.edges[k];
      if (!wanted[edge.to.index]) continue;
      std::vector<ValueId> args;
      for (std::size_t p = 0; p < edge.args.size(); ++p)
        if (s.uses[s.nodes[edge.to.index].params[p].index] != 0) args.push_back(edge.args[p]);
      edge.args = s.lifted.arena.copy(args);
    }
  for (std::size_t i = 0; i < s.nodes.size(); ++i)
    if (wanted[i])
      std::erase_if(s.nodes[i].params, [&](ValueId p) { return s.uses[p.index] == 0; });
  s.count_uses();
}

/// Does the block end as block `m` does, of the same lines? Then the value that it has in place of
/// m's parameter.
ValueId end_of_parameter(StructureGraph& s, BlockId block, BlockId m) {
  const Node &node = s.nodes[block.index], &end = s.nodes[m.index];
  if (node.body.size() < end.body.size() || node.raise_args.size() != end.raise_args.size())
    return {};
  CopiedRun run(s, node, end, end.body.size());
  run.parameter = end.params[0];
  run.equal_constants = false;  // what lay on the stack before is not there on another way
  const auto same = [&](ValueId x, ValueId y) {
    return s.at(x).line == s.at(y).line && s.same_operation(s.at(x), s.at(y));
  };
  if (!run.same_operations(same) || !run.same_values(node.raise_args, end.raise_args) ||
      !run.same_value(node.value, end.value))
    return {};
  // the end of the function, after a statement that returns
  if (s.lifted.traits.source_order && end.body.empty() && s.is_none(run.handed)) return {};
  return run.handed;
}

/// `return f(a or b < c < d)`, or `finally: x = a and (b if c else d)`: where several ways hand a
/// value to the end of a statement that leaves the function or raises again, and another way has a
/// copy of that end, the copy becomes a jump.
bool join_ends_of_parameters(StructureGraph& s) {
  constexpr std::size_t kLongest = 8;
  if (s.options.made_by_dynamo) return false;
  using Key = std::tuple<std::uint64_t, TermKind, std::int32_t>;
  std::map<Key, std::vector<BlockId>> shared;
  auto key = [](const Node& node) {
    return Key{node.region ? node.region.index : UINT32_MAX, node.term, node.term_line};
  };
  auto leaves = [](const Node& node) {
    return node.alive && ((node.term_line > 0 &&
                           (node.term == TermKind::Return || node.term == TermKind::Raise)) ||
                          node.term == TermKind::Reraise);
  };
  for (std::size_t i = 0; i < s.nodes.size(); ++i)
    if (leaves(s.nodes[i]) && s.nodes[i].params.size() == 1 && s.nodes[i].body.size() <= kLongest)
      shared[key(s.nodes[i])].push_back(BlockId(static_cast<std::uint32_t>(i)));
  if (shared.empty()) return false;
  bool any = false;
  for (std::size_t i = 0; i < s.nodes.size(); ++i) {
    if (!leaves(s.nodes[i])) continue;
    auto found = shared.find(key(s.nodes[i]));
    if (found == shared.end()) continue;
    for (BlockId m : found->second) {
      if (m.index == i) continue;
      const ValueId handed = end_of_parameter(s, BlockId(static_cast<std::uint32_t>(i)), m);
      if (!handed) continue;
      Node& node = s.nodes[i];
      node.body.resize(node.body.size() - s.nodes[m.index].body.size());
      s.jump_with(node, m, handed);
      any = true;
      break;
    }
  }
  return any;
}

/// A `return` or `raise`, and from 3.10 on the end of a `finally`, is there once, however often the
/// compiler copied it: ends of blocks that are the same operations of the same lines.
class EqualEnds {
 public:
  struct End {
    BlockId block;
    std::size_t first;  // where the statement begins in the body
  };
  explicit EqualEnds(StructureGraph& s) : s_(s) {}

  /// By what the ends do and where they stand.
  std::map<std::vector<std::uint64_t>, std::vector<End>> find() {
    for (const Node& node : s_.nodes)
      if (is_end(node)) places_.push_back(place_of(node));
    if (places_.size() < 2) return {};
    std::sort(places_.begin(), places_.end());
    std::map<std::vector<std::uint64_t>, std::vector<End>> groups;
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i) {
      const Node& node = s_.nodes[i];
      if (!is_end(node)) continue;
      const Place place = place_of(node);
      const auto [same, behind] = std::equal_range(places_.begin(), places_.end(), place);
      if (behind - same < 2) continue;
      if (const Statement statement = statement_of(BlockId(i)); statement.first != kNone)
        groups[key_of(node, place, statement)].push_back({BlockId(i), statement.first});
    }
    return groups;
  }

 private:
  static constexpr std::size_t kLongest = 32, kNone = SIZE_MAX;
  struct Place {
    std::uint32_t region;
    TermKind term;
    std::int32_t line;
    auto operator<=>(const Place&) const = default;
  };
  struct Statement {
    std::size_t first;  // kNone: there is none
    std::int32_t line;  // 0: the end of a class, which the compiler adds
  };

  bool is_end(const Node& node) const {
    return (node.term == TermKind::Return || node.term == TermKind::Raise ||
            (node.term == TermKind::Reraise && !s_.lifted.traits.source_order)) &&
           node.alive;
  }
  Place place_of(const Node& node) const {
    const bool anywhere =
        node.term == TermKind::Reraise || class_epilogue(s_, node) < node.body.size();
    return {node.region.index, node.term, anywhere ? 0 : node.term_line};
  }
  /// The return of a constant is cheap to repeat, and often implicit: it counts together with the
  /// statement before it. So does the end of a `finally`.
  bool counts_with_statement(const Node& node) const {
    return node.term == TermKind::Reraise || (node.value && s_.is_const(s_.resolve(node.value)));
  }
  /// A `return` inside of loops drops their iterators.
  bool drops_iterator(const Value& value) const {
    const ValueId dropped = s_.resolve(value.operands[0]);
    return s_.is_op(dropped, Op::GET_ITER) || s_.is_op(dropped, Op::GET_AITER);
  }

  Statement statement_of(BlockId b) const {
    const Node& node = s_[b];
    const bool constant = counts_with_statement(node);
    if (const std::size_t epilogue = class_epilogue(s_, node); epilogue < node.body.size())
      return {epilogue, 0};
    std::size_t first = node.body.size();
    std::int32_t line = node.term_line;
    // Without rows, only a short `raise` that no `assert` makes counts.
    if (line == 0 && node.term == TermKind::Raise && node.body.size() <= 1 &&
        !s_.fails_assertion(b))
      return {0, 0};
    if (line == 0) return {kNone, 0};
    if (constant) {
      while (first > 0 && s_.is_const(node.body[first - 1])) --first;
      line = first > 0 ? s_.at(node.body[first - 1]).line : 0;
      if (line == 0) return {kNone, 0};
    }
    const std::size_t statement_end = first;
    // a statement of several rows has operands on other rows
    std::vector<ValueId> taken{s_.resolve(node.value)};
    for (ValueId v : node.raise_args) taken.push_back(s_.resolve(v));
    while (first > 0 && node.body.size() - first < kLongest) {
      const Value& value = s_.at(node.body[first - 1]);
      if (value.kind != ValueKind::Operation || value.op == Op::POP_EXCEPT ||
          (value.op == Op::POP_TOP && (constant || !drops_iterator(value))))
        break;
      // of a pattern on the row, `case int(): return a`, or of a statement before
      if (!constant && (value.op == Op::UNPACK_SEQUENCE || value.op == Op::UNPACK_EX)) break;
      if (value.line != line &&
          std::find(taken.begin(), taken.end(), node.body[first - 1]) == taken.end())
        break;
      if (!constant &&
          (value.op == Op::STORE_FAST || value.op == Op::STORE_NAME || value.op == Op::DELETE_FAST))
        break;
      for (ValueId operand : value.operands) taken.push_back(s_.resolve(operand));
      --first;
    }
    if (constant && first == statement_end) return {kNone, 0};
    return {first, line};
  }

  std::vector<std::uint64_t> key_of(const Node& node, const Place& place,
                                    const Statement& statement) const {
    const std::size_t first = statement.first;
    // a constant by its index: equal ones of one code object are the same one
    const auto constant = [&](ValueId v) {
      return (std::uint64_t{1} << 41) + s_.at(s_.resolve(v)).arg;
    };
    const auto name = [&](ValueId v) -> std::uint64_t {
      v = s_.resolve(v);
      if (!v) return UINT64_MAX;
      for (std::size_t k = first; k < node.body.size(); ++k)
        if (node.body[k] == v) return k - first;
      return (std::uint64_t{1} << 40) + v.index;
    };
    const bool returns_constant =
        node.term != TermKind::Reraise && node.value && s_.is_const(s_.resolve(node.value));
    std::vector<std::uint64_t> key{place.region, static_cast<std::uint64_t>(place.term),
                                   static_cast<std::uint64_t>(place.line),
                                   returns_constant ? constant(node.value) : name(node.value)};
    for (ValueId v : node.raise_args) key.push_back(name(v));
    for (std::size_t k = first; k < node.body.size(); ++k) {
      const Value& value = s_.at(node.body[k]);
      const bool loads = value.op == Op::LOAD_CONST;
      key.push_back((static_cast<std::uint64_t>(value.op) << 32) + (loads ? 0 : value.arg));
      key.push_back(loads ? constant(node.body[k]) : value.aux);
      // what the compiler adds takes its place from what stands before; up to 3.10 the line is all
      // of the place
      const std::uint64_t row = static_cast<std::uint32_t>(value.line);
      key.push_back(statement.line == 0 ? 0
                                        : (row << 32) + StructureGraph::columns_of_copies(value));
      for (ValueId operand : value.operands) key.push_back(name(operand));
    }
    return key;
  }

  StructureGraph& s_;
  SmallVector<Place, 32> places_;
};

/// Do two blocks of one region end in copies of one store, of whatever values?
bool same_store(StructureGraph& s, BlockId a, BlockId b) {
  const Node &x = s.nodes[a.index], &y = s.nodes[b.index];
  if (x.region != y.region || x.body.empty() || y.body.empty()) return false;
  const Value &p = s.at(x.body.back()), &q = s.at(y.body.back());
  if (p.kind != ValueKind::Operation || !is_name_store(p.op) || p.op != q.op || p.arg != q.arg ||
      p.line != q.line || p.columns != q.columns || p.columns == 0)
    return false;
  // a part of a pattern's subject, or the subject: what was computed right before is an arm of a
  // conditional expression
  const auto captured = [&](ValueId v, BlockId b) {
    return s.at(v).kind == ValueKind::Result || (!s.is_const(v) && s.at(v).block != b);
  };
  return captured(s.resolve(p.operands[0]), a) && captured(s.resolve(q.operands[0]), b);
}

/// How many operations at the end of a block are those of its last row.
std::size_t last_statement(StructureGraph& s, BlockId b) {
  const std::vector<ValueId>& body = s[b].body;
  const auto before = std::find_if(body.rbegin(), body.rend(), [&](ValueId v) {
    return s.at(v).line != s.at(body.back()).line;
  });
  return static_cast<std::size_t>(before - body.rbegin());
}

/// Blocks that end in the same statement, of those that end in one: at most one group for each row
/// and statement, and few statements of a row.
std::vector<std::vector<BlockId>> ending_alike(StructureGraph& s,
                                               const std::vector<BlockId>& blocks) {
  constexpr int kStatements = 16;
  std::map<std::int32_t, std::vector<BlockId>> rows;
  for (BlockId b : blocks)
    if (!s[b].body.empty() && s.at(s[b].body.back()).line > 0)
      rows[s.at(s[b].body.back()).line].push_back(b);
  std::vector<std::vector<BlockId>> groups;
  for (auto& [line, row] : rows)
    for (int k = 0; k < kStatements && row.size() > 1; ++k) {
      const BlockId first = row[0];
      const std::size_t length = last_statement(s, first);
      const auto others = std::stable_partition(row.begin(), row.end(), [&](BlockId b) {
        return b == first || same_operations(s, first, b, length);
      });
      if (others - row.begin() > 1) groups.emplace_back(row.begin(), others);
      row.erase(row.begin(), others);
    }
  return groups;
}

/// A short end may be more than one statement: what stands in each copy before the end that they
/// have in common now. A store that takes another value in each copy takes a parameter, but not for
/// copies in a handler and outside: a `finally` has its patterns twice, which are no alternatives
/// of one. Where some of them have another statement there, or none, that of the others is theirs
/// together: `n = 1` behind a `with`, beside `n = 2` in the `else` around it.
void join_before_ends(StructureGraph& s, const std::vector<BlockId>& into,
                      const std::vector<std::uint8_t>& reached_normally) {
  constexpr int kStatements = 16;
  for (int round = 0; round < kStatements; ++round) {
    const Node& first = s.nodes[into[0].index];
    std::size_t length = last_statement(s, into[0]);  // the same in all of them
    const bool ends_in_statement = length > 0 && s.at(first.body.back()).line > 0 &&
                                   s.at(first.body.back()).op != Op::POP_EXCEPT;
    const bool equal =
        ends_in_statement && std::all_of(into.begin() + 1, into.end(), [&](BlockId b) {
          return same_operations(s, into[0], b, length);
        });
    const bool stored =
        ends_in_statement && !equal && std::all_of(into.begin(), into.end(), [&](BlockId b) {
          return same_store(s, into[0], b) &&
                 reached_normally[b.index] == reached_normally[into[0].index];
        });
    if (!equal && !stored) {
      for (const std::vector<BlockId>& alike : ending_alike(s, into))
        if (alike.size() < into.size()) join_before_ends(s, alike, reached_normally);
      return;
    }
    if (stored) length = 1;
    Node statement = first;
    statement.params.clear();
    statement.body.assign(first.body.end() - static_cast<std::ptrdiff_t>(length), first.body.end());
    const BlockId before = s.add_node(std::move(statement));
    if (stored) s[before].params.push_back(s.add_param(before));
    for (BlockId b : into) {
      Node& node = s.nodes[b.index];
      node.edges[0] = Edge{before, stored ? s.at(node.body.back()).operands
                                          : std::span<ValueId>()};  // the value is handed on
      node.body.resize(node.body.size() - length);
      if (node.body.empty()) node.term_line = 0;
    }
    if (stored)
      s.lifted.values[s.nodes[before.index].body[0].index].operands =
          s.lifted.arena.copy(s.nodes[before.index].params);
  }
}

bool join_equal_ends(StructureGraph& s) {
  bool any = false;
  std::vector<std::uint8_t> reached_normally;
  for (auto& [key, ends] : EqualEnds(s).find()) {
    if (ends.size() < 2) continue;
    if (!any) reached_normally = s.reached(false);
    any = true;
    const BlockId common = s.split_off(ends[0].block, ends[0].first);
    std::vector<BlockId> copies;
    for (const EqualEnds::End& end : ends) {
      Node& node = s.nodes[end.block.index];
      node.body.resize(end.first);
      node.jump_to(common);
      if (node.body.empty()) node.term_line = 0;  // no `break` or `continue`
      copies.push_back(end.block);
    }
    join_before_ends(s, copies, reached_normally);
  }
  return any;
}

/// The same after code that a statement protects: the return of a constant stands outside of it,
/// each copy has its own.
bool join_returns_behind_regions(StructureGraph& s) {
  std::map<std::array<std::uint64_t, 6>, std::vector<BlockId>> groups;
  for (std::size_t i = 0; i < s.nodes.size(); ++i) {
    const Node& node = s.nodes[i];
    if (!node.alive || !node.region || !node.is_plain_jump() || node.body.empty()) continue;
    const Node& end = s.nodes[node.edges[0].to.index];
    const ValueId value = s.resolve(end.value);
    const bool returns = end.term == TermKind::Return && end.pred_count == 1 &&
                         end.params.empty() && s.is_const(value) && end.region != node.region;
    if (!returns || !s.are_constants(end.body)) continue;
    const Value& last = s.at(node.body.back());
    if (last.kind != ValueKind::Operation || last.line <= 0 || end.term_line <= 0 ||
        last.op == Op::POP_TOP || last.op == Op::POP_EXCEPT)
      continue;
    const auto pair = [](std::uint64_t high, std::uint64_t low) { return (high << 32) | low; };
    groups[{pair(node.region.index, end.region ? end.region.index : UINT32_MAX),
            pair(s.at(value).arg, static_cast<std::uint32_t>(end.term_line)),
            pair(end.term_columns, s.columns_of_copies(last)),
            pair(static_cast<std::uint32_t>(last.line), last.arg),
            static_cast<std::uint64_t>(last.op), last.operands.size()}]
        .push_back(BlockId(static_cast<std::uint32_t>(i)));
  }
  bool any = false;
  std::vector<std::uint8_t> reached_normally;
  for (auto& [key, copies] : groups) {
    if (copies.size() < 2) continue;
    if (!any) reached_normally = s.reached(false);
    any = true;
    const BlockId end = s.nodes[copies[0].index].edges[0].to;
    for (std::size_t i = 1; i < copies.size(); ++i) {
      s.nodes[s.nodes[copies[i].index].edges[0].to.index].alive = false;
      s.nodes[copies[i].index].edges[0].to = end;
    }
    join_before_ends(s, copies, reached_normally);
  }
  return any;
}

/// A bare re-raise of one exception, the return of one value that is on the stack, a `return` that
/// stands in one line. Where there is a `finally`, also the implicit `return None`, which takes its
/// line from what stands before it.
class ExitCopies {
 public:
  explicit ExitCopies(StructureGraph& s) : s_(s), before_(s.nodes.size()) {
    any_finally_ = std::ranges::any_of(s_.regions, &StructRegion::is_written_finally);
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i)
      if (const Node& node = s_.nodes[i]; node.alive)
        for (int k = 0; k < node.edge_count(); ++k) {
          const std::uint32_t to = node.edges[k].to.index;
          before_[to] = {BlockId(i), node.term == TermKind::Branch && to == i + 1};
        }
  }

  bool join() {
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i)
      if (s_.nodes[i].alive) note_end(BlockId(i));
    std::sort(ends_.begin(), ends_.end());
    bool any = false;
    for (const End *from = ends_.begin(), *behind = from; from != ends_.end(); from = behind) {
      while (behind != ends_.end() && behind->is_copy_of(*from)) ++behind;
      if (behind - from < 2) continue;
      join(std::span(from, behind));
      any = true;
    }
    return any;
  }

 private:
  struct End {
    RegionId region;
    enum Kind : std::uint8_t {
      RaisesAgain,
      ReturnsValue,
      ReturnsNone,
      Written
    } kind;                  // ReturnsNone: implicitly
    std::uint64_t what;      // the value; Written: the place
    std::uint32_t constant;  // Written: that is returned
    BlockId block;
    auto operator<=>(const End&) const = default;
    bool is_copy_of(const End& other) const {
      return region == other.region && kind == other.kind && what == other.what &&
             constant == other.constant;
    }
  };
  struct Before {
    BlockId block;            // where the way into a block comes from
    bool next_to_it = false;  // from the block before it
  };

  /// Does the operation drop the iterator of a loop which code follows? Without columns (3.10)
  /// nothing tells `break` and all of that in an `else` from `return`, which is usual.
  bool leaves_loop_before_code(ValueId v) {
    if (!s_.is_op(v, Op::POP_TOP)) return false;
    if (behind_loop_.empty()) {
      behind_loop_.resize(s_.lifted.values.size());
      for (const Node& node : s_.nodes)
        if (node.alive && node.term == TermKind::ForIter)
          behind_loop_[s_.resolve(node.value).index] = node.edges[1].to;
    }
    const BlockId behind = behind_loop_[s_.resolve(s_.at(v).operands[0]).index];
    return behind && !(s_[behind].term == TermKind::Return && s_.are_quiet(s_[behind].body));
  }

  /// The line before block `b`, past blocks that do nothing.
  std::int32_t line_before(BlockId b) const {
    for (int steps = 0; steps < kMostHops; ++steps) {
      b = before_[b.index].block;
      if (!b) return 0;
      const Node& node = s_.nodes[b.index];
      if (node.term != TermKind::Jump) return node.term_line;
      const auto last = std::find_if_not(node.body.rbegin(), node.body.rend(),
                                         [&](ValueId v) { return s_.is_quiet(v); });
      if (last != node.body.rend()) return s_.at(*last).line;
    }
    return 0;
  }

  void note_end(BlockId b) {
    const Node& node = s_[b];
    const ValueId value = s_.resolve(node.value);
    if (node.term == TermKind::Reraise) {
      ends_.push_back({node.region, End::RaisesAgain, value.index, 0, b});
      return;
    }
    if (!s_.options.joins_ends) return;  // a re-raise is no statement, the others are
    if (node.term == TermKind::Return && !s_.is_const(value)) {
      if (s_.at(value).block != b && s_.at(value).kind == ValueKind::Operation)
        ends_.push_back({node.region, End::ReturnsValue, value.index, 0, b});
    } else if (node.term == TermKind::Return && !s_.lifted.traits.source_order) {
      const std::uint32_t constant = s_.at(value).arg;
      const bool none = s_.is_none(value);
      if (!none && node.term_columns == 0) return;
      if (!none || is_written_return(s_, node))
        ends_.push_back({node.region, End::Written,
                         (static_cast<std::uint64_t>(node.term_line) << 32) + node.term_columns,
                         constant, b});
      else if (is_implicit(b))
        ends_.push_back({node.region, End::ReturnsNone, 0, 0, b});
    }
  }

  /// Is the `return None` of the line of what comes before it?
  bool is_implicit(BlockId b) {
    const Node& node = s_[b];
    std::int32_t line = 0;
    for (ValueId v : node.body)
      if (!s_.is_const(v) && !(node.term_columns == 0 && leaves_loop_before_code(v)))
        line = s_.at(v).line;
    if (line != 0) return line == node.term_line;
    const Before& before = before_[b.index];
    line = node.in_place ? line_before(b) : before.block ? s_[before.block].term_line : 0;
    // `if x: return` on one line is no implicit return: it directly follows its test.
    return line == node.term_line && (any_finally_ || !before.next_to_it);
  }

  void join(std::span<const End> copies) {
    Node common = s_[copies[0].block];
    common.params.clear();
    common.body.clear();
    common.value = s_.resolve(common.value);
    if (s_.is_const(common.value)) {
      common.value = s_.add_value(s_.at(common.value));
      common.body.push_back(common.value);
    }
    if (copies[0].kind == End::Written) take_drops(copies, common);
    const BlockId end = s_.add_node(std::move(common));
    for (const End& copy : copies) s_[copy.block].jump_to(end);
  }

  /// What a written return drops on its way belongs to it.
  void take_drops(std::span<const End> copies, Node& common) {
    const auto last_drop = [&](const End& copy) {  // the operation, or none
      const std::vector<ValueId>& body = s_[copy.block].body;
      const auto last =
          std::find_if_not(body.rbegin(), body.rend(), [&](ValueId v) { return s_.is_const(v); });
      return last != body.rend() && s_.is_op(*last, Op::POP_TOP) ? *last : ValueId();
    };
    for (;;) {
      const ValueId drop = last_drop(copies[0]);
      const auto drops_the_same = [&](const End& copy) {
        const ValueId other = last_drop(copy);
        return other && s_.resolve(s_.at(other).operands[0]) == s_.resolve(s_.at(drop).operands[0]);
      };
      if (!drop || !std::all_of(copies.begin(), copies.end(), drops_the_same)) return;
      common.body.insert(common.body.begin(), drop);
      for (const End& copy : copies) std::erase(s_[copy.block].body, last_drop(copy));
    }
  }

  StructureGraph& s_;
  bool any_finally_ = false;
  SmallVector<Before, 64> before_;
  std::vector<BlockId> behind_loop_;  // by iterator: where its loop leads when it ends
  SmallVector<End, 16> ends_;
};

/// At the end of `except … as name` 3.13+ copies the unbinding of the name, and the jump after it,
/// to each way there, with the place of what stands before: `finally: if not (a or b): break`. The
/// body of the `finally` has one end in its handler, where its tests are one condition.
bool join_unbindings(StructureGraph& s) {
  if (!std::ranges::any_of(s.regions, &StructRegion::is_written_finally)) return false;
  const auto is_empty = [](const Node& node) {
    return node.is_plain_jump() && node.body.empty() && node.edges[0].args.empty();
  };
  struct Unbinding {
    RegionId region;
    BlockId to;
    Op store;
    std::uint32_t name;
    auto operator<=>(const Unbinding&) const = default;
  };
  const auto unbinds = [&](const Node& node, Unbinding& found) {
    const bool implicit =
        node.at_test || (node.term_columns != 0 && !is_jump_width(node.term_columns));
    if (!node.alive || !implicit || !node.is_plain_jump() || !node.edges[0].args.empty() ||
        !node.params.empty())
      return false;
    SmallVector<ValueId, 4> code;
    for (ValueId v : node.body)
      if (!s.is_const(v)) code.push_back(v);
    if (code.size() != 2) return false;
    const Value &store = s.at(code[0]), &remove = s.at(code[1]);
    if (store.operands.size() != 1 || !s.is_none(s.resolve(store.operands[0])) ||
        !deletes_stored(store, remove))
      return false;
    found = {node.region, past_jumps(s, node.edges[0].to, is_empty), store.op, store.arg};
    return true;
  };
  bool any = false;
  for (bool again = true; again; any |= again) {  // an inner clause's leads to the outer one's
    again = false;
    std::map<Unbinding, BlockId> first;
    for (std::uint32_t i = 0; i < s.nodes.size(); ++i) {
      Unbinding found;
      if (!unbinds(s.nodes[i], found)) continue;
      const auto [place, alone] = first.emplace(found, BlockId(i));
      if (alone) continue;
      s.nodes[i].body.clear();
      s.nodes[i].jump_to(place->second);
      s.nodes[i].term_line = 0;  // no `continue`
      again = true;
    }
  }
  return any;
}

/// A `return` out of a handler, or of what a `with` holds, drops the iterators of the loops in
/// there before it leaves. Where all copies of one return come from such drops, each drop is one
/// block.
bool join_drops_before_returns(StructureGraph& s) {
  const auto returns_from_before = [&](const Node& node) {
    const ValueId value = s.resolve(node.value);
    return node.alive && node.term == TermKind::Return && node.body.empty() &&
           node.params.empty() && s.at(value).kind == ValueKind::Operation && !s.is_const(value);
  };
  const auto only_jumps = [&](BlockId b) {
    const Node& node = s[b];
    return node.is_plain_jump() && node.edges[0].args.empty();
  };
  if (s.regions.empty() || std::none_of(s.nodes.begin(), s.nodes.end(), returns_from_before))
    return false;
  std::vector<std::vector<BlockId>> preds(s.nodes.size());
  for (std::uint32_t i = 0; i < s.nodes.size(); ++i)
    for (int k = 0; s.nodes[i].alive && k < s.nodes[i].edge_count(); ++k)
      preds[s.nodes[i].edges[k].to.index].push_back(BlockId(i));
  // The blocks that lead to these and do something; none where one of them does not only jump.
  const auto ways_to = [&](std::vector<BlockId> work) {
    std::vector<BlockId> ways;
    for (std::size_t steps = 0; !work.empty(); ++steps) {
      const BlockId b = work.back();
      work.pop_back();
      if (!only_jumps(b) || steps == kMostCompared) return std::vector<BlockId>();
      if (!s[b].body.empty())
        ways.push_back(b);
      else if (s[b].params.empty())
        work.insert(work.end(), preds[b.index].begin(), preds[b.index].end());
      else
        return std::vector<BlockId>();
    }
    return ways;
  };
  bool any = false;
  for (std::uint32_t i = 0; i < preds.size(); ++i) {
    if (!returns_from_before(s.nodes[i])) continue;
    for (std::vector<BlockId> ways = ways_to(preds[i]); ways.size() > 1; ways = ways_to(ways)) {
      const ValueId drop = s[ways[0]].body.back();
      const bool equal =
          s.is_op(drop, Op::POP_TOP) && std::ranges::all_of(ways, [&](BlockId b) {
            const ValueId last = s[b].body.back();
            return s.is_op(last, Op::POP_TOP) && s[b].region == s[ways[0]].region &&
                   s.resolve(s.at(last).operands[0]) == s.resolve(s.at(drop).operands[0]);
          });
      if (!equal) break;
      const BlockId common = s.split_off(ways[0], s[ways[0]].body.size() - 1);
      for (BlockId b : ways) {
        if (b != ways[0]) s[b].body.pop_back();
        s[b].jump_to(common);
      }
      any = true;
    }
  }
  return any;
}

}  // namespace

/// Copies of one exit become one block again (compile.c and flowgraph.c copy exit blocks of up to
/// four instructions).
void join_exit_copies(StructureGraph& s) {
  if (!s.options.made_by_dynamo) drop_unread_params(s);
  bool any = join_ends_of_parameters(s);
  const bool joins = s.options.joins_ends;
  if (joins && !s.lifted.traits.source_order) {
    any |= join_equal_ends(s);
    any |= join_returns_behind_regions(s);
  }
  any |= ExitCopies(s).join();
  if (joins && !s.lifted.traits.source_order) any |= join_unbindings(s);
  if (joins) any |= join_drops_before_returns(s);
  if (any) s.recount();
}

/// The compiler copies a short end together with the body of the `finally` (3.10) or the exit of
/// the `with` before it: what is left of each copy is one end. Later the end stands in no handler's
/// way, and copies of it may be out of different loops.
void join_copies_behind_cleanups(StructureGraph& s) {
  if (s.lifted.traits.source_order || s.lifted.regions.empty()) return;
  const bool block_stack = s.lifted.regions[0].entry == HandlerEntry::Six;
  const bool any = std::any_of(s.regions.begin(), s.regions.end(), [&](const StructRegion& region) {
    return region.kind == RegionKind::With || (block_stack && region.is_written_finally());
  });
  if (any && join_equal_ends(s)) s.recount();
}

}  // namespace depyf
