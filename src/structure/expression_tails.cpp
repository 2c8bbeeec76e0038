#include "structure/expression_tails.h"

#include <algorithm>
#include <span>

#include "structure/copies.h"
#include "structure/operations.h"
#include "structure/unfold.h"

namespace depyf {

bool ExpressionTails::ends_expression(BlockId test, const Node& b, const Node& c) const {
  const bool in_order = b.term_offset < c.term_offset;
  const Node &first = in_order ? b : c, &last = in_order ? c : b;
  const std::int32_t row = s_.nodes[test.index].term_line;
  // `a if b else c` begins with the row of a, but the body of an `if` has a later row.
  if (row > 0 && first.term_line > row) return false;
  return first.term_line == last.term_line || (last.term_line != 0 && last.term_line < row);
}

bool ExpressionTails::ends_function_behind_finally(BlockId a) {
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

bool ExpressionTails::works_on_constants(ValueId v) const {
  const Value& value = s_.at(v);
  static constexpr OpSet kFolded{Op::UNARY, Op::BINARY, Op::LOAD_SUBSCR};
  return value.kind == ValueKind::Operation && kFolded[value.op] &&
         std::ranges::all_of(value.operands,
                             [&](ValueId operand) { return s_.is_const(s_.resolve(operand)); });
}

void ExpressionTails::unfold_copy(BlockId a) {
  if (!s_.lifted.traits.folds_displays) return;
  for (int side = 0; side < 2; ++side) {
    const BlockId arm = s_.nodes[a.index].edges[side].to;
    Node& folded = s_.nodes[arm.index];
    const Node& other = s_.nodes[s_.nodes[a.index].edges[1 - side].to.index];
    const bool jumps = folded.term == TermKind::Jump && folded.edges[0].args.empty() &&
                       folded.edges[0].to == other.edges[0].to;
    if (folded.term != other.term || !(jumps || folded.term == TermKind::Return) ||
        folded.body.empty() || other.body.size() <= folded.body.size())
      continue;
    const std::size_t loads = other.body.size() - folded.body.size();
    const ValueId known = folded.body[0], op = other.body[loads];
    if (!s_.is_const(known) || s_.uses[known.index] != 1 || !works_on_constants(op) ||
        !std::ranges::equal(s_.at(op).operands, std::span(other.body).first(loads), {},
                            [&](ValueId operand) { return s_.resolve(operand); }))
      continue;
    Value copy = s_.at(op);
    if (copy.op == Op::LOAD_SUBSCR || copy.columns == 0 || copy.columns != s_.at(known).columns ||
        copy.line != s_.at(known).line)
      continue;
    const Const &result = s_.constant(known), &last = s_.constant(s_.resolve(copy.operands.back()));
    const std::optional<Const> first =
        copy.op == Op::UNARY ? operand_of(static_cast<UnaryOp>(copy.arg), result)
                             : left_operand_of(static_cast<BinaryOp>(copy.arg), result, last);
    if (!first) continue;
    std::vector<ValueId> operands;
    for (ValueId operand : copy.operands) {
      Value load = s_.at(s_.resolve(operand));
      load.block = arm;
      if (operands.empty()) load.arg = s_.module.add(*first).index;
      operands.push_back(s_.add_value(load));
      s_.uses[operands.back().index] = 1;
    }
    copy.block = arm;
    copy.operands = s_.lifted.arena.copy(std::span<const ValueId>(operands));
    const ValueId made = s_.add_value(copy);
    std::swap(s_.uses[made.index], s_.uses[known.index]);
    for (ValueId later : std::span(folded.body).subspan(1))
      for (ValueId& operand : s_.lifted.values[later.index].operands)
        if (operand && s_.resolve(operand) == known) operand = made;
    if (folded.value && s_.resolve(folded.value) == known) folded.value = made;
    folded.body[0] = made;
    folded.body.insert(folded.body.begin(), operands.begin(), operands.end());
    return;
  }
}

bool ExpressionTails::join_tails(BlockId a, bool hands_over) {
  const ValueId tested = s_.resolve(s_.nodes[a.index].value);
  const Edge yes = s_.nodes[a.index].edges[0], no = s_.nodes[a.index].edges[1];
  // Only copies of one statement: code without lines, such as Dynamo's, tells nothing of that.
  if (s_.options.made_by_dynamo) return false;
  unfold_copy(a);
  const Node &b = s_.nodes[yes.to.index], &c = s_.nodes[no.to.index];
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
    // The compiler would have folded an operation on constants that was written in an arm.
    if (!columns && step <= longest && (works_on_constants(p) || works_on_constants(q))) {
      lengths.push_back(length);
      continue;
    }
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

bool ExpressionTails::takes_from_before(BlockId block, std::size_t length) {
  return std::ranges::any_of(std::span(s_.nodes[block.index].body).last(length), [&](ValueId v) {
    return std::ranges::any_of(s_.at(v).operands, [&](ValueId operand) {
      return operand && s_.at(s_.resolve(operand)).block != block;
    });
  });
}

bool ExpressionTails::is_stored_before(const Node& node, std::size_t length, ValueId v) const {
  const Value& store = s_.at(node.body[node.body.size() - 1 - length]);
  return is_name_store(store.op) && s_.resolve(store.operands[0]) == v;
}

bool ExpressionTails::is_part_of_string(const Node& node, std::size_t length, ValueId part) const {
  const auto tail = std::span(node.body).last(length);
  return std::any_of(tail.begin(), tail.end(), [&](ValueId v) {
    const Value& value = s_.at(v);
    return s_.is_op(v, Op::BUILD_STRING) &&
           std::any_of(value.operands.begin(), value.operands.end(),
                       [&](ValueId operand) { return s_.resolve(operand) == part; });
  });
}

std::size_t ExpressionTails::from_end(const Node& node, ValueId v, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i)
    if (node.body[node.body.size() - 1 - i] == v) return i;
  return SIZE_MAX;
}

bool ExpressionTails::one_difference(BlockId x, BlockId y, std::size_t length,
                                     const std::vector<std::pair<ValueId, ValueId>>& ends,
                                     ValueId tested, ValueId& p, ValueId& q) {
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

bool ExpressionTails::is_callee_where_null_is(BlockId arm, std::size_t length, ValueId p) {
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

bool ExpressionTails::arm_is_expression(BlockId block, std::size_t length, ValueId root,
                                        ValueId tested) {
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

void ExpressionTails::share_tail(BlockId x, BlockId y, std::size_t length, ValueId p, ValueId q) {
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
  for (ValueId v : tail.body)
    for (ValueId& operand : s_.lifted.values[v.index].operands)
      if (operand && s_.resolve(operand) == p) operand = h;
  if (tail.term == TermKind::Jump) {
    --s_.nodes[tail.edges[0].to.index].pred_count;  // two edges become one
    for (ValueId arg : c.edges[0].args)
      if (s_.resolve(arg) != q) --s_.uses[s_.resolve(arg).index];
    tail.edges[0] = replace_in(tail.edges[0], p, h);
  }
  auto cut = [&](Node& arm, ValueId argument) {
    arm.body.resize(arm.body.size() - length);
    s_.jump_with(arm, m, argument);
  };
  cut(b, p);
  cut(c, q);
  s_.add_node(std::move(tail));
}

bool ExpressionTails::join_copied_tail(BlockId a) {
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
    if (returns && (arm.term_line == 0 || (arm.term_line != tail.term_line &&
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
    const auto same = [&](ValueId v, ValueId w) { return s_.copied_operation(s_.at(v), s_.at(w)); };
    if (!run.same_operations(same) || (returns && !run.same_value(arm.value, tail.value))) continue;
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
    s_.jump_with(arm, other.to, operand);
    ++s_.nodes[other.to.index].pred_count;
    return true;
  }
  return false;
}

bool ExpressionTails::join_returning_arm(BlockId a) {
  if (!s_.lifted.traits.source_order || s_.options.made_by_dynamo) return false;
  const Node& node = s_.nodes[a.index];
  for (int side = 0; side < 2; ++side) {
    const Edge &arm_edge = node.edges[side], &other = node.edges[1 - side];
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
    s_.jump_with(arm, end, operand);
    ++s_.nodes[end.index].pred_count;
    return true;
  }
  return false;
}

bool ExpressionTails::join_returns_of_arms(BlockId a) {
  const BlockId arms[] = {s_.nodes[a.index].edges[0].to, s_.nodes[a.index].edges[1].to};
  if (s_.options.made_by_dynamo) return false;
  BlockId ends[2];
  for (int k = 0; k < 2; ++k) {
    const Node& arm = s_.nodes[arms[k].index];
    if (arm.term != TermKind::Jump || !arm.edges[0].args.empty()) return false;
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
  if (end.region != other.region || end.term_line != other.term_line ||
      end.term_columns != other.term_columns)
    return false;
  const ValueId returned = s_.add_param(ends[0]);
  s_.uses[returned.index] = 1;
  for (int k = 0; k < 2; ++k)
    s_.jump_with(s_.nodes[arms[k].index], ends[0], s_.resolve(s_.nodes[ends[k].index].value));
  end.params.push_back(returned);
  end.value = returned;
  end.pred_count = 2;
  kill(ends[1]);
  return true;
}

}  // namespace depyf
