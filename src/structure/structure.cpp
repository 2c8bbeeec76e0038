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

void Structurer::run() {
  classify_regions();          // exception-state bookkeeping goes first: it hides the real regions
  join_exit_copies();          // while copies still stand alone
  thread_empty_blocks();
  merge_straight_lines();
  join_module_ends();
  fold_async_for();            // before folding: the handler's remainder becomes ordinary code
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
  if (options.name_temporaries) name_temporaries(first_expr, first_stmt);
}

void structure(Lifted& lifted, Ast& ast, const StructureOptions& options) {
  if (ast.bodies.size() <= lifted.code.index) ast.bodies.resize(lifted.code.index + 1);
  ast.bodies[lifted.code.index].code = lifted.code;
  Structurer(lifted, ast, options).run();
}

}  // namespace depyf
