#include "bytecode/bound_names.h"

#include "bytecode/scan.h"

namespace depyf {

BoundNames find_bound_names(const Module& module) {
  BoundNames names{kNamesWereFound};
  for (std::size_t i = 0; i < module.codes.size(); ++i) {
    const CodeObject& code = module.codes[i];
    for (const Slot& slot : code.slots) names.insert(slot.name.index);
    const VersionTable* table = version_table(code.version);
    if (!table) continue;
    scan_instructions(code, *table, [&](const RawInstr& instr) {
      const Op op = instr.info.op;
      const bool binds = op == Op::STORE_NAME || op == Op::STORE_GLOBAL;
      if (binds && instr.name() < code.names.size()) names.insert(code.names[instr.name()].index);
      if (op == Op::IMPORT_STAR ||
          (instr.info.action == Action::Intrinsic1 && instr.operand < table->intrinsics_1.size() &&
           table->intrinsics_1[instr.operand].op == Op::IMPORT_STAR))
        names.insert(kAnyName);
    });
  }
  return names;
}

bool may_be_bound(Module& module, BoundNames& names, std::string_view name) {
  if (names.empty()) names = find_bound_names(module);
  return names.contains(kAnyName) || names.contains(module.intern(name).index);
}

}  // namespace depyf
