#include "pipeline/reading.h"

#include <optional>

#include "flow/cfg.h"
#include "flow/straighten.h"
#include "simplify/simplify.h"

namespace depyf {

void forget_layout(Cfg& cfg) {
  cfg.traits.source_order = cfg.unreached = cfg.ends_in_compound = false;
  cfg.loops.clear();
  cfg.elses.clear();
  cfg.behind_jumps.clear();
  for (Region& region : cfg.regions) region.setup = region.after = region.end = kNoOffset;
  for (Instr& instr : cfg.instrs)
    if (instr.op == Op::JUMP) instr.aux = static_cast<std::uint32_t>(JumpRole::Plain);
}

InstrList straightened_list(Module& module, InstrList list) {
  if (!straighten(module, list)) throw Error("there is nothing to straighten");
  for (std::uint32_t i = 0; i < list.instrs.size(); ++i) list.instrs[i].offset = 2 * i;
  return list;
}

Lifted lift_body(Module& module, CodeId code, const InstrList& list, bool& sound,
                 Reading& reading) {
  sound = false;
  std::optional<InstrList> straightened;
  if (reading.straightened) straightened = straightened_list(module, list);
  Lifted lifted = [&] {
    try {
      Cfg cfg =
          build_cfg(module, code, straightened ? *straightened : list, reading.has(kUnreached));
      if (reading.straightened) forget_layout(cfg);
      reading.keep(kUnreached, cfg.unreached);
      return lift(module, code, cfg);
    } catch (const UnusualCode&) {
      sound = true;
      throw;
    }
  }();
  sound = true;
  drop_second_iter(lifted, module);
  if (!reading.has(kElses)) lifted.elses.clear();
  reading.keep(kElses, !lifted.elses.empty());
  return lifted;
}

void take_back(Ast& ast, CodeId code, std::size_t noted) {
  ast.diagnostics.resize(noted);
  ast.bodies[code.index] = Body();
  ast.bodies[code.index].code = code;
}

}  // namespace depyf
