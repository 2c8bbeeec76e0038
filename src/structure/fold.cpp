// Control flow inside expressions: `and`, `or`, `not` in conditions, conditional expressions,
// chained comparisons.
//
// A block whose operations all end up in one expression is an operand. Two blocks that decide
// together become one; a diamond whose arms differ in one value handed to the merge becomes a
// Select value. Blocks are visited in postorder, so operands are folded before what holds them, and
// every fold removes at least one edge.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "structure/arm.h"
#include "structure/build.h"
#include "structure/copies.h"
#include "structure/first_operand.h"
#include "structure/graph.h"
#include "structure/operations.h"
#include "structure/steps.h"

namespace depyf {
namespace {

class Folder {
 public:
  explicit Folder(StructureGraph& s) : s_(s) {}

  bool is_arm_block(BlockId a, const Edge& edge) const {
    const Node& arm = s_.nodes[edge.to.index];
    return arm.pred_count == 1 && arm.params.empty() && edge.to != a && edge.to != s_.entry &&
           arm.match == UINT32_MAX && arm.region == s_.nodes[a.index].region;
  }

  Arm as_expression(BlockId block, ValueId root, std::uint32_t inside_uses) {
    return arm_as_expression(s_, block, root, inside_uses);
  }
  Arm prefix_as_expression(BlockId block, std::size_t length, ValueId root,
                           std::uint32_t inside_uses) {
    return prefix_as_arm(s_, block, length, root, inside_uses);
  }

  /// The value whose comparison a following link of a chain takes up: the right side of the
  /// comparison that `test` ends in.
  ValueId right_side(ValueId test) const {
    const Value& v = s_.at(test);
    if (v.kind != ValueKind::Operation || !kComparisons[v.op]) return {};
    return s_.resolve(v.operands[1]);
  }

  /// How many names get `v` right after it was computed.
  std::uint32_t walrus_stores(ValueId v) {
    const Value& value = s_.at(v);
    if (s_.uses[v.index] <= 2 || !value.block) return 0;
    const std::vector<ValueId>& body = s_.nodes[value.block.index].body;
    auto at = std::find(body.begin(), body.end(), v);
    std::uint32_t stores = 0;
    while (at != body.end() && ++at != body.end()) {
      const Value& store = s_.at(*at);
      if (store.kind != ValueKind::Operation || !is_name_store(store.op) ||
          s_.resolve(store.operands[0]) != v)
        break;
      ++stores;
    }
    return stores;
  }

  bool chain_fits(const Arm& arm, ValueId first) {
    if (!arm.external) return true;
    ValueId right = right_side(first);
    return right && s_.resolve(right) == arm.external && is_taken_up(arm.external);
  }

  /// Is the right side of a comparison the left side of another one, and nothing else?
  bool is_taken_up(ValueId right) { return s_.uses[right.index] == 2 + walrus_stores(right); }

  bool same_args(const Edge& x, const Edge& y, ValueId x_carry, ValueId y_carry) {
    if (x.args.size() != y.args.size()) return false;
    // short exits are copied, from 3.10 on
    if (x.to != y.to && (s_.lifted.traits.source_order || !x.args.empty() ||
                         !same_exit(s_, x.to, y.to) || written_apart(s_, x.to, y.to)))
      return false;
    for (std::size_t i = 0; i < x.args.size(); ++i) {
      ValueId a = s_.resolve(x.args[i]), b = s_.resolve(y.args[i]);
      if (a != b && !(x_carry && a == x_carry && b == y_carry)) return false;
    }
    return true;
  }

  /// Whether the second test may share the way that the first test takes: a jump that stands in the
  /// source after the first test is not that of the second, unless it is one jump after both.
  /// Where columns tell of each jump, the same holds for one after the second test.
  static bool one_jump(const Node& a, const Edge& first, const Edge& second) {
    return first.written == second.written || (!first.written && a.term_columns == 0);
  }

  std::uint32_t count_in(const Edge& edge, ValueId v) {
    std::uint32_t n = 0;
    for (ValueId arg : edge.args) n += s_.resolve(arg) == v;
    return n;
  }

  Edge replace_in(const Edge& edge, ValueId from, ValueId to) {
    std::vector<ValueId> args;
    for (ValueId arg : edge.args) args.push_back(s_.resolve(arg) == from ? to : s_.resolve(arg));
    return Edge{edge.to, s_.lifted.arena.copy(args), edge.written};
  }

  ValueId select(BlockId a, ValueId first, Select select, std::uint32_t uses) {
    const ValueId id = s_.add_select(select, a, first, first);
    s_.uses[id.index] = uses;
    s_.nodes[a.index].body.push_back(id);
    return id;
  }

  void kill(BlockId b) {
    Node& node = s_.nodes[b.index];
    node.alive = false;
    node.body.clear();
    node.pred_count = 0;
  }

  /// Replaces a's condition by one that decides over `edges`.
  void set_branch(BlockId a, ValueId condition, Edge yes, Edge no, int falls) {
    Node& node = s_.nodes[a.index];
    node.value = condition;
    node.falls = static_cast<std::uint8_t>(falls);
    node.edges[0] = yes;
    node.edges[1] = no;
    for (Edge& edge : node.edges) take_parameters(edge);
  }

  /// A block that is entered by one edge alone needs no parameters: `c` of `a and b or c` takes the
  /// tested value only to drop it.
  void take_parameters(Edge& edge) {
    Node& to = s_.nodes[edge.to.index];
    if (to.params.empty() || to.pred_count != 1 || edge.to == s_.entry ||
        to.params.size() != edge.args.size())
      return;
    for (std::size_t i = 0; i < to.params.size(); ++i)
      if (s_.resolve(edge.args[i]) == to.params[i]) return;
    for (std::size_t i = 0; i < to.params.size(); ++i) {
      const ValueId arg = s_.resolve(edge.args[i]), param = to.params[i];
      s_.uses[arg.index] += s_.uses[param.index] - 1;
      s_.replace_by(param, arg);
    }
    to.params.clear();
    edge.args = {};
  }

  /// `not (x is y)` and `not (x in y)` compile to other operations than the tests themselves.
  bool negation_costs_nothing(ValueId test) const {
    const Value& v = s_.at(test);
    return s_.lifted.traits.keeps_not ||
           !((v.op == Op::IS && v.aux != kNoneBranch) || v.op == Op::CONTAINS) ||
           v.kind != ValueKind::Operation;
  }

  /// Does the test compare what the block before it has compared already? Then it belongs to that
  /// comparison first.
  bool is_chain_link(BlockId a, ValueId test) {
    const Value& v = s_.at(test);
    if (!right_side(test)) return false;
    const ValueId left = s_.resolve(v.operands[0]);
    const Value& value = s_.at(left);
    return (value.kind == ValueKind::Operation || value.kind == ValueKind::Select) &&
           value.block != a && !s_.is_const(left) &&
           s_.uses[left.index] == 2 + walrus_stores(left) && !s_.known(left).chained;
  }

  /// `assert False` is no operand.
  bool asserts_false(const Node& node) const {
    const ValueId v = s_.resolve(node.value);
    return s_.is_const(v) && s_.constant(v).kind == ConstKind::False &&
           (s_.fails_assertion(node.edges[0].to) || s_.fails_assertion(node.edges[1].to));
  }

  ExprId truth(bool value) { return s_.literal(value ? ConstKind::True : ConstKind::False); }

  /// Do columns tell that the one expression is written inside of the other?
  bool lies_in(ValueId inner, ValueId outer) const {
    const Value &v = s_.at(inner), &w = s_.at(outer);
    return v.columns != 0 && w.columns != 0 && v.line == w.line &&
           w.columns >> 16 <= v.columns >> 16 && (v.columns & 0xFFFF) <= (w.columns & 0xFFFF);
  }

  /// `f(x if a or True else y)`: both ways of the test lead to x. So they do in `if a: pass`, which
  /// cannot stand where a value waits for x. `operand`: that is known, as of `b` and what follows
  /// it in `a and (x if b or True else y)`.
  bool join_decided(BlockId a, bool operand) {
    Node& node = s_.nodes[a.index];
    const BlockId to = node.edges[0].to;
    Node& next = s_.nodes[to.index];
    if (to != node.edges[1].to || !node.edges[0].args.empty() || next.pred_count != 2 || to == a ||
        !next.params.empty() || to == s_.entry || next.match != UINT32_MAX ||
        next.region != node.region)
      return false;
    const FirstOperand first = first_operand(s_, to, node.term_line);
    if (!operand && !first.awaited) return false;
    const ValueId test = s_.resolve(node.value);
    for (std::size_t i = first.parts.size(); i > 0; --i) {
      const FirstOperand::Part& part = first.parts[i - 1];
      if (lies_in(test, part.value)) continue;
      const Arm arm = prefix_as_expression(to, part.length, part.value, part.uses);
      if (!arm || arm.external) continue;
      const bool is_and = node.falls == 0 && !s_.lifted.traits.source_order;
      Select sel;
      sel.kind = Select::IfExp;
      sel.negate_first = node.falls == 0 && !is_and;
      sel.decided = truth(!is_and);
      sel.rest = sel.orelse = arm.expr;
      (is_and ? sel.rest : sel.orelse) = s_.literal(ConstKind::None);
      const ValueId v = select(a, test, sel, part.uses);
      s_.replace_by(part.value, v);
      next.body.erase(next.body.begin(),
                      next.body.begin() + static_cast<std::ptrdiff_t>(part.length));
      node.jump_to(to);
      next.pred_count = 1;
      return true;
    }
    return false;
  }

  /// `if ('s' if a else b):`, where the constant left a jump in its place. That could be a
  /// statement, unless both tests stand in one row: else this is for readings that found no
  /// statements otherwise. `side`, `k`: as in join_conditions().
  bool decided_by_constant(BlockId a, int side, int k) {
    Node& node = s_.nodes[a.index];
    const Edge arm_edge = node.edges[side], other = node.edges[1 - side];
    const ValueId first = s_.resolve(node.value);
    const BlockId b = arm_edge.to;
    const Node& arm = s_.nodes[b.index];
    const ValueId second = s_.resolve(arm.value);
    const bool one_row = node.term_line != 0 && node.term_line == arm.term_line;
    if ((s_.options.layout_tells && !one_row) || other.to != arm.edges[k].to ||
        is_loop_header(other.to) || count_in(other, first) != 0 ||
        count_in(arm.edges[0], second) != 0 || count_in(arm.edges[1], second) != 0 ||
        (side == 0 && !negation_costs_nothing(first)))
      return false;
    const Arm e = as_expression(b, second, 1);
    if (!e || e.external) return false;
    Select sel;
    sel.kind = Select::IfExp;
    sel.negate_first = side == 0;
    sel.rest = truth(k == 0);
    sel.orelse = e.expr;
    const ValueId v = select(a, first, sel, 1);
    const Edge yes = arm.edges[0], no = arm.edges[1];
    const int falls = arm.falls;
    for (ValueId arg : other.args) --s_.uses[s_.resolve(arg).index];
    --s_.nodes[other.to.index].pred_count;  // two edges become one
    kill(b);
    set_branch(a, v, yes, no, falls);
    return true;
  }

  bool join_conditions(BlockId a) {
    Node& node = s_.nodes[a.index];
    const ValueId first = s_.resolve(node.value);
    for (int side = 0; side < 2;
         ++side) {  // 0: the arm is entered when true (and), 1: when false (or)
      const Edge &arm_edge = node.edges[side], &other = node.edges[1 - side];
      if (!is_arm_block(a, arm_edge)) continue;
      BlockId b = arm_edge.to;
      Node& arm = s_.nodes[b.index];
      if (arm.term != TermKind::Branch || is_first_loop_test(b) || asserts_false(arm)) continue;
      if ((arm.term_line == node.term_line || !s_.options.layout_tells) &&
          s_.nodes[arm.edges[0].to.index].term == TermKind::Branch && join_decided(b, true)) {
        if (s_.can_merge(b)) s_.merge(b);
        return true;
      }
      const ValueId second = s_.resolve(arm.value);
      if (s_.is_op(second, Op::EXC_MATCH)) continue;  // the next `except` clause
      for (int k = 1; k >= 0; --k) {
        // `and`: the arm's false edge goes where a's false edge goes. k is the arm's edge that
        // joins `other`.
        const int straight = side == 0 ? 1 : 0;
        const bool negated = k != straight;
        if (negated && arm.edges[0].to == arm.edges[1].to) continue;
        const Edge &joined = arm.edges[k], &free = arm.edges[1 - k];
        const bool carries = count_in(other, first) > 0;
        if (!same_args(other, joined, carries ? first : ValueId(), second)) continue;
        if (negated && (carries || count_in(joined, second) > 0 || count_in(free, second) > 0))
          continue;
        if (count_in(arm_edge, first) > 0 || count_in(free, first) > 0) continue;
        if (s_.falls_known() && node.falls != side) {
          // the first test falls through to the second
          if (decided_by_constant(a, side, k)) return true;
          continue;
        }
        std::uint32_t second_uses = 1 + count_in(joined, second) + count_in(free, second);
        Arm e = as_expression(b, second, second_uses);
        if (!e || !chain_fits(e, first)) continue;
        if (e.external ? side != 0 || (negated && !negation_is_free(s_.ast, e.expr))
                       : !one_jump(node, other, joined))
          continue;
        if (!e.external && is_chain_link(a, first)) continue;
        // What the second test falls through to the first one jumps to, not to a copy of it that
        // stands in the place of a jump.
        if (!e.external && s_.falls_known() && arm.falls == k && joined.to != other.to &&
            s_.nodes[joined.to.index].term_line != arm.term_line)
          continue;
        // A test that joins the other way round is negated: the first or the second one, whichever
        // costs nothing and lets the block that stands first be the one for `true`.
        bool negate_first = false;
        if (negated && !e.external) {
          const bool second_free = negation_is_free(s_.ast, e.expr);
          negate_first =
              negation_costs_nothing(first) &&
              (side == 0 ? other.to.index < free.to.index : free.to.index < other.to.index);
          if (!second_free) {
            if (!negation_costs_nothing(first)) continue;
            negate_first = true;
          }
        }
        if (e.external) s_.note(e.external).chained = true;
        if (s_.lifted.traits.one_test_on_a_row && s_.is_merged(second) &&
            s_.ast[e.expr].kind == ExprKind::BoolOp)
          s_.ast[e.expr].a = kBeginsRow;
        Select sel;
        const bool is_and = (side == 0) != negate_first;
        sel.kind = is_and ? Select::And : Select::Or;
        sel.chained = static_cast<bool>(e.external);
        sel.negate_first = negate_first;
        sel.inner = node.threaded;
        const bool threaded = arm.threaded;
        sel.rest = negated && !negate_first ? negate(s_.ast, e.expr) : e.expr;
        std::uint32_t carried = count_in(other, first);
        s_.uses[first.index] -= carried;  // its own use as condition is now the Select's operand
        std::uint32_t free_carried = count_in(free, second);
        ValueId v = select(a, first, sel, 1 + carried + free_carried);
        // Of two copies of a short exit the later one stays: it follows the code that the
        // test guards.
        const bool keep_joined = joined.to != other.to && joined.to.index > other.to.index;
        Edge out_other = keep_joined ? joined : replace_in(other, first, v);
        out_other.written = joined.written;
        Edge out_free = replace_in(free, second, v);
        const int goes_on =
            (arm.falls == k) == is_and ? 1 : 0;  // `free` is edge 0 of `and`, edge 1 of `or`
        const BlockId dropped = keep_joined ? other.to : joined.to;
        if (--s_.nodes[dropped.index].pred_count == 0) kill(dropped);  // two edges become one
        for (ValueId arg : joined.args)
          if (const ValueId v = s_.resolve(arg); v != second) --s_.uses[v.index];
        kill(b);
        if (is_and)
          set_branch(a, v, out_free, out_other, goes_on);
        else
          set_branch(a, v, out_other, out_free, goes_on);
        s_.nodes[a.index].threaded = threaded;
        return true;
      }
    }
    return false;
  }

  /// The value of `first and rest`, or of `first or rest`, at the end of `a`; see Select::merged.
  ValueId select_operands(BlockId a, ValueId first, const Arm& rest, bool is_and, bool merged) {
    if (rest.external) s_.note(rest.external).chained = true;
    Select sel;
    sel.kind = is_and ? Select::And : Select::Or;
    sel.chained = static_cast<bool>(rest.external);
    sel.merged = merged;
    sel.inner = s_.nodes[a.index].threaded;
    sel.rest = rest.expr;
    return select(a, first, sel, 1);
  }

  /// `a and b`, `a or b` as a value: one edge hands the tested value itself to the merge, the arm
  /// hands over the other operand.
  bool join_values(BlockId a) {
    Node& node = s_.nodes[a.index];
    const ValueId first = s_.resolve(node.value);
    for (int side = 0; side < 2; ++side) {
      const Edge &arm_edge = node.edges[side], &other = node.edges[1 - side];
      if (other.args.empty() || count_in(other, first) != 1 || !is_arm_block(a, arm_edge)) continue;
      BlockId b = arm_edge.to;
      Node& arm = s_.nodes[b.index];
      if (arm.term != TermKind::Jump) continue;
      const Edge out = arm.edges[0];
      if (out.to != other.to || out.args.size() != other.args.size()) continue;
      ValueId second;
      bool fits = true;
      for (std::size_t i = 0; i < out.args.size(); ++i) {
        ValueId x = s_.resolve(other.args[i]), y = s_.resolve(out.args[i]);
        if (x == first)
          second = y;
        else
          fits &= x == y;
      }
      if (!fits || !second || count_in(out, second) != 1) continue;
      Arm e = as_expression(b, second, 1);
      if (!e || !chain_fits(e, first)) continue;
      if (e.external && side != 0) continue;
      s_.uses[first.index] -= 1;
      for (ValueId arg : out.args)
        if (const ValueId v = s_.resolve(arg); v != second) --s_.uses[v.index];
      ValueId v = select_operands(a, first, e, side == 0, true);
      Edge merged = replace_in(other, first, v);
      --s_.nodes[out.to.index].pred_count;
      kill(b);
      node.jump_to(merged.to, merged.args);
      return true;
    }
    return false;
  }

  /// `return a and b`, `return 0 <= a < b`, where the return was copied to both ways.
  bool join_returns(BlockId a) {
    Node& node = s_.nodes[a.index];
    const ValueId first = s_.resolve(node.value);
    for (int side = 0; side < 2; ++side) {
      const Edge &arm_edge = node.edges[side], &other = node.edges[1 - side];
      const Node& end = s_.nodes[other.to.index];
      if (end.term != TermKind::Return || !end.body.empty() || end.region != node.region ||
          end.pred_count != 1 || !end.params.empty())
        continue;
      if (s_.resolve(end.value) != first || !is_arm_block(a, arm_edge)) continue;
      Node& arm = s_.nodes[arm_edge.to.index];
      if (arm.term != TermKind::Return) continue;
      const ValueId second = s_.resolve(arm.value);
      if (s_.at(second).kind != ValueKind::Select && s_.at(second).block != arm_edge.to) continue;
      Arm e = as_expression(arm_edge.to, second, 1);
      if (!e || !chain_fits(e, first) || (e.external && side != 0)) continue;
      s_.uses[first.index] -= 1;
      const ValueId v = select_operands(a, first, e, side == 0, false);
      kill(arm_edge.to);
      kill(other.to);
      Node& whole = s_.nodes[a.index];
      whole.term = TermKind::Return;
      whole.value = v;
      whole.take_position(arm);
      return true;
    }
    return false;
  }

  /// Up to 3.9 only the return itself is copied, to the end of the first arm and on its row. The
  /// other one is of the row where the statement begins: of a statement of its own, that would be
  /// after the test's.
  bool ends_expression(BlockId test, const Node& b, const Node& c) const {
    if (b.term_line == c.term_line) return true;
    const Node& last = b.term_offset < c.term_offset ? c : b;
    return last.term_line != 0 && last.term_line < s_.nodes[test.index].term_line;
  }

  /// `finally: if c: return x` at the end of a function, on one row: where the handler's copy
  /// raises again, the other one returns None, of that row too. That is no `return x if c else
  /// None`.
  bool ends_function_behind_finally(BlockId a) {
    const Node& node = s_.nodes[a.index];
    const auto returns_none = [&](const Edge& edge) {
      const Node& end = s_.nodes[edge.to.index];
      return end.term == TermKind::Return && s_.is_none(s_.resolve(end.value));
    };
    if (s_.regions.empty() || !std::ranges::any_of(node.edges, returns_none)) return false;
    if (!rows_that_raise_again_) {
      rows_that_raise_again_.emplace();
      for (const Node& copy : s_.nodes)
        if (copy.alive && copy.term == TermKind::Branch &&
            std::ranges::any_of(copy.edges, [&](const Edge& edge) {
              return s_.nodes[edge.to.index].term == TermKind::Reraise;
            }))
          rows_that_raise_again_->insert(copy.term_line);
    }
    return rows_that_raise_again_->count(node.term_line) != 0;
  }

  /// `return f(x if c else y)`, where what follows the conditional expression was copied to both
  /// arms with the exit: the copies become one block again, with the value that differs as its
  /// parameter. Columns tell which operations are copies; without them, the shortest tail is taken.
  /// `hands_over`: of arms that hand a value over, as `c < (x if d else y)` at the end of a chain,
  /// where the tail takes what was computed before the test.
  bool join_tails(BlockId a, bool hands_over = false) {
    const ValueId tested = s_.resolve(s_.nodes[a.index].value);
    const Edge yes = s_.nodes[a.index].edges[0], no = s_.nodes[a.index].edges[1];
    if (yes.to == no.to || !is_arm_block(a, yes) || !is_arm_block(a, no)) return false;
    const Node& b = s_.nodes[yes.to.index];
    const Node& c = s_.nodes[no.to.index];
    // Only copies of one statement: code without lines, such as Dynamo's, tells nothing of that.
    if (s_.options.made_by_dynamo || b.term != c.term) return false;
    std::vector<std::pair<ValueId, ValueId>> ends;
    switch (b.term) {
      case TermKind::Return:
        if (ends_function_behind_finally(a)) return false;
        ends.push_back({s_.resolve(b.value), s_.resolve(c.value)});
        break;
      case TermKind::Raise:
        if (b.raise_args.size() != c.raise_args.size()) return false;
        for (std::size_t i = 0; i < b.raise_args.size(); ++i)
          ends.push_back({s_.resolve(b.raise_args[i]), s_.resolve(c.raise_args[i])});
        break;
      case TermKind::Jump:
        if (b.edges[0].to != c.edges[0].to || b.edges[0].args.empty() == hands_over ||
            b.edges[0].args.size() != c.edges[0].args.size())
          return false;
        for (std::size_t i = 0; i < b.edges[0].args.size(); ++i)
          ends.push_back({s_.resolve(b.edges[0].args[i]), s_.resolve(c.edges[0].args[i])});
        break;
      case TermKind::Branch:
      case TermKind::ForIter:
      case TermKind::Send:
      case TermKind::Reraise:
      case TermKind::Unreachable:
        return false;
    }
    const bool ends_of_one = s_.lifted.traits.source_order && b.term == TermKind::Return
                                 ? ends_expression(a, b, c)
                                 : b.term_line == c.term_line && b.term_columns == c.term_columns;
    const bool same_statement = b.term != TermKind::Jump && b.term_line != 0 && ends_of_one;
    if (b.term == TermKind::Raise && !same_statement) return false;
    constexpr std::size_t kLongest = 32;
    std::size_t longest = 0;  // so many operations at the end are the same in both
    bool columns = b.term_columns != 0;
    for (; !s_.lifted.traits.source_order && longest < kLongest && longest < b.body.size() &&
           longest < c.body.size();
         ++longest) {
      const Value &v = s_.at(b.body[b.body.size() - 1 - longest]),
                  &w = s_.at(c.body[c.body.size() - 1 - longest]);
      if (v.line == 0 || !s_.copied_operation(v, w)) break;
      columns &= v.columns != 0;
    }
    std::vector<std::size_t> lengths;  // in the order in which they are tried
    for (std::size_t step = 0; step <= longest; ++step)
      lengths.push_back(columns ? longest - step : step);
    for (std::size_t step = 0; step < lengths.size(); ++step) {
      const std::size_t length = lengths[step];
      if (length == 0 && !same_statement) continue;
      ValueId p, q;
      if (!one_difference(yes.to, no.to, length, ends, tested, p, q)) continue;
      if (hands_over && !takes_from_before(yes.to, length)) continue;
      // `y = z = p if c else q`, rather than `z = (y := p) if c else (y := q)`
      if (!columns && length < longest && is_stored_before(b, length, p) &&
          is_stored_before(c, length, q))
        continue;
      if (s_.is_op(p, Op::FORMAT) && s_.is_op(q, Op::FORMAT)) {
        // `f'{x if c else y}'` rather than `f'{x}' if c else f'{y}'`, where it can be either
        if (is_part_of_string(b, length, p)) continue;
        if (!columns && step <= longest) {
          lengths.push_back(length);
          continue;
        }
      }
      if (p == tested ||
          q == tested) {  // `f(a and b)`, `f(a < b < c)`: one way passes on what was tested
        const int other = q == tested;
        const BlockId arm = other ? yes.to : no.to, bare = other ? no.to : yes.to;
        if (p == q || s_.nodes[bare.index].body.size() != length || length == 0) continue;
        if (!arm_is_expression(arm, length, other ? p : q, tested)) continue;
        share_tail(arm, bare, length, other ? p : q, tested);
        Node& node = s_.nodes[a.index];
        node.edges[other] = s_.nodes[bare.index].edges[0];
        kill(bare);
        return true;
      }
      if (!is_callee_where_null_is(yes.to, length, p)) continue;
      if (!arm_is_expression(yes.to, length, p) || !arm_is_expression(no.to, length, q)) continue;
      share_tail(yes.to, no.to, length, p, q);
      return true;
    }
    return false;
  }

  /// Does one of the last `length` operations take what the block did not compute?
  bool takes_from_before(BlockId block, std::size_t length) {
    return std::ranges::any_of(std::span(s_.nodes[block.index].body).last(length), [&](ValueId v) {
      return std::ranges::any_of(s_.at(v).operands, [&](ValueId operand) {
        return operand && s_.at(s_.resolve(operand)).block != block;
      });
    });
  }

  /// Does what stands in front of the last `length` operations bind a name to the value?
  bool is_stored_before(const Node& node, std::size_t length, ValueId v) const {
    const Value& store = s_.at(node.body[node.body.size() - 1 - length]);
    return is_name_store(store.op) && s_.resolve(store.operands[0]) == v;
  }

  /// Does one of the last `length` operations put the value into a longer f-string?
  bool is_part_of_string(const Node& node, std::size_t length, ValueId part) const {
    const auto tail = std::span(node.body).last(length);
    return std::any_of(tail.begin(), tail.end(), [&](ValueId v) {
      const Value& value = s_.at(v);
      return s_.is_op(v, Op::BUILD_STRING) &&
             std::any_of(value.operands.begin(), value.operands.end(),
                         [&](ValueId operand) { return s_.resolve(operand) == part; });
    });
  }

  /// Where v stands, counted from the end of the block; SIZE_MAX when it stands elsewhere.
  static std::size_t from_end(const Node& node, ValueId v, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i)
      if (node.body[node.body.size() - 1 - i] == v) return i;
    return SIZE_MAX;
  }

  /// Do the last `length` operations of two blocks, and what the blocks end in, differ in one value
  /// only, which each block computes for them?
  bool one_difference(BlockId x, BlockId y, std::size_t length,
                      const std::vector<std::pair<ValueId, ValueId>>& ends, ValueId tested,
                      ValueId& p, ValueId& q) {
    const Node &b = s_.nodes[x.index], &c = s_.nodes[y.index];
    auto fits = [&](ValueId m, ValueId n) {
      m = s_.resolve(m);
      n = s_.resolve(n);
      if (m == n) return true;
      if (!m || !n) return false;
      if (p && m == p && n == q) return true;
      const bool part = s_.at(m).kind == ValueKind::Result && s_.at(n).kind == ValueKind::Result &&
                        s_.at(m).arg == s_.at(n).arg;
      if (part) m = s_.at(m).operands[0], n = s_.at(n).operands[0];
      const std::size_t at_m = from_end(b, m, length), at_n = from_end(c, n, length);
      if (at_m != SIZE_MAX || at_n != SIZE_MAX) return at_m == at_n;
      if (s_.same_constants(m, n)) {
        if (s_.at(m).block != x || s_.at(n).block != y) return true;
        if (length == 0) return false;  // `if c: return None`, and the end of the function
      }
      if (p || part) return false;
      p = m;
      q = n;
      const auto used_here = [&](const Node& arm, ValueId v) {
        return s_.uses[v.index] == uses_in_tail(s_, arm, length, v) + (v == tested) +
                                       stores_before_tail(s_, arm, length, v);
      };
      return used_here(b, m) && used_here(c, n);
    };
    for (const auto& [m, n] : ends)
      if (!fits(m, n)) return false;
    for (std::size_t i = 1; i <= length; ++i) {
      const Value &v = s_.at(b.body[b.body.size() - i]), &w = s_.at(c.body[c.body.size() - i]);
      for (std::size_t k = 0; k < v.operands.size(); ++k)
        if (!fits(v.operands[k], w.operands[k])) return false;
    }
    return static_cast<bool>(p);
  }

  /// Up to 3.12 `(f if c else g)(x)` has the NULL for its call below the condition, `f(x) if c else
  /// g(x)` in the arms.
  bool is_callee_where_null_is(BlockId arm, std::size_t length, ValueId p) {
    if (arm.index >= s_.lifted.blocks.size()) return true;
    const std::vector<ValueId>& stack = s_.lifted[arm].stack_in;
    if (stack.empty() || s_.at(s_.resolve(stack.back())).kind != ValueKind::Null) return true;
    const Node& node = s_.nodes[arm.index];
    for (std::size_t i = 1; i <= length; ++i) {
      const Value& v = s_.at(node.body[node.body.size() - i]);
      if (v.op != Op::CALL && v.op != Op::CALL_KW && v.op != Op::CALL_EX) continue;
      const ValueId callee = s_.resolve(v.operands[0]);
      if (callee == p || std::find(node.body.begin(), node.body.end(), callee) == node.body.end())
        return true;
    }
    return false;
  }

  /// Is what stands before the tail nothing but the evaluation of `root`?
  bool arm_is_expression(BlockId block, std::size_t length, ValueId root, ValueId tested = {}) {
    const Node& node = s_.nodes[block.index];
    // A constant that lay on the stack before the test is an operand of what follows both arms,
    // though each could load it; not what the test compared with, which a chain takes up.
    const ValueId compared = tested ? right_side(tested) : ValueId();
    for (ValueId v : std::span(node.body).first(node.body.size() - length))
      for (ValueId operand : s_.at(v).operands)
        if (const ValueId loaded = s_.resolve(operand);
            s_.is_const(loaded) && s_.at(loaded).block != block && loaded != compared)
          return false;
    const Arm arm = prefix_as_expression(block, node.body.size() - length, root,
                                         uses_in_tail(s_, node, length, root));
    return arm && (tested ? chain_fits(arm, tested) : !arm.external);
  }

  void share_tail(BlockId x, BlockId y, std::size_t length, ValueId p, ValueId q) {
    Node &b = s_.nodes[x.index], &c = s_.nodes[y.index];
    const BlockId m(static_cast<std::uint32_t>(s_.nodes.size()));
    for (std::size_t i = 1; i <= length; ++i)  // the other copy's operands have one use less
      for (ValueId operand : s_.at(c.body[c.body.size() - i]).operands)
        if (operand && s_.resolve(operand) != q && s_.uses[s_.resolve(operand).index] > 0)
          --s_.uses[s_.resolve(operand).index];
    const ValueId h = s_.add_param(m);
    const std::uint32_t taken = uses_in_tail(s_, b, length, p);
    s_.uses[h.index] = taken;
    s_.uses[p.index] -= taken - 1;  // handed over once
    s_.uses[q.index] -= taken - 1;
    Node tail = b;
    tail.params.assign(1, h);
    tail.body.assign(b.body.end() - static_cast<std::ptrdiff_t>(length), b.body.end());
    tail.pred_count = 2;
    if (tail.value && s_.resolve(tail.value) == p) tail.value = h;
    for (ValueId& v : tail.raise_args)
      if (s_.resolve(v) == p) v = h;
    for (ValueId v : tail.body) {
      s_.lifted.values[v.index].block = m;
      for (ValueId& operand : s_.lifted.values[v.index].operands)
        if (operand && s_.resolve(operand) == p) operand = h;
    }
    if (tail.term == TermKind::Jump) {
      --s_.nodes[tail.edges[0].to.index].pred_count;  // two edges become one
      for (ValueId arg : c.edges[0].args)
        if (s_.resolve(arg) != q) --s_.uses[s_.resolve(arg).index];
      tail.edges[0] = replace_in(tail.edges[0], p, h);
    }
    auto cut = [&](Node& arm, ValueId argument) {
      arm.body.resize(arm.body.size() - length);
      const ValueId args[] = {argument};
      arm.jump_to(m, s_.lifted.arena.copy(args));
    };
    cut(b, p);
    cut(c, q);
    s_.nodes.push_back(std::move(tail));
    headers_.resize(s_.nodes.size(), 0);
    number_.resize(s_.nodes.size(), UINT32_MAX);
  }

  /// `x = a or b < c < d; return x`, where what follows the value was copied to the way that
  /// computes its last operand: the copy becomes a jump to the block that the other way leads to,
  /// with the operand as that block's parameter.
  bool join_copied_tail(BlockId a) {
    if (s_.options.made_by_dynamo) return false;  // lines tell that it is a copy
    const Node& node = s_.nodes[a.index];
    for (int side = 0; side < 2; ++side) {
      const Edge &arm_edge = node.edges[side], &other = node.edges[1 - side];
      if (other.args.empty()) continue;
      const Node& tail = s_.nodes[other.to.index];
      const bool returns = tail.term == TermKind::Return, jumps = tail.term == TermKind::Jump &&
                                                                  tail.edges[0].args.empty() &&
                                                                  !tail.body.empty();
      if (!(returns || jumps) || tail.params.size() != 1 ||
          count_in(other, s_.resolve(node.value)) != 1 || !is_arm_block(a, arm_edge))
        continue;
      Node& arm = s_.nodes[arm_edge.to.index];
      if (arm.term != tail.term || tail.region != arm.region) continue;
      if (returns &&
          (arm.term_line == 0 || (arm.term_line != tail.term_line &&
                                  !(s_.lifted.traits.source_order && tail.body.empty()))))
        continue;
      if (jumps && (arm.edges[0].to != tail.edges[0].to || !arm.edges[0].args.empty())) continue;
      constexpr std::size_t kLongest = 32;
      const std::size_t length = tail.body.size();
      if (length > kLongest || length > arm.body.size()) continue;
      const std::size_t from = arm.body.size() - length;
      CopiedRun run(s_, arm, tail, length);
      run.parameter = tail.params[0];
      run.equal_constants = false;
      const auto same = [&](ValueId v, ValueId w) {
        return s_.copied_operation(s_.at(v), s_.at(w));
      };
      if (!run.same_operations(same) || (returns && !run.same_value(arm.value, tail.value)))
        continue;
      const ValueId operand = run.handed;
      if (!operand) continue;
      if (std::find(arm.body.begin(), arm.body.begin() + static_cast<std::ptrdiff_t>(from),
                    operand) == arm.body.begin() + static_cast<std::ptrdiff_t>(from))
        continue;
      for (std::size_t i = from; i < arm.body.size(); ++i)
        for (ValueId used : s_.at(arm.body[i]).operands)
          if (used) --s_.uses[s_.resolve(used).index];
      if (returns)
        --s_.uses[s_.resolve(arm.value).index];
      else
        --s_.nodes[arm.edges[0].to.index].pred_count;
      ++s_.uses[operand.index];
      arm.body.resize(from);
      const ValueId args[] = {operand};
      arm.jump_to(other.to, s_.lifted.arena.copy(args));
      ++s_.nodes[other.to.index].pred_count;
      return true;
    }
    return false;
  }

  /// `return a or (b if c else d)`: up to 3.9 a jump to the return at an expression's end is a
  /// return itself, on whatever row the operand stands. What only the end of an expression leads to
  /// is no statement: an arm that returns beside one that goes there goes there too.
  bool join_returning_arm(BlockId a) {
    if (!s_.lifted.traits.source_order || s_.options.made_by_dynamo) return false;
    const Node& node = s_.nodes[a.index];
    for (int side = 0; side < 2; ++side) {
      const Edge &arm_edge = node.edges[side], &other = node.edges[1 - side];
      if (arm_edge.to == other.to || !is_arm_block(a, arm_edge) || !is_arm_block(a, other))
        continue;
      const Node& beside = s_.nodes[other.to.index];
      if (beside.term != TermKind::Jump || beside.edges[0].args.size() != 1) continue;
      const BlockId end = beside.edges[0].to;
      const Node& tail = s_.nodes[end.index];
      Node& arm = s_.nodes[arm_edge.to.index];
      if (tail.term != TermKind::Return || !tail.body.empty() || tail.params.size() != 1 ||
          s_.resolve(tail.value) != tail.params[0] || arm.term != TermKind::Return)
        continue;
      const ValueId operand = s_.resolve(arm.value);
      if (tail.region != arm.region || s_.at(operand).block != arm_edge.to) continue;
      const ValueId args[] = {operand};
      arm.jump_to(end, s_.lifted.arena.copy(args));
      ++s_.nodes[end.index].pred_count;
      return true;
    }
    return false;
  }

  /// `return x if c else y` in a handler, which ends before the `return` that was copied to both
  /// arms: the copies of one statement become one block, with the value as its parameter.
  bool join_returns_of_arms(BlockId a) {
    const BlockId arms[] = {s_.nodes[a.index].edges[0].to, s_.nodes[a.index].edges[1].to};
    if (arms[0] == arms[1] || s_.options.made_by_dynamo) return false;
    BlockId ends[2];
    for (int k = 0; k < 2; ++k) {
      const Node& arm = s_.nodes[arms[k].index];
      if (!is_arm_block(a, s_.nodes[a.index].edges[k]) || arm.term != TermKind::Jump ||
          !arm.edges[0].args.empty())
        return false;
      ends[k] = arm.edges[0].to;
      const Node& end = s_.nodes[ends[k].index];
      const ValueId value = s_.resolve(end.value);
      if (end.term != TermKind::Return || !end.body.empty() || !end.params.empty() ||
          end.pred_count != 1 || end.term_line <= 0 || s_.is_const(value) ||
          s_.at(value).block != arms[k])
        return false;
      const Arm returned = as_expression(arms[k], value, 1);
      if (!returned || returned.external) return false;
    }
    Node &end = s_.nodes[ends[0].index], &other = s_.nodes[ends[1].index];
    if (ends[0] == ends[1] || end.region != other.region || end.term_line != other.term_line ||
        end.term_columns != other.term_columns)
      return false;
    const ValueId returned = s_.add_param(ends[0]);
    s_.uses[returned.index] = 1;
    for (int k = 0; k < 2; ++k) {
      const ValueId args[] = {s_.resolve(s_.nodes[ends[k].index].value)};
      s_.nodes[arms[k].index].jump_to(ends[0], s_.lifted.arena.copy(args));
    }
    end.params.push_back(returned);
    end.value = returned;
    end.pred_count = 2;
    kill(ends[1]);
    return true;
  }

  /// `a < b < c` as a statement: both ways drop the value.
  bool join_chain_statement(BlockId a) {
    Node& node = s_.nodes[a.index];
    const ValueId first = s_.resolve(node.value), compared = right_side(first);
    const Edge arm_edge = node.edges[0], other = node.edges[1];
    if (!compared || !is_taken_up(s_.resolve(compared)) || !is_arm_block(a, arm_edge) ||
        !other.args.empty())
      return false;
    Node& arm = s_.nodes[arm_edge.to.index];
    if (arm.body.empty() || s_.uses[arm.body.back().index] != 0) return false;
    const bool joins =
        arm.term == TermKind::Jump && arm.edges[0].to == other.to && arm.edges[0].args.empty();
    if (!joins) return false;
    const ValueId second = arm.body.back();
    const Arm e = as_expression(arm_edge.to, second, 0);
    if (!e || !e.external || !chain_fits(e, first)) return false;
    s_.note(e.external).chained = true;
    Select sel;
    sel.kind = Select::And;
    sel.chained = true;
    sel.rest = e.expr;
    select(a, first, sel, 0);
    --s_.nodes[other.to.index].pred_count;
    kill(arm_edge.to);
    Node& whole = s_.nodes[a.index];
    whole.jump_to(other.to, other.args);
    return true;
  }

  /// `p if test else q`, or with q negated, in the place of the test; none where an arm is no
  /// expression. `x if not c else y` where what stands first is evaluated when the test fails.
  ValueId select_of_arms(BlockId a, ValueId p, ValueId q, bool flip) {
    const Node& node = s_.nodes[a.index];
    const ValueId test = s_.resolve(node.value);
    const BlockId yes = node.edges[0].to, no = node.edges[1].to;
    const Arm body = as_expression(yes, p, 1);
    if (!body || body.external) return {};
    const Arm orelse = as_expression(no, q, 1);
    if (!orelse || orelse.external || (flip && !negation_is_free(s_.ast, orelse.expr))) return {};
    Select sel;
    sel.kind = Select::IfExp;
    sel.rest = body.expr;
    sel.orelse = flip ? negate(s_.ast, orelse.expr) : orelse.expr;
    if (s_.first_offset(no) < s_.first_offset(yes) && negation_costs_nothing(test)) {
      std::swap(sel.rest, sel.orelse);
      sel.negate_first = true;
    }
    return select(a, test, sel, 1);
  }

  bool conditional_value(BlockId a) {
    Node& node = s_.nodes[a.index];
    const Edge yes = node.edges[0], no = node.edges[1];
    if (!is_arm_block(a, yes) || !is_arm_block(a, no) || yes.to == no.to) return false;
    Node& b = s_.nodes[yes.to.index];
    Node& c = s_.nodes[no.to.index];
    if (b.term != TermKind::Jump || c.term != TermKind::Jump) return false;
    const Edge x = b.edges[0], y = c.edges[0];
    if (x.to != y.to || x.args.size() != y.args.size()) return false;
    std::size_t differing = SIZE_MAX;
    for (std::size_t i = 0; i < x.args.size(); ++i) {
      if (s_.resolve(x.args[i]) == s_.resolve(y.args[i])) continue;
      if (differing != SIZE_MAX) return false;
      differing = i;
    }
    if (differing == SIZE_MAX) return false;
    ValueId p = s_.resolve(x.args[differing]), q = s_.resolve(y.args[differing]);
    if (count_in(x, p) != 1 || count_in(y, q) != 1) return false;
    const ValueId v = select_of_arms(a, p, q, false);
    if (!v) return false;
    for (std::size_t i = 0; i < y.args.size(); ++i)
      if (i != differing) --s_.uses[s_.resolve(y.args[i]).index];
    Edge merged = replace_in(x, p, v);
    --s_.nodes[x.to.index].pred_count;
    kill(yes.to);
    kill(no.to);
    node.jump_to(merged.to, merged.args);
    return true;
  }

  /// `if (b if a else c):` — both arms decide over the same two successors.
  bool conditional_condition(BlockId a) {
    Node& node = s_.nodes[a.index];
    const ValueId test = s_.resolve(node.value);
    const Edge yes = node.edges[0], no = node.edges[1];
    if (!is_arm_block(a, yes) || !is_arm_block(a, no) || yes.to == no.to) return false;
    Node& b = s_.nodes[yes.to.index];
    Node& c = s_.nodes[no.to.index];
    if (b.term != TermKind::Branch || c.term != TermKind::Branch) return false;
    if (count_in(yes, test) || count_in(no, test)) return false;
    int flip = -1;
    if (same_args(b.edges[0], c.edges[0], {}, {}) && same_args(b.edges[1], c.edges[1], {}, {}))
      flip = 0;
    else if (same_args(b.edges[0], c.edges[1], {}, {}) && same_args(b.edges[1], c.edges[0], {}, {}))
      flip = 1;
    if (flip < 0) return false;
    // Nested `if`s that share `continue` or the end of a loop have this shape too, and read better
    // as they are; not those of an `assert`.
    if (!in_comprehension(a))
      for (int k = 0; k < 2; ++k)
        if (is_loop_header(b.edges[k].to) && !s_.fails_assertion(b.edges[1 - k].to) &&
            !enters_loop(a, b.edges[k].to) && !repeats_test(b, b.edges[k].to))
          return false;
    ValueId p = s_.resolve(b.value), q = s_.resolve(c.value);
    for (int k = 0; k < 2; ++k)
      if (count_in(b.edges[k], p) || count_in(c.edges[k], q)) return false;
    const ValueId v = select_of_arms(a, p, q, flip == 1);
    if (!v) return false;
    for (int k = 0; k < 2; ++k) {
      for (ValueId arg : c.edges[k].args) --s_.uses[s_.resolve(arg).index];
      if (--s_.nodes[c.edges[k].to.index].pred_count == 0) kill(c.edges[k].to);
    }
    Edge out_yes = b.edges[0], out_no = b.edges[1];
    const int goes_on = c.falls ^ flip;
    kill(yes.to);
    kill(no.to);
    set_branch(a, v, out_yes, out_no, goes_on);
    return true;
  }

  /// Where there are no statements: in a comprehension's own code, or in the region of an inlined
  /// one (its handler begins with what LOAD_FAST_AND_CLEAR saved).
  bool in_comprehension(BlockId b) {
    const std::string_view name = s_.module[s_.module[s_.lifted.code].name];
    if (name == "<listcomp>" || name == "<setcomp>" || name == "<dictcomp>" || name == "<genexpr>")
      return true;
    const RegionId region = s_.nodes[b.index].region;
    if (!region) return false;
    const Node& handler = s_.nodes[s_.regions[region.index].handler.index];
    if (handler.body.empty() || !s_.is_op(handler.body[0], Op::STORE_FAST)) return false;
    return s_.is_op(s_.resolve(s_.at(handler.body[0]).operands[0]), Op::LOAD_FAST_AND_CLEAR);
  }

  /// The test of a `while` loop, which 3.10 … 3.12 repeat at the loop's end: it belongs to the
  /// loop, not to an `if` around it.
  bool is_first_loop_test(BlockId b) {
    if (latches_.empty()) return false;
    const Node& node = s_.nodes[b.index];
    for (int k = 0; k < 2; ++k) {
      auto latches = latches_.find(node.edges[k].to.index);
      if (latches == latches_.end() || number_[b.index] >= number_[latches->first])
        continue;  // it stands before the loop
      for (BlockId last : latches->second) {
        if (last == b || !s_.nodes[last.index].alive ||
            s_.nodes[last.index].term != TermKind::Branch)
          continue;
        const std::size_t length = s_.test_length(b);
        if (length > 0 && length == s_.test_length(last) && same_tests(s_, b, last, length))
          return true;
      }
    }
    return false;
  }

  /// From outside, as the test of a loop whose test stands at its end does.
  bool enters_loop(BlockId from, BlockId header) const {
    return number_[from.index] < number_[header.index];
  }

  /// Is there a conditional expression before the loop that decides between the same two places? It
  /// is that of a `while`, repeated at the loop's end.
  bool repeats_test(const Node& arm, BlockId header) {
    const auto before = entered_by_.find(header.index);
    if (before == entered_by_.end()) return false;
    return std::any_of(before->second.begin(), before->second.end(), [&](BlockId b) {
      const Node& node = s_.nodes[b.index];
      if (!node.alive || node.term != TermKind::Branch) return false;
      const ValueId value = s_.resolve(node.value);
      if (s_.at(value).kind != ValueKind::Select || s_.select_of(value).kind != Select::IfExp)
        return false;
      const BlockId x = node.edges[0].to, y = node.edges[1].to, p = arm.edges[0].to,
                    q = arm.edges[1].to;
      return (x == p && y == q) || (x == q && y == p);
    });
  }

  bool is_loop_header(BlockId b) const { return b.index < headers_.size() && headers_[b.index]; }

  bool fold_at(BlockId a) {
    Node& node = s_.nodes[a.index];
    if (node.term != TermKind::Branch || !node.alive || node.match != UINT32_MAX) return false;
    if (node.edges[0].to == node.edges[1].to) return join_decided(a, false);
    const bool yes = is_arm_block(a, node.edges[0]), no = is_arm_block(a, node.edges[1]);
    if ((!yes && !no) || s_.is_op(s_.resolve(node.value), Op::EXC_MATCH)) return false;
    const auto is_arm = [&](bool is_block, int side, TermKind term) {
      return is_block && s_.nodes[node.edges[side].to.index].term == term;
    };
    const auto any_arm = [&](TermKind term) { return is_arm(yes, 0, term) || is_arm(no, 1, term); };
    const bool hands_over = !node.edges[0].args.empty() || !node.edges[1].args.empty();
    if ((hands_over && join_values(a)) || (any_arm(TermKind::Return) && join_returns(a)) ||
        (any_arm(TermKind::Branch) && join_conditions(a)) || (hands_over && join_copied_tail(a)))
      return true;
    return (yes && no && join_returning_arm(a)) || join_chain_statement(a) ||
           (yes && no &&
            (join_tails(a) || join_returns_of_arms(a) || conditional_value(a) ||
             conditional_condition(a) || join_tails(a, true)));
  }

  /// What has a statement in it is no part of an expression: such blocks are merged in order, each
  /// once, when all is folded. (From the last one backwards every block would take over all that
  /// follows it.)
  bool begins_with_statement(BlockId b) {
    constexpr std::size_t kLookAhead = 16;
    const Node& node = s_.nodes[b.index];
    if (node.term == TermKind::Branch) return false;
    for (std::size_t i = 0; i < node.body.size() && i < kLookAhead; ++i) {
      const Value& value = s_.at(node.body[i]);
      if (s_.uses[node.body[i].index] != 0 || s_.is_const(node.body[i])) continue;
      // The store of a walrus has its value used again.
      if (!is_name_store(value.op) || s_.uses[s_.resolve(value.operands[0]).index] == 1)
        return true;
    }
    return false;
  }

  /// Folds what these blocks, in an order that has operands after what holds them, come to; true
  /// when there was something to fold.
  bool run(const std::vector<BlockId>& order) {
    bool any = false, deferred = false;
    for (std::size_t i = order.size(); i > 0; --i) {
      const BlockId a = order[i - 1];
      while (s_.nodes[a.index].alive) {
        if (s_.can_merge(a)) {
          if (begins_with_statement(s_.nodes[a.index].edges[0].to)) {
            deferred = true;
            break;
          }
          s_.merge(a);
          continue;
        }
        if (!fold_at(a)) break;
        ++s_.changes;
        any = true;
      }
    }
    if (deferred) s_.merge_straight_lines();
    return any;
  }

  void find_loops(const std::vector<BlockId>& order) {
    number_ = s_.positions(order);
    headers_.assign(s_.nodes.size(), 0);
    for (BlockId b : order) {
      const Node& node = s_.nodes[b.index];
      for (int k = 0; k < node.edge_count(); ++k)
        if (number_[node.edges[k].to.index] <= number_[b.index]) {
          headers_[node.edges[k].to.index] = 1;
          if (node.term == TermKind::Branch) latches_[node.edges[k].to.index].push_back(b);
        }
    }
    for (BlockId b : order) {
      const Node& node = s_.nodes[b.index];
      for (int k = 0; k < node.edge_count() && node.term == TermKind::Branch; ++k)
        if (headers_[node.edges[k].to.index] && enters_loop(b, node.edges[k].to))
          entered_by_[node.edges[k].to.index].push_back(b);
    }
  }

  /// The same of all blocks, or of those alone that are marked in `only`.
  bool run(const std::vector<std::uint8_t>* only = nullptr) {
    std::vector<BlockId> order = s_.reverse_postorder_blocks();
    headers_.clear();
    latches_.clear();
    entered_by_.clear();
    if (s_.any_edge_back()) find_loops(order);
    if (only) std::erase_if(order, [&](BlockId b) { return !(*only)[b.index]; });
    return run(order);
  }

 private:
  StructureGraph& s_;
  std::vector<std::uint8_t> headers_;
  std::vector<std::uint32_t> number_;  // by block: position in reverse postorder
  /// Of the tests one way from which raises an exception again.
  std::optional<std::unordered_set<std::int32_t>> rows_that_raise_again_;
  std::unordered_map<std::uint32_t, std::vector<BlockId>>
      latches_;  // by header: tests that lead back to it
  std::unordered_map<std::uint32_t, std::vector<BlockId>>
      entered_by_;  // by header: tests that lead to it from outside
};

}  // namespace

/// `except A if a else B:`, `except a or B:`: what stands between a handler's begin, or the test
/// before, and the test for a type is that type.
void fold_exception_types(StructureGraph& s) {
  std::vector<BlockId> tests;
  for (std::size_t i = 0; i < s.nodes.size(); ++i) {
    const Node& node = s.nodes[i];
    if (!node.alive || node.params.empty() || node.term != TermKind::Branch ||
        !s.is_op(s.resolve(node.value), Op::EXC_MATCH))
      continue;
    tests.push_back(BlockId(static_cast<std::uint32_t>(i)));
  }
  if (tests.empty()) return;
  s.recount();
  const std::vector<BlockId> order = s.reverse_postorder_blocks();
  const std::vector<std::vector<BlockId>> preds = s.predecessors(order);
  std::vector<std::uint8_t> operand(s.nodes.size(), 0);
  for (BlockId test : tests) {
    std::vector<BlockId> work = preds[test.index];
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      const Node& node = s.nodes[b.index];
      if (operand[b.index] || b == test || node.region != s.nodes[test.index].region ||
          s.is_op(s.resolve(node.value), Op::EXC_MATCH))
        continue;
      operand[b.index] = 1;
      work.insert(work.end(), preds[b.index].begin(), preds[b.index].end());
    }
  }
  std::vector<BlockId> operands;
  for (BlockId b : order)
    if (operand[b.index]) operands.push_back(b);
  Folder(s).run(operands);
}

void fold_expressions(StructureGraph& s, const std::vector<std::uint8_t>* only) {
  if (s.changes == s.folded_at) return;
  Folder folder(s);
  std::uint32_t before = s.changes;
  while (folder.run(only)) before = s.changes;
  if (!only) s.folded_at = before;
}

}  // namespace depyf
