#include "structure/structure.h"

#include "structure/graph.h"

namespace depyf {

/// A module or class body has no `return`: every way to its end is one way.
void Structurer::join_module_ends() {
  const CodeObject& code = module[lifted.code];
  if (code.flags & kOptimized) return;
  BlockId end;
  const std::size_t count = nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    Node& node = nodes[i];
    if (!node.alive || node.term != TermKind::Return || !is_const(resolve(node.value))) continue;
    if (module[ConstId(at(resolve(node.value)).arg)].kind != ConstKind::None) continue;
    if (!end) {
      Node last;
      last.term = TermKind::Return;
      last.value = add_value(at(resolve(node.value)));
      last.body.push_back(last.value);
      last.term_offset = node.term_offset;
      last.term_line = node.term_line;
      last.term_columns = node.term_columns;
      end = BlockId(static_cast<std::uint32_t>(nodes.size()));
      nodes.push_back(last);
    }
    Node& from = nodes[i];
    from.term = TermKind::Jump;
    from.value = ValueId();
    from.edges[0] = Edge{end, {}};
  }
  if (!end) return;
  count_uses();
  count_preds();
  thread_empty_blocks();
  merge_straight_lines();
}

/// 3.14+ compiles `any(… for …)`, `all`, `tuple`, `list` and `set` of a generator expression to a test whether the name is the builtin and a loop in
/// place of the call. The call says it all.
void Structurer::drop_builtin_shortcuts() {
  for (Node& node : nodes) {
    if (!node.alive || node.term != TermKind::Branch || !is_op(node.value, Op::IS)) continue;
    const ValueId right = resolve(at(node.value).operands[1]);
    if (!is_op(right, Op::LOAD_COMMON)) continue;
    const CommonConstant which = static_cast<CommonConstant>(at(right).arg);
    if (which != CommonConstant::BuiltinAll && which != CommonConstant::BuiltinAny && which != CommonConstant::BuiltinTuple &&
        which != CommonConstant::BuiltinList && which != CommonConstant::BuiltinSet)
      continue;
    const ValueId test = node.value;
    std::erase_if(node.body, [&](ValueId v) { return v == test || v == right; });
    node.term = TermKind::Jump;
    node.value = ValueId();
    node.edges[0] = node.edges[1];
  }
}

void Structurer::run() {
  drop_builtin_shortcuts();
  classify_regions();          // exception-state bookkeeping goes first: it hides the real regions
  join_exit_copies();          // while copies still stand alone
  thread_empty_blocks();
  merge_straight_lines();
  join_module_ends();
  fold_async_for();            // before folding: the handler's remainder becomes ordinary code
  recognise_matches();         // before folding: a pattern's tests are no operands of `and`
  fold_expressions();
  fold_inlined_comprehensions();
  fold_expressions();
  strip_cleanups();            // compares copies of code, so expressions are folded on both sides
  join_loop_tests();           // needs the loops' tests as one condition
  thread_empty_blocks();
  merge_straight_lines();
  fold_expressions();
  count_uses();
  count_preds();
  const std::uint32_t first_expr = static_cast<std::uint32_t>(ast.exprs.size()), first_stmt = static_cast<std::uint32_t>(ast.stmts.size());
  ast.bodies[lifted.code.index].stmts = emit(entry, RegionId(), BlockId());
  check_effects();
  if (options.name_temporaries) name_temporaries(first_expr, first_stmt);
}

void structure(Lifted& lifted, Ast& ast, const StructureOptions& options) {
  if (ast.bodies.size() <= lifted.code.index) ast.bodies.resize(lifted.code.index + 1);
  ast.bodies[lifted.code.index].code = lifted.code;
  Structurer(lifted, ast, options).run();
  check_temporaries(ast, lifted.code, options.temp_prefix);
}

}  // namespace depyf
