// Comprehensions and generator expressions of patch releases of CPython 3.13.
//
// Such a release calls `iter` once more, on the iterator that the loop gets (gh-125038: a debugger
// may put another object in its place). So one source has two forms in this version, and neither
// says more than the other: the iterator of an iterator is that iterator, for all that CPython and
// Dynamo make.
#include <algorithm>
#include <vector>

#include "simplify/rules.h"

namespace depyf {

namespace {

bool is_second_iter(const Lifted& lifted, const Module& module, const Value& value) {
  if (value.op != Op::GET_ITER || value.kind != ValueKind::Operation) return false;
  const Value& of = lifted[value.operands[0]];
  if (of.kind != ValueKind::Operation) return false;
  return of.op == Op::GET_ITER ||
         (of.op == Op::LOAD_FAST && module[module[lifted.code].slots[of.arg].name] == ".0");
}

}  // namespace

bool has_second_iter(const Lifted& lifted, const Module& module) {
  return module.version.may_iterate_twice() &&
         std::ranges::any_of(lifted.values, [&](const Value& value) {
           return is_second_iter(lifted, module, value);
         });
}

bool drop_second_iter(Lifted& lifted, const Module& module) {
  if (!module.version.may_iterate_twice()) return false;
  std::vector<ValueId> replacement(lifted.values.size());
  bool any = false;
  for (LiftedBlock& block : lifted.blocks)
    std::erase_if(block.body, [&](ValueId id) {
      if (!is_second_iter(lifted, module, lifted[id])) return false;
      replacement[id.index] = lifted[id].operands[0];
      return any = true;
    });
  if (any) simplifying::replace_uses(lifted, replacement);
  return any;
}

}  // namespace depyf
