// Expressions whose operands meet again in one copy of the code, and not in another one.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "structure/graph.h"
#include "structure/steps.h"

namespace depyf {
namespace {

/// A way to where the operands of an expression meet: its block makes one of them.
struct Way {
  BlockId block, merge;
};

/// A block that does what a way does, and then what the code does where operands meet.
struct Copy {
  BlockId block;
  std::size_t way;    // by number
  std::size_t first;  // the operation behind those of the way
  ValueId handed;     // what the way hands over
};

class CopiedMerges {
 public:
  explicit CopiedMerges(StructureGraph& s) : s_(s) {}

  bool join() {
    find_ways();
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i) note_copy(BlockId(i));
    bool any = false;
    for (auto& [key, copies] : copies_) any = join(std::get<0>(key), copies) || any;
    return join_lone_copies() || any;
  }

 private:
  using Operation = std::tuple<Op, std::uint32_t, std::int32_t>;  // argument, row
  /// Where the operands meet, and how their copies end.
  using Key = std::tuple<BlockId, TermKind, std::uint32_t, RegionId>;

  Operation operation(ValueId v) const {
    const Value& value = s_.at(v);
    return {value.op, value.arg, value.line};
  }

  void find_ways() {
    std::vector<std::uint32_t> jumps(s_.nodes.size(), 0);  // to each block, of ways
    const auto is_way = [&](const Node& node) {
      if (!node.alive || !node.is_plain_jump() || node.edges[0].args.size() != 1 ||
          node.body.empty() || node.pred_count != 1 || !node.params.empty())
        return false;
      const Node& merge = s_[node.edges[0].to];
      return s_.resolve(node.edges[0].args[0]) == node.body.back() && merge.params.size() == 1 &&
             merge.region == node.region && s_.at(node.body.back()).columns == 0;
    };
    for (const Node& node : s_.nodes)
      if (is_way(node)) ++jumps[node.edges[0].to.index];
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i) {
      const Node& node = s_.nodes[i];
      if (!is_way(node)) continue;
      const BlockId merge = node.edges[0].to;
      if (jumps[merge.index] < 2 || jumps[merge.index] != s_[merge].pred_count) continue;
      by_first_[operation(node.body[0])].push_back(ways_.size());
      ways_.push_back({BlockId(i), merge});
    }
  }

  /// Does the block begin with copies of the operations `code`?
  bool begins_with(const Node& node, std::span<const ValueId> code) {
    for (std::size_t i = 0; i < code.size(); ++i) {
      const Value &x = s_.at(node.body[i]), &y = s_.at(code[i]);
      if (x.kind != ValueKind::Operation || !s_.copied_operation(x, y) ||
          x.operands.size() != y.operands.size())
        return false;
      for (std::size_t k = 0; k < x.operands.size(); ++k)
        if (place(s_.resolve(x.operands[k]), node.body) != place(s_.resolve(y.operands[k]), code))
          return false;
    }
    return true;
  }
  static std::size_t place(ValueId v, std::span<const ValueId> code) {
    const auto found = std::ranges::find(code, v);
    return found == code.end() ? SIZE_MAX : static_cast<std::size_t>(found - code.begin());
  }

  void note_copy(BlockId b) {
    Node& node = s_[b];
    if (!node.alive || node.body.empty() || node.pred_count != 1 || !node.params.empty()) return;
    const auto found = by_first_.find(operation(node.body[0]));
    if (found == by_first_.end()) return;
    // where the rest of a short end was not copied to it
    while (node.edge_count() == 1 && node.edges[0].args.empty() && s_.can_merge(b)) s_.merge(b);
    if (!has_end(node)) return;
    for (std::size_t way : found->second) {
      const Node& original = s_[ways_[way].block];
      const std::size_t length = original.body.size();
      if (ways_[way].block == b || node.body.size() < length || !begins_with(node, original.body) ||
          !follows(node, ways_[way].merge, length))
        continue;
      std::vector<Copy>& copies = copies_[{ways_[way].merge, node.term, end_of(node), node.region}];
      if (std::ranges::any_of(copies, [&](const Copy& copy) { return copy.way == way; })) continue;
      copies.push_back({b, way, length, node.body[length - 1]});
      return;
    }
  }

  /// Does the block end as a short end does that is copied?
  bool has_end(const Node& node) {
    return node.term == TermKind::Reraise || returns_constant(node) ||
           (node.is_plain_jump() && node.edges[0].args.empty());
  }
  bool returns_constant(const Node& node) {
    return node.term == TermKind::Return && !node.body.empty() &&
           s_.resolve(node.value) == node.body.back() && s_.is_const(node.body.back());
  }
  /// What the blocks of one kind that end alike have in common.
  std::uint32_t end_of(const Node& node) {
    return node.term == TermKind::Jump     ? node.edges[0].to.index
           : node.term == TermKind::Return ? s_.at(node.body.back()).arg
                                           : s_.resolve(node.value).index;
  }

  /// Is what the block does behind a way that which the code does where the operands meet?
  bool follows(const Node& node, BlockId merge, std::size_t from) {
    const Node& behind = s_[merge];
    const std::size_t end = node.body.size() - returns_constant(node);
    if (end < from) return false;  // it returns what the way hands over
    const std::size_t own = end - from;
    const std::size_t length = std::min(own, behind.body.size());
    if (behind.body.empty() || (length == 0 && node.term == TermKind::Jump)) return false;
    for (std::size_t i = 0; i < length; ++i)
      if (!s_.copied_operation(s_.at(node.body[from + i]), s_.at(behind.body[i]))) return false;
    return true;
  }

  /// Are the copies the same behind what they hand over?
  bool same_tails(const Copy& a, const Copy& b) {
    const std::vector<ValueId>&x = s_[a.block].body, &y = s_[b.block].body;
    if (x.size() - a.first != y.size() - b.first) return false;
    const std::span<const ValueId> xs = std::span(x).subspan(a.first),
                                   ys = std::span(y).subspan(b.first);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const Value &v = s_.at(xs[i]), &w = s_.at(ys[i]);
      if (v.kind != ValueKind::Operation || !s_.copied_operation(v, w) ||
          v.operands.size() != w.operands.size())
        return false;
      for (std::size_t k = 0; k < v.operands.size(); ++k) {
        const ValueId p = s_.resolve(v.operands[k]), q = s_.resolve(w.operands[k]);
        if (p == a.handed || q == b.handed) {
          if (p != a.handed || q != b.handed) return false;
          continue;
        }
        const std::size_t at = place(p, xs);
        if (at != place(q, ys) || (at == SIZE_MAX && p != q)) return false;
      }
    }
    return true;
  }

  bool join(BlockId merge, const std::vector<Copy>& copies) {
    if (copies.size() != s_[merge].pred_count) return false;
    for (const Copy& copy : copies)
      if (!same_tails(copies[0], copy)) return false;
    const Node& first = s_[copies[0].block];
    Node tail = first;
    tail.body.erase(tail.body.begin(),
                    tail.body.begin() + static_cast<std::ptrdiff_t>(copies[0].first));
    const BlockId joined = s_.add_node(std::move(tail));
    const ValueId param = s_.add_param(joined);
    s_[joined].params.assign(1, param);
    for (ValueId v : s_[joined].body)
      for (ValueId& operand : s_.lifted.values[v.index].operands)
        if (operand && s_.resolve(operand) == copies[0].handed) operand = param;
    for (const Copy& copy : copies) {
      Node& node = s_[copy.block];
      node.body.resize(copy.first);
      s_.jump_with(node, joined, copy.handed);
    }
    return true;
  }

  /// `a or b` where the value of `a` is dropped, or taken, in a copy of its own: it leads to the
  /// block in which the other operands meet.
  bool join_lone_copies() {
    std::map<std::tuple<TermKind, std::uint32_t, RegionId>, std::vector<BlockId>> merges;
    const auto key = [&](const Node& node) {
      return std::tuple(node.term, end_of(node), node.region);
    };
    for (std::uint32_t i = 0; i < s_.nodes.size(); ++i) {
      const Node& node = s_.nodes[i];
      if (node.alive && node.params.size() == 1 && !node.body.empty() && has_end(node) &&
          s_.at(node.body.back()).columns == 0)
        merges[key(node)].push_back(BlockId(i));
    }
    if (merges.empty()) return false;
    bool any = false;
    for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
      Node& test = s_.nodes[i];
      if (!test.alive || !test.tests_value()) continue;
      const ValueId tested = s_.resolve(test.value);
      for (Edge& edge : test.edges) {
        Node& lone = s_[edge.to];
        if (lone.pred_count != 1 || !lone.params.empty() || lone.body.empty() || !has_end(lone) ||
            !is_top(edge.to, tested))
          continue;
        const auto found = merges.find(key(lone));
        if (found == merges.end()) continue;
        const auto merge = std::ranges::find_if(found->second, [&](BlockId b) {
          return s_[b].body.size() == lone.body.size() &&
                 same_tails({edge.to, 0, 0, tested}, {b, 0, 0, s_[b].params[0]});
        });
        if (merge == found->second.end()) continue;
        lone.alive = false;
        edge = Edge{*merge, s_.lifted.arena.copy(std::initializer_list<ValueId>{tested}),
                    edge.written};
        any = true;
        break;
      }
    }
    return any;
  }
  /// Does the value lie on top of the stack where the block begins?
  bool is_top(BlockId b, ValueId v) {
    if (b.index >= s_.lifted.blocks.size()) return true;
    const std::vector<ValueId>& stack = s_.lifted.blocks[b.index].stack_in;
    return !stack.empty() && s_.resolve(stack.back()) == v;
  }

  StructureGraph& s_;
  std::vector<Way> ways_;
  std::map<Operation, std::vector<std::size_t>> by_first_;
  std::map<Key, std::vector<Copy>> copies_;
};

}  // namespace

/// `finally: f(a if b else c)`: 3.10 copies the short end of one way out to both operands, and not
/// that of another way. Without columns, the copy in which they meet tells where they do.
void join_copied_merges(StructureGraph& s) {
  if (s.lifted.traits.source_order || s.options.made_by_dynamo) return;
  const auto has_columns = [&](const Node& node) {
    return !node.body.empty() && s.at(node.body.back()).columns != 0;
  };
  if (std::ranges::any_of(s.nodes, has_columns)) return;
  const bool any_finally = std::ranges::any_of(s.regions, &StructRegion::is_written_finally);
  if (any_finally && CopiedMerges(s).join()) s.recount();
}

}  // namespace depyf
