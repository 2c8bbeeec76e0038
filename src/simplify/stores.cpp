// Rule "order of local stores": stores to different locals with nothing else between them are put
// in the order of the locals' names.
//
// Premises: the slots are no cells; what stands between two of the stores only makes values:
// constants, cells, tuples, and loads of pure_values(), but for a load of a local that one of the
// stores changes. Those move before the stores. Proof: a local is written and read by its own frame
// only, storing cannot raise, and nothing in between reads what a store before it wrote. What a
// slot held before may die earlier or later, which is not part of the semantics. Two stores to one
// local keep their order.
//
// A deletion of a local that Dynamo made up moves after the stores to such locals that follow it.
// Premises: the block stores the deleted local before, so that deleting it cannot raise; it is none
// of those stored. Proof: nothing but a walk through frames from what dies there tells whether the
// other locals, which only Dynamo's code reads, are bound yet. Deletions keep their order.
//
// Dynamo stores what lay on the stack from the top down; source that evaluates the same values and
// names them stores from the bottom up, and which of the two an assignment of several names
// compiles to depends on their number and on the version.
#include <algorithm>

#include "simplify/rules.h"

namespace depyf::simplifying {

void order_local_stores(Lifted& lifted, const Module& module, bool dynamo) {
  const CodeObject& code = module[lifted.code];
  const auto plain = [&](const Value& value) {
    return value.op == Op::STORE_FAST && value.arg < code.slots.size() &&
           code.slots[value.arg].name.valid() && !(code.slots[value.arg].kind & (kCell | kFree));
  };
  const auto between = [&](const Value& value) {
    return value.op == Op::LOAD_CONST || value.op == Op::LOAD_CLOSURE ||
           value.op == Op::BUILD_TUPLE || value.op == Op::BUILD_LIST || value.op == Op::BUILD_SLICE;
  };
  const auto made_up = [&](const Value& value) {
    return named_like_dynamos(module[code.slots[value.arg].name]);
  };
  const auto writes = [](const Value& value) {
    return value.op == Op::STORE_FAST || value.op == Op::DELETE_FAST;
  };
  if (std::count_if(lifted.values.begin(), lifted.values.end(), writes) < 2) return;
  // By value: a load that moves before stores to other locals.
  std::vector<bool> moves = pure_values(lifted, module, Order(lifted), dynamo);
  for (std::size_t i = 0; i < moves.size(); ++i)
    moves[i] = moves[i] &&
               (lifted.values[i].op == Op::LOAD_FAST || lifted.values[i].op == Op::LOAD_GLOBAL);
  std::vector<ValueId> stores, others, deletions;
  std::vector<bool> bound;  // by slot: a store of this block gave it a value
  const auto deletes = [&](const Value& value) {
    return value.op == Op::DELETE_FAST && value.arg < code.slots.size() &&
           code.slots[value.arg].name.valid() && code.slots[value.arg].kind == kLocal &&
           bound[value.arg] && made_up(value);
  };
  for (LiftedBlock& block : lifted.blocks) {
    std::vector<ValueId>& body = block.body;
    bound.assign(code.slots.size(), false);
    for (std::size_t i = 0; i < body.size(); ++i) {
      const Value& first = lifted[body[i]];
      if (first.op == Op::LOAD_FAST_AND_CLEAR && first.arg < bound.size()) bound[first.arg] = false;
      if (!plain(first) && !deletes(first)) {
        if (first.op == Op::DELETE_FAST && first.arg < bound.size()) bound[first.arg] = false;
        continue;
      }
      std::size_t end = i;  // after the last store of the run
      stores.clear();
      others.clear();
      deletions.clear();
      std::size_t made = 0;
      const auto deleted = [&](std::uint32_t slot) {
        return std::any_of(deletions.begin(), deletions.end(),
                           [&](ValueId d) { return lifted[d].arg == slot; });
      };
      const auto moves_before = [&](ValueId id) {
        const Value& value = lifted[id];
        return id.index < moves.size() && moves[id.index] &&
               (value.op == Op::LOAD_GLOBAL ||
                (!deleted(value.arg) &&
                 std::none_of(
                     stores.begin(), stores.end(),
                     [&](ValueId s) { return lifted[s].arg == value.arg; })));
      };
      for (std::size_t k = i; k < body.size(); ++k) {
        const Value& value = lifted[body[k]];
        if (plain(value)) {
          if (!deletions.empty() && (!made_up(value) || deleted(value.arg))) break;
          stores.push_back(body[k]);
          bound[value.arg] = true;
        } else if (deletes(value)) {
          deletions.push_back(body[k]);
          bound[value.arg] = false;
        } else if (between(value) || moves_before(body[k])) {
          others.push_back(body[k]);
          continue;
        } else {
          break;
        }
        end = k + 1;
        made = others.size();
      }
      others.resize(made);
      if (stores.size() + (stores.empty() ? 0 : deletions.size()) > 1) {
        std::stable_sort(stores.begin(), stores.end(), [&](ValueId a, ValueId b) {
          return module[code.slots[lifted[a].arg].name] < module[code.slots[lifted[b].arg].name];
        });
        auto out =
            std::copy(others.begin(), others.end(), body.begin() + static_cast<std::ptrdiff_t>(i));
        out = std::copy(stores.begin(), stores.end(), out);
        std::copy(deletions.begin(), deletions.end(), out);
      }
      i = end - 1;
    }
  }
}

}  // namespace depyf::simplifying
