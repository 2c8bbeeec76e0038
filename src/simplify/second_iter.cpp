// Comprehensions and generator expressions of patch releases of CPython 3.13.
//
// Such a release calls `iter` once more, on the iterator that the loop gets (gh-125038: a debugger
// may put another object in its place). So one source has two forms in this version, and neither
// says more than the other: the iterator of an iterator is that iterator, for all that CPython and
// Dynamo make.
#include <vector>

#include "simplify/rules.h"

namespace depyf {

bool drop_second_iter(Lifted& lifted, const Module& module) {
  if (!module.version.may_iterate_twice()) return false;
  std::vector<ValueId> replacement(lifted.values.size());
  bool any = false;
  for (LiftedBlock& block : lifted.blocks)
    std::erase_if(block.body, [&](ValueId id) {
      const Value& value = lifted[id];
      if (value.op != Op::GET_ITER || value.kind != ValueKind::Operation) return false;
      const Value& of = lifted[value.operands[0]];
      if (of.kind != ValueKind::Operation) return false;
      const bool given =
          of.op == Op::LOAD_FAST && module[module[lifted.code].slots[of.arg].name] == ".0";
      if (of.op != Op::GET_ITER && !given) return false;
      replacement[id.index] = value.operands[0];
      return any = true;
    });
  if (any) simplifying::replace_uses(lifted, replacement);
  return any;
}

}  // namespace depyf
