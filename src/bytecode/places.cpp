#include "bytecode/places.h"

#include "bytecode/lines.h"
#include "opcode/tables.h"

namespace depyf {

std::vector<InstrPlace> instruction_places(const Module& module, CodeId id) {
  std::vector<InstrPlace> places;
  const CodeObject& code = module[id];
  const VersionTable* table = version_table(module.version);
  if (!table) return places;
  LineCursor lines(code);
  const auto count = static_cast<std::uint32_t>(code.code.size() / 2);
  places.reserve(count);
  std::uint32_t start = 0, operand = 0;
  for (std::uint32_t unit = 0; unit < count;) {
    const std::uint8_t opcode = code.code[2 * std::size_t{unit}];
    const OpcodeInfo& info = table->opcodes[opcode];
    InstrPlace place{2 * unit, 2 * start, lines.at(unit), {}};
    operand = operand << 8 | code.code[2 * std::size_t{unit} + 1];
    ++unit;
    if (opcode != table->extended_arg) {
      if (info.action == Action::Const && info.op == Op::LOAD_CONST && operand < code.consts.size())
        place.made = module[code.consts[operand]].code;
      unit += info.caches;
      start = unit;
      operand = 0;
    }
    places.push_back(place);
  }
  return places;
}

}  // namespace depyf
