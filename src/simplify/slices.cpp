// Rule "slices of their own": LOAD_SLICE(o, a, b) is LOAD_SUBSCR(o, BUILD_SLICE(a, b)),
// STORE_SLICE(v, o, a, b) is STORE_SUBSCR(v, o, BUILD_SLICE(a, b)).
//
// Proof: the two instructions (3.12+) make the slice object and subscript with it; making it calls
// nothing of the program. Source with `o[a:b]` compiles to them, Dynamo writes the slice out.
#include "simplify/rules.h"

namespace depyf::simplifying {

void write_out_slices(Lifted& lifted) {
  std::vector<ValueId> body, operands;
  for (LiftedBlock& block : lifted.blocks) {
    body.clear();
    for (ValueId id : block.body) {
      const Value value = lifted[id];
      if (value.op == Op::LOAD_SLICE || value.op == Op::STORE_SLICE) {
        Value slice = value;
        slice.op = Op::BUILD_SLICE;
        slice.arg = 2;
        slice.aux = 0;
        slice.operands = lifted.arena.copy(value.operands.last(2));
        operands.assign(value.operands.begin(), value.operands.end() - 2);
        operands.push_back(lifted.add(slice));
        body.push_back(operands.back());
        lifted[id].op = value.op == Op::LOAD_SLICE ? Op::LOAD_SUBSCR : Op::STORE_SUBSCR;
        lifted[id].operands = lifted.arena.copy(std::span<const ValueId>(operands));
      }
      body.push_back(id);
    }
    if (body.size() != block.body.size()) block.body.swap(body);
  }
}

}  // namespace depyf::simplifying
