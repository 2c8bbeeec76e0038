#include "structure/copies.h"

#include "bytecode/class_end.h"

namespace depyf {

bool deletes_stored(const Value& store, const Value& remove) {
  const auto pair = [&](Op a, Op b) { return store.op == a && remove.op == b; };
  return store.arg == remove.arg &&
         (pair(Op::STORE_FAST, Op::DELETE_FAST) || pair(Op::STORE_NAME, Op::DELETE_NAME) ||
          pair(Op::STORE_GLOBAL, Op::DELETE_GLOBAL) || pair(Op::STORE_DEREF, Op::DELETE_DEREF));
}

/// Two blocks that leave the function with the same constant, out of the same loops.
bool same_exit(StructureGraph& s, BlockId a, BlockId b) {
  auto quiet = [&](BlockId block) {
    const Node& node = s.nodes[block.index];
    return node.term == TermKind::Return && node.params.empty() &&
           s.is_const(s.resolve(node.value)) && s.are_quiet(node.body);
  };
  if (!quiet(a) || !quiet(b)) return false;
  auto next_drop = [&](BlockId block, std::size_t& i) {
    const Node& node = s.nodes[block.index];
    while (i < node.body.size() && !s.is_op(node.body[i], Op::POP_TOP)) ++i;
    return i < node.body.size() ? s.resolve(s.at(node.body[i++]).operands[0]) : ValueId();
  };
  for (std::size_t i = 0, j = 0;;) {
    const ValueId x = next_drop(a, i), y = next_drop(b, j);
    if (x != y) return false;
    if (!x) break;
  }
  return s.same_constants(s.resolve(s.nodes[a.index].value), s.resolve(s.nodes[b.index].value));
}

/// Are two ends that are the same two statements of the source? Each copy of the end of a function,
/// or of a `return` after the body of a `finally`, has the place of what comes before it, so of a
/// `return None` only columns tell (3.11+) that it was written.
bool written_apart(StructureGraph& s, BlockId a, BlockId b) {
  const Node &x = s.nodes[a.index], &y = s.nodes[b.index];
  if (x.term_line <= 0 || y.term_line <= 0 || x.term_line == y.term_line) return false;
  const auto jumps = [](const Node& node) {
    return !node.at_test && is_jump_width(node.term_columns);
  };
  if (jumps(x) || jumps(y)) return true;
  const auto written = [&](const Node& node) {
    if (node.at_test) return false;
    return !s.is_none(s.resolve(node.value)) || has_width_of(node.term_columns, {"return", "None"});
  };
  return written(x) && written(y);
}

/// Where the stores begin that end every class body (`__static_attributes__`, `__classdictcell__`,
/// `__classcell__`); the length of the body where there are none.
std::size_t class_epilogue(const StructureGraph& s, const Node& node) {
  const std::size_t size = node.body.size();
  if (s.is_function() || node.term != TermKind::Return) return size;
  std::size_t begin = size;
  bool stores = false;
  for (std::size_t i = size; i > 0; --i) {
    const Value& value = s.at(node.body[i - 1]);
    if (value.kind != ValueKind::Operation) break;
    if (value.op == Op::STORE_NAME) {
      if (!names_class_cell(s.module[StrId(value.arg)]) && !s.lists_attributes(value)) break;
      stores = true;
    } else if (value.op == Op::LOAD_CONST || value.op == Op::LOAD_CLOSURE) {
      begin = i - 1;
    } else {
      break;
    }
  }
  return stores ? begin : size;
}

/// Are the last `length` operations of two blocks of one region the same, of the same lines, on
/// values of their own?
bool same_operations(StructureGraph& s, BlockId a, BlockId b, std::size_t length) {
  const Node &x = s.nodes[a.index], &y = s.nodes[b.index];
  if (x.region != y.region || y.body.size() < length) return false;
  CopiedRun run(s, x, y, length);
  run.closed = true;
  return run.same_operations([&](ValueId v, ValueId w) {
    const Value &p = s.at(v), &q = s.at(w);
    return p.line == q.line && p.op != Op::POP_EXCEPT && p.op != Op::POP_TOP &&
           s.columns_of_copies(p) == s.columns_of_copies(q) && s.copied_operation(p, q);
  });
}

/// Are the last `length` operations of the two blocks, and what they decide, the same?
bool same_tests(StructureGraph& s, BlockId a, BlockId b, std::size_t length) {
  const Node &x = s.nodes[a.index], &y = s.nodes[b.index];
  if (x.region != y.region || length > kMostCompared) return false;
  for (int k = 0; k < 2; ++k)
    if (!x.edges[k].args.empty() || !y.edges[k].args.empty() ||
        (x.edges[k].to != y.edges[k].to && !same_exit(s, x.edges[k].to, y.edges[k].to)))
      return false;
  CopiedRun tests(s, x, y, length);
  const auto same = [&](ValueId v, ValueId w) {
    return s.at(v).kind == ValueKind::Select && s.at(w).kind == ValueKind::Select
               ? s.same_select(v, w)
               : s.same_operation(s.at(v), s.at(w));
  };
  return tests.same_operations(same) && tests.same_value(x.value, y.value);
}

/// Does the place of a `return None` tell that it was written (3.11+)? An implicit one takes that
/// of what comes before it, which may be as wide as the word.
bool is_written_return(const StructureGraph& s, const Node& node) {
  if (node.behind_copy || node.at_test || !has_width_of(node.term_columns, {"return"}))
    return false;
  const auto before = std::find_if_not(node.body.rbegin(), node.body.rend(),
                                       [&](ValueId v) { return s.is_quiet(v); });
  return before == node.body.rend() || s.at(*before).line != node.term_line ||
         s.at(*before).columns != node.term_columns;
}

}  // namespace depyf
