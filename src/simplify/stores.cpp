// Rule "order of local stores": stores to different locals with nothing else between them are put
// in the order of the locals' names.
//
// Premises: the slots are no cells; what stands between two of the stores only makes values:
// constants, cells, tuples (pure_values(), loads of locals and globals apart). Proof: a local is
// written and read by its own frame only, storing cannot raise, and nothing in between reads one.
// What a slot held before may die earlier or later, which is not part of the semantics. Two stores
// to one local keep their order.
//
// Dynamo stores what lay on the stack from the top down; source that evaluates the same values and
// names them stores from the bottom up, and which of the two an assignment of several names
// compiles to depends on their number and on the version.
#include <algorithm>

#include "simplify/rules.h"

namespace depyf::simplifying {

void order_local_stores(Lifted& lifted, const Module& module) {
  const CodeObject& code = module[lifted.code];
  const auto plain = [&](const Value& value) {
    return value.op == Op::STORE_FAST && value.arg < code.slots.size() &&
           code.slots[value.arg].name.valid() && !(code.slots[value.arg].kind & (kCell | kFree));
  };
  const auto between = [&](const Value& value) {
    return value.op == Op::LOAD_CONST || value.op == Op::LOAD_CLOSURE ||
           value.op == Op::BUILD_TUPLE || value.op == Op::BUILD_LIST || value.op == Op::BUILD_SLICE;
  };
  std::vector<std::size_t> at;
  std::vector<ValueId> stores, others;
  for (LiftedBlock& block : lifted.blocks) {
    std::vector<ValueId>& body = block.body;
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (!plain(lifted[body[i]])) continue;
      std::size_t end = i;  // behind the last store of the run
      stores.clear();
      others.clear();
      std::size_t made = 0;
      for (std::size_t k = i;
           k < body.size() && (plain(lifted[body[k]]) || between(lifted[body[k]])); ++k) {
        if (plain(lifted[body[k]])) {
          stores.push_back(body[k]);
          end = k + 1;
          made = others.size();
        } else {
          others.push_back(body[k]);
        }
      }
      others.resize(made);
      if (stores.size() > 1) {
        std::stable_sort(stores.begin(), stores.end(), [&](ValueId a, ValueId b) {
          return module[code.slots[lifted[a].arg].name] < module[code.slots[lifted[b].arg].name];
        });
        auto out =
            std::copy(others.begin(), others.end(), body.begin() + static_cast<std::ptrdiff_t>(i));
        std::copy(stores.begin(), stores.end(), out);
      }
      i = end - 1;
    }
  }
}

}  // namespace depyf::simplifying
