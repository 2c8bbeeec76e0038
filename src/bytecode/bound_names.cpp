#include "bytecode/bound_names.h"

#include "opcode/tables.h"

namespace depyf {

BoundNames find_bound_names(const Module& module) {
  BoundNames names{kNamesWereFound};
  for (std::size_t i = 0; i < module.codes.size(); ++i) {
    const CodeObject& code = module.codes[i];
    for (const Slot& slot : code.slots) names.insert(slot.name.index);
    const VersionTable* table = version_table(code.version);
    if (!table) continue;
    std::uint32_t extended = 0;
    for (std::size_t at = 0; at + 1 < code.code.size(); at += 2) {
      const OpcodeInfo& info = table->opcodes[code.code[at]];
      const std::uint32_t operand = extended << 8 | code.code[at + 1];
      extended = info.name == "EXTENDED_ARG" ? operand : 0;
      at += std::size_t{2} * info.caches;
      const bool binds = info.op == Op::STORE_NAME || info.op == Op::STORE_GLOBAL;
      if (binds && operand < code.names.size()) names.insert(code.names[operand].index);
      if (info.op == Op::IMPORT_STAR ||
          (info.action == Action::Intrinsic1 && operand < table->intrinsics_1.size() &&
           table->intrinsics_1[operand].op == Op::IMPORT_STAR))
        names.insert(kAnyName);
    }
  }
  return names;
}

bool may_be_bound(Module& module, BoundNames& names, std::string_view name) {
  if (names.empty()) names = find_bound_names(module);
  return names.contains(kAnyName) || names.contains(module.intern(name).index);
}

}  // namespace depyf
