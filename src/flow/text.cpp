#include <string>

#include "bytecode/text.h"
#include "flow/cfg.h"
#include "pyc/code_object.h"

namespace depyf {

std::string to_text(const Cfg& cfg, const Module& module, CodeId code) {
  std::string out;
  auto number = [](std::uint32_t value) { return std::to_string(value); };
  for (std::uint32_t r = 0; r < cfg.regions.size(); ++r) {
    const Region& region = cfg.regions[r];
    out += "region r" + number(r) + ": handler b" + number(region.handler.index) + ", depth " +
           number(region.depth);
    if (region.lasti) out += ", lasti";
    if (region.entry == HandlerEntry::Six) out += ", six values";
    if (region.parent) out += ", inside r" + number(region.parent.index);
    out += '\n';
  }
  for (std::uint32_t b = 0; b < cfg.size(); ++b) {
    const Block& block = cfg.blocks[b];
    out += "block b" + number(b);
    if (block.region) out += " in r" + number(block.region.index);
    if (cfg.entry.index == b) out += " (entry)";
    out += ":\n";
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const Instr& instr = cfg.instrs[i];
      std::string offset = number(instr.offset);
      out += "  " + std::string(offset.size() < 6 ? 6 - offset.size() : 0, ' ') + offset + "  " +
             std::string(op_name(instr.op));
      if (const std::string operand = operand_text(instr, module, module[code]); !operand.empty())
        out += " " + operand;
      out += '\n';
    }
    if (block.next)
      out += "    -> b" + number(block.next.index) +
             (block.target ? ", taken -> b" + number(block.target.index) : "") + "\n";
  }
  return out;
}

}  // namespace depyf
