#include "structure/structure.h"

#include "structure/graph.h"

namespace depyf {

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
  ast.bodies[lifted.code.index].stmts = emit();
}

void structure(Lifted& lifted, Ast& ast, const StructureOptions& options) {
  if (ast.bodies.size() <= lifted.code.index) ast.bodies.resize(lifted.code.index + 1);
  ast.bodies[lifted.code.index].code = lifted.code;
  Structurer(lifted, ast, options).run();
}

}  // namespace depyf
