#pragma once
// Hand-built graphs for the tests of lift/ and simplify/.
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "flow/cfg.h"
#include "lift/lifted.h"

namespace depyf::test {

struct Builder {
  Module module;
  CodeId code;
  Cfg cfg;
  std::vector<Slot> slots;
  std::vector<ConstId> consts;
  std::uint32_t argcount = 0;

  std::uint32_t slot(std::string_view name) {
    StrId id = module.intern(name);
    for (std::uint32_t i = 0; i < slots.size(); ++i)
      if (slots[i].name == id) return i;
    slots.push_back({id, kLocal});
    return static_cast<std::uint32_t>(slots.size() - 1);
  }
  std::uint32_t argument(std::string_view name) {
    std::uint32_t at = slot(name);
    argcount = at + 1;
    return at;
  }
  std::uint32_t str(std::string_view name) { return module.intern(name).index; }
  std::uint32_t constant(const Const& value) {
    consts.push_back(module.add(value));
    return consts.back().index;
  }
  std::uint32_t integer(std::int64_t value) {
    Const c;
    c.kind = ConstKind::Int;
    c.integer = value;
    return constant(c);
  }
  std::uint32_t none() { return constant(Const{}); }

  RegionId region(std::uint32_t handler, std::uint32_t depth, bool lasti = false,
                  RegionId parent = RegionId::none(),
                  HandlerEntry entry = HandlerEntry::Exception) {
    cfg.regions.push_back({parent, BlockId(handler), depth, lasti, entry});
    return RegionId(static_cast<std::uint32_t>(cfg.regions.size() - 1));
  }

  /// A block: {op, arg, aux}…; next and target by number, -1 for none.
  void block(const std::vector<Instr>& instrs, int next = -1, int target = -1,
             RegionId region = RegionId::none()) {
    Block made;
    made.first = static_cast<std::uint32_t>(cfg.instrs.size());
    for (Instr instr : instrs) {
      instr.offset = 2 * static_cast<std::uint32_t>(cfg.instrs.size());
      instr.line = 1;
      cfg.instrs.push_back(instr);
    }
    made.end = static_cast<std::uint32_t>(cfg.instrs.size());
    made.region = region;
    if (next >= 0) made.next = BlockId(static_cast<std::uint32_t>(next));
    if (target >= 0) made.target = BlockId(static_cast<std::uint32_t>(target));
    cfg.blocks.push_back(made);
  }

  Lifted lifted() {
    cfg.entry = BlockId(0);
    if (!code.valid()) {
      module.codes.push_back({});
      code = CodeId(static_cast<std::uint32_t>(module.codes.size() - 1));
    }
    CodeObject& object = module[code];
    object.slots = module.arena.copy(slots);
    object.consts = module.arena.copy(consts);
    object.nlocals = static_cast<std::uint32_t>(slots.size());
    object.argcount = argcount;
    object.flags = kOptimized | kNewLocals;
    object.name = object.filename = module.intern("f");
    Lifted out = lift(module, code, cfg);
    check(out);
    return out;
  }
  std::string text(const Lifted& lifted) { return to_text(lifted, module); }
};

}  // namespace depyf::test
