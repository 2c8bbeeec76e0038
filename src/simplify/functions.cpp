// Rule "function of a code object": `(lambda: 0).__class__(code, (lambda: 0).__globals__, None,
// None, closure)` is MAKE_FUNCTION of code with that closure.
//
// Premises: both functions are made for their attribute alone; code, globals, None, None and the
// closure are all that is passed; the code is a code object among the constants, and the closure a
// tuple of as many cells as it has free variables. Proof: `__class__` of what MAKE_FUNCTION makes
// is the type of functions and `__globals__` the globals of the frame, whatever the program
// rebinds. That type, called so, makes a function of these globals, with the code's own name, no
// defaults and that closure, as MAKE_FUNCTION does. It checks its arguments, which the other does
// not; by the premises they are right, so it does not raise. This is how source spells the function
// of a code object that torch knows by its identity, which no `def` can give back.
//
// Rule "call of iter": the very function `iter` (known by its identity), called with one argument,
// is GET_ITER: both are PyObject_GetIter.
//
// Rule "name of a function that is only called": up to 3.10 MAKE_FUNCTION is told the qualified
// name. Where a live code object is called at once, nobody but the code itself could ask for that
// name, and a code object does not know the function it is run for.
//
// Rule "call of a rotation": a function that only returns a tuple of its arguments (Const::text
// says which), called with a tuple built for it, is that tuple. Up to 3.9 Dynamo rotates five
// values and more of the stack so. Premise: nobody gives the function other code; torch makes it
// for itself.
#include <algorithm>

#include "simplify/rules.h"

namespace depyf::simplifying {

namespace {

constexpr std::uint32_t kHasClosure = 8;

enum class Part : std::uint8_t { None, Type, Globals };

bool is_none(const Lifted& lifted, const Module& module, ValueId id) {
  const Value& value = lifted[id];
  return value.kind == ValueKind::Operation && value.op == Op::LOAD_CONST &&
         value.arg < module.consts.size() && module[ConstId(value.arg)].kind == ConstKind::None;
}

bool is_live_object(const Lifted& lifted, const Module& module, ValueId id) {
  const Value& value = lifted[id];
  return value.kind == ValueKind::Operation && value.op == Op::LOAD_CONST &&
         value.arg < module.consts.size() && module[ConstId(value.arg)].kind == ConstKind::Object;
}

/// Is `code` a code object, and `closure` a tuple of cells for all its free variables?
bool is_closure_for(const Lifted& lifted, const Module& module, ValueId code, ValueId closure) {
  if (!is_live_object(lifted, module, code)) return false;
  const Value& cells = lifted[closure];
  const std::int64_t known = module[ConstId(lifted[code].arg)].integer;  // see live_code.cpp
  return known > 1 && cells.kind == ValueKind::Operation && cells.op == Op::BUILD_TUPLE &&
         cells.operands.size() + 1 == static_cast<std::size_t>(known) &&
         std::all_of(cells.operands.begin(), cells.operands.end(), [&](ValueId cell) {
           return lifted[cell].kind == ValueKind::Operation && lifted[cell].op == Op::LOAD_CLOSURE;
         });
}

}  // namespace

void name_functions_of_code(Lifted& lifted, const Module& module, std::uint32_t iter_object) {
  bool any = iter_object != UINT32_MAX;
  for (const LiftedBlock& block : lifted.blocks)
    for (ValueId id : block.body)
      any |= lifted[id].op == Op::MAKE_FUNCTION || lifted[id].op == Op::CALL_EX;
  if (!any) return;
  const std::vector<std::uint32_t> uses = count_uses(lifted);
  std::vector<Part> part(lifted.values.size(), Part::None);
  std::vector<bool> gone(lifted.values.size(), false);
  for (LiftedBlock& block : lifted.blocks) {
    for (std::size_t i = 0; i < block.body.size(); ++i) {
      const ValueId id = block.body[i];
      Value& value = lifted[id];
      if ((value.op == Op::LOAD_ATTR || value.op == Op::LOAD_METHOD) && i > 0 &&
          uses[id.index] == 1 && value.operands[0] == block.body[i - 1] &&
          value.arg < module.strings.size()) {
        const Value& made = lifted[block.body[i - 1]];
        if (made.op != Op::MAKE_FUNCTION || made.arg != 0 || uses[value.operands[0].index] != 1)
          continue;
        const std::string_view name = module[StrId(value.arg)];
        part[id.index] = name == "__class__"     ? Part::Type
                         : name == "__globals__" ? Part::Globals
                                                 : Part::None;
      } else if (value.op == Op::CALL && value.operands.size() == 6 &&
                 part[value.operands[0].index] == Part::Type &&
                 part[value.operands[2].index] == Part::Globals &&
                 is_none(lifted, module, value.operands[3]) &&
                 is_none(lifted, module, value.operands[4]) &&
                 is_closure_for(lifted, module, value.operands[1], value.operands[5])) {
        for (std::size_t k : {0u, 2u}) {
          gone[value.operands[k].index] = true;
          gone[lifted[value.operands[k]].operands[0].index] = true;
        }
        const ValueId operands[] = {value.operands[5], value.operands[1]};
        value.op = Op::MAKE_FUNCTION;
        value.arg = kHasClosure;
        value.aux = 0;
        value.operands = lifted.arena.copy(std::span<const ValueId>(operands));
      }
      if (value.op == Op::CALL && value.operands.size() == 2 &&
          is_live_object(lifted, module, value.operands[0]) &&
          module[ConstId(lifted[value.operands[0]].arg)].object == iter_object) {
        value.op = Op::GET_ITER;
        value.arg = value.aux = 0;
        value.operands = value.operands.subspan(1);
        continue;
      }
      if (value.op == Op::CALL_EX && value.operands.size() == 2 &&
          is_live_object(lifted, module, value.operands[0]) &&
          lifted[value.operands[1]].op == Op::BUILD_TUPLE) {
        const std::string_view order = module[ConstId(lifted[value.operands[0]].arg)].text;
        const std::span<const ValueId> given = lifted[value.operands[1]].operands;
        if (!order.empty() && given.size() == order.size()) {
          std::vector<ValueId> rotated;
          for (char at : order) rotated.push_back(given[static_cast<std::uint8_t>(at)]);
          value.op = Op::BUILD_TUPLE;
          value.arg = static_cast<std::uint32_t>(rotated.size());
          value.aux = 0;
          value.operands = lifted.arena.copy(std::span<const ValueId>(rotated));
          continue;
        }
      }
    }
    std::erase_if(block.body, [&](ValueId id) { return gone[id.index]; });
  }
  expand_held(lifted, [&](ValueId id) { return gone[id.index]; });
}

void forget_names_of_called(Lifted& lifted, const Module& module) {
  std::vector<bool> called;
  std::vector<std::uint32_t> uses;
  for (const LiftedBlock& block : lifted.blocks)
    for (ValueId id : block.body) {
      const Value& value = lifted[id];
      if (value.op != Op::CALL && value.op != Op::CALL_KW && value.op != Op::CALL_EX) continue;
      if (lifted[value.operands[0]].op != Op::MAKE_FUNCTION) continue;
      if (uses.empty()) {
        uses = count_uses(lifted);
        called.assign(lifted.values.size(), false);
      }
      called[value.operands[0].index] = uses[value.operands[0].index] == 1;
    }
  if (called.empty()) return;
  for (LiftedBlock& block : lifted.blocks)
    for (ValueId id : block.body) {
      Value& value = lifted[id];
      if (value.op != Op::MAKE_FUNCTION || value.aux != 1 || !called[id.index] ||
          value.operands.size() < 2 ||
          !is_live_object(lifted, module, value.operands[value.operands.size() - 2]))
        continue;
      value.aux = 0;
      value.operands = value.operands.first(value.operands.size() - 1);
    }
}

}  // namespace depyf::simplifying
