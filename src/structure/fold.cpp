// Control flow inside expressions: `and`, `or`, `not` in conditions, conditional expressions,
// chained comparisons.
//
// A block whose operations all end up in one expression is an operand. Two blocks that decide
// together become one; a diamond whose arms differ in one value handed to the merge becomes a
// Select value. Copies of what follows an expression are joined first (expression_tails.h). Blocks
// are visited in postorder, so operands are folded before what holds them, and
// every fold removes at least one edge.
#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "structure/arm.h"
#include "structure/build.h"
#include "structure/copies.h"
#include "structure/expression_tails.h"
#include "structure/first_operand.h"
#include "structure/graph.h"
#include "structure/operations.h"
#include "structure/steps.h"

namespace depyf {
namespace {

class Folder : Arms {
 public:
  explicit Folder(StructureGraph& s) : Arms(s), tails_(s) {}

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

  ValueId select(BlockId a, ValueId first, Select select, std::uint32_t uses) {
    const ValueId id = s_.add_select(select, a, first, first);
    s_.uses[id.index] = uses;
    s_.nodes[a.index].body.push_back(id);
    return id;
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

  /// What a condition evaluates first.
  const Value& first_test(ValueId test) const {
    test = s_.resolve(test);
    while (s_.at(test).kind == ValueKind::Select) test = s_.resolve(s_.at(test).operands[0]);
    return s_.at(test);
  }

  /// Do rows without columns tell `if a:` and on a later row `if b:` from `if a and b:`? A
  /// comparison may tell nothing.
  bool is_nested_if(const Node& outer, const Node& inner) const {
    const VersionTraits& traits = s_.lifted.traits;
    if (!traits.tests_on_statement_row || !s_.options.layout_tells || outer.term_line <= 0 ||
        inner.term_line <= outer.term_line)
      return false;
    // No statement goes to what gives a value that other ways give, too: `a and (b or c) or d`.
    const Node& fails = s_.nodes[outer.edges[1].to.index];
    if (fails.term == TermKind::Jump && !fails.edges[0].args.empty()) return false;
    if (!traits.comparison_moves_row) return true;
    const Value& test = first_test(inner.value);
    const bool compares = test.op == Op::COMPARE || test.op == Op::IS || test.op == Op::CONTAINS;
    if (compares || test.line != inner.term_line) return false;
    const Value& before = s_.at(s_.resolve(outer.value));
    return before.kind != ValueKind::Select && before.line < inner.term_line;
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
      if (side == 0 && is_nested_if(node, arm) && !in_comprehension(b)) continue;
      if ((arm.term_line == node.term_line || !s_.options.layout_tells) &&
          s_.nodes[arm.edges[0].to.index].term == TermKind::Branch && join_decided(b, true)) {
        if (s_.can_merge(b)) s_.merge(b);
        return true;
      }
      const ValueId second = s_.resolve(arm.value);
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

  /// Of two ends that differ in one operand, which is `first` in one of them, that operand of the
  /// other one; none where they differ otherwise.
  ValueId differs_in(const Node& end, const Node& other, ValueId first) const {
    if (end.term != other.term) return {};
    if (end.term == TermKind::Return)
      return s_.resolve(end.value) == first ? s_.resolve(other.value) : ValueId();
    ValueId found;
    if (end.term != TermKind::Raise || end.raise_args.size() != other.raise_args.size()) return {};
    for (std::size_t i = 0; i < end.raise_args.size(); ++i) {
      const ValueId x = s_.resolve(end.raise_args[i]), y = s_.resolve(other.raise_args[i]);
      if (x == y) continue;
      if (x != first || found) return {};
      found = y;
    }
    return found;
  }

  /// `return a and b`, `raise 0 <= a < b`, where the end was copied to both ways.
  bool join_ends(BlockId a) {
    Node& node = s_.nodes[a.index];
    const ValueId first = s_.resolve(node.value);
    for (int side = 0; side < 2; ++side) {
      const Edge &arm_edge = node.edges[side], &other = node.edges[1 - side];
      const Node& end = s_.nodes[other.to.index];
      if (!end.body.empty() || end.region != node.region || end.pred_count != 1 ||
          !end.params.empty() || !is_arm_block(a, arm_edge))
        continue;
      Node& arm = s_.nodes[arm_edge.to.index];
      const ValueId second = differs_in(end, arm, first);
      if (!second) continue;
      if (s_.at(second).kind != ValueKind::Select && s_.at(second).block != arm_edge.to) continue;
      Arm e = as_expression(arm_edge.to, second, 1);
      if (!e || !chain_fits(e, first) || (e.external && side != 0)) continue;
      s_.uses[first.index] -= 1;
      const ValueId v = select_operands(a, first, e, side == 0, false);
      kill(arm_edge.to);
      kill(other.to);
      Node& whole = s_.nodes[a.index];
      whole.term = arm.term;
      whole.value = arm.term == TermKind::Return ? v : ValueId();
      whole.raise_args = arm.raise_args;
      for (ValueId& operand : whole.raise_args) {
        operand = s_.resolve(operand);
        if (operand == second)
          operand = v;
        else
          --s_.uses[operand.index];  // of the other copy
      }
      whole.take_position(arm);
      return true;
    }
    return false;
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
  /// `constants`: what an arm comes to whatever its test gives, as `q and 0` does.
  ValueId select_of_arms(BlockId a, ValueId p, ValueId q, bool flip,
                         std::array<std::optional<bool>, 2> constants = {}) {
    const Node& node = s_.nodes[a.index];
    const ValueId test = s_.resolve(node.value);
    const BlockId yes = node.edges[0].to, no = node.edges[1].to;
    Arm body = as_expression(yes, p, 1);
    if (!body || body.external) return {};
    Arm orelse = as_expression(no, q, 1);
    if (!orelse || orelse.external || (flip && !negation_is_free(s_.ast, orelse.expr))) return {};
    if (constants[0]) body.expr = decided(body.expr, *constants[0]);
    if (constants[1]) orelse.expr = decided(orelse.expr, *constants[1]);
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

  /// `test and False`, `test or True`.
  ExprId decided(ExprId test, bool value) {
    return s_.ast.expr(ExprKind::BoolOp, {test, truth(value)}, UINT32_MAX, value ? 1 : 0);
  }

  /// Of two arms that both hand a value on.
  bool conditional_value(BlockId a) {
    Node& node = s_.nodes[a.index];
    const Edge yes = node.edges[0], no = node.edges[1];
    const Node &b = s_.nodes[yes.to.index], &c = s_.nodes[no.to.index];
    if (b.term != TermKind::Jump) return false;
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

  /// The value of a test whose two ways lead to one place, as those of `c and 0`: that of `other`,
  /// the test beside it, for the way that leads there too.
  std::optional<bool> constant_of(const Node& node, const Node& other) {
    if (node.edges[0].to != node.edges[1].to || !node.edges[0].args.empty()) return std::nullopt;
    for (int k = 0; k < 2; ++k)
      if (same_args(node.edges[0], other.edges[k], {}, {})) return k == 0;
    return std::nullopt;
  }

  /// Do two tests on the ways of a third one belong to an expression, for sure? They do where one
  /// of the places that they lead to hands on a value. No statements stand inside others on one
  /// row.
  bool is_inside_expression(const Node& a, const Node& b, const Node& c) const {
    const bool one_row =
        a.term_line > 0 && b.term_line == a.term_line && c.term_line == a.term_line;
    return (one_row && s_.options.layout_tells) ||
           std::ranges::any_of(b.edges, [&](const Edge& edge) {
             const Node& to = s_.nodes[edge.to.index];
             return to.term == TermKind::Jump && !to.edges[0].args.empty();
           });
  }

  /// `if (b if a else c):` — both arms decide over the same two successors. One of them may be
  /// decided: `p if (b if a else c and 0) else q`.
  bool conditional_condition(BlockId a) {
    Node& node = s_.nodes[a.index];
    const ValueId test = s_.resolve(node.value);
    const Edge yes = node.edges[0], no = node.edges[1];
    const Node &b = s_.nodes[yes.to.index], &c = s_.nodes[no.to.index];
    if (b.term != TermKind::Branch) return false;
    if (count_in(yes, test) || count_in(no, test)) return false;
    std::array<std::optional<bool>, 2> constants;
    int flip = -1;
    if (same_args(b.edges[0], c.edges[0], {}, {}) && same_args(b.edges[1], c.edges[1], {}, {})) {
      flip = 0;
    } else if (same_args(b.edges[0], c.edges[1], {}, {}) &&
               same_args(b.edges[1], c.edges[0], {}, {})) {
      flip = 1;
    } else if (constants = {constant_of(b, c), constant_of(c, b)};
               (constants[0] || constants[1]) && is_inside_expression(node, b, c)) {
      flip = 0;
    }
    if (flip < 0) return false;
    const Node &kept = constants[0] ? c : b, &dropped = constants[0] ? b : c;
    // Nested `if`s that share `continue` or the end of a loop have this shape too, and read better
    // as they are; not those of an `assert`.
    if (!in_comprehension(a))
      for (int k = 0; k < 2; ++k)
        if (is_loop_header(kept.edges[k].to) && !s_.fails_assertion(kept.edges[1 - k].to) &&
            !enters_loop(a, kept.edges[k].to) && !repeats_test(kept, kept.edges[k].to))
          return false;
    ValueId p = s_.resolve(b.value), q = s_.resolve(c.value);
    for (int k = 0; k < 2; ++k)
      if (count_in(b.edges[k], p) || count_in(c.edges[k], q)) return false;
    const ValueId v = select_of_arms(a, p, q, flip == 1, constants);
    if (!v) return false;
    for (int k = 0; k < 2; ++k) {
      for (ValueId arg : dropped.edges[k].args) --s_.uses[s_.resolve(arg).index];
      if (--s_.nodes[dropped.edges[k].to.index].pred_count == 0) kill(dropped.edges[k].to);
    }
    Edge out_yes = kept.edges[0], out_no = kept.edges[1];
    const int goes_on = constants[1] ? b.falls : c.falls ^ flip;
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
      if (!node.alive || !node.tests_value()) return false;
      const ValueId value = s_.resolve(node.value);
      if (s_.at(value).kind != ValueKind::Select || s_.select_of(value).kind != Select::IfExp)
        return false;
      const BlockId x = node.edges[0].to, y = node.edges[1].to, p = arm.edges[0].to,
                    q = arm.edges[1].to;
      return (x == p && y == q) || (x == q && y == p);
    });
  }

  bool is_loop_header(BlockId b) const { return b.index < headers_.size() && headers_[b.index]; }

  bool join_tails(BlockId a, bool hands_over = false) {
    if (!tails_.join_tails(a, hands_over)) return false;
    headers_.resize(s_.nodes.size(), 0);  // the shared tail is a block of its own
    number_.resize(s_.nodes.size(), UINT32_MAX);
    return true;
  }

  bool fold_at(BlockId a) {
    Node& node = s_.nodes[a.index];
    if (!node.tests_value() || !node.alive) return false;
    if (node.edges[0].to == node.edges[1].to) return join_decided(a, false);
    const bool yes = is_arm_block(a, node.edges[0]), no = is_arm_block(a, node.edges[1]);
    if ((!yes && !no) || s_.is_op(s_.resolve(node.value), Op::EXC_MATCH)) return false;
    const auto is_arm = [&](bool is_block, int side, TermKind term) {
      return is_block && s_.nodes[node.edges[side].to.index].term == term;
    };
    const auto any_arm = [&](TermKind term) { return is_arm(yes, 0, term) || is_arm(no, 1, term); };
    const bool hands_over = !node.edges[0].args.empty() || !node.edges[1].args.empty();
    if ((hands_over && join_values(a)) ||
        ((any_arm(TermKind::Return) || any_arm(TermKind::Raise)) && join_ends(a)) ||
        (any_arm(TermKind::Branch) && join_conditions(a)) ||
        (hands_over && tails_.join_copied_tail(a)))
      return true;
    const bool both = yes && no, alike = both && s_.nodes[node.edges[0].to.index].term ==
                                                     s_.nodes[node.edges[1].to.index].term;
    return (both && !alike && tails_.join_returning_arm(a)) || join_chain_statement(a) ||
           (alike && (join_tails(a) || tails_.join_returns_of_arms(a) || conditional_value(a) ||
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
  ExpressionTails tails_;
  std::vector<std::uint8_t> headers_;
  std::vector<std::uint32_t> number_;  // by block: position in reverse postorder
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
  // Where a chain of comparisons fails, a block hands on its value and does nothing else.
  for (BlockId b : operands)
    for (int k = 0; k < s[b].edge_count(); ++k) {
      Edge& edge = s[b].edges[k];
      Node& to = s[edge.to];
      if (!operand[edge.to.index] || !edge.args.empty() || !to.is_plain_jump() ||
          !to.body.empty() || !to.params.empty() || to.pred_count != 1)
        continue;
      to.alive = false;
      edge = Edge{to.edges[0].to, to.edges[0].args};
    }
  std::erase_if(operands, [&](BlockId b) { return !s[b].alive; });
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
