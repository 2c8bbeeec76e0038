#include "bytecode/class_end.h"

namespace depyf {
namespace {

/// The name that the instruction binds in the namespace of a class, empty for any other.
std::string_view stored_name(const Module& module, const CodeObject& code, const Instr& instr) {
  if (instr.op == Op::STORE_NAME || instr.op == Op::STORE_GLOBAL) return module[StrId(instr.arg)];
  if (instr.op == Op::STORE_DEREF && instr.arg < code.slots.size())
    return module[code.slots[instr.arg].name];
  return {};
}

/// Does nothing but the stores of cells stand between the instruction and the end of the body?
bool ends_body(const Module& module, const CodeObject& code, const InstrList& list,
               std::uint32_t at) {
  for (std::size_t steps = 0; at < list.instrs.size() && steps < 32; ++steps) {
    const Instr& instr = list.instrs[at];
    if (instr.op == Op::RETURN_VALUE) return true;
    const std::string_view stored = stored_name(module, code, instr);
    const bool passed = instr.op == Op::LOAD_CONST || instr.op == Op::LOAD_CLOSURE ||
                        instr.op == Op::COPY || instr.op == Op::JUMP || stored == "__classcell__" ||
                        stored == "__classdictcell__";
    if (!passed) return false;
    at = instr.op == Op::JUMP ? instr.target : at + 1;
  }
  return false;
}

}  // namespace

std::vector<std::uint32_t> closing_stores(const Module& module, CodeId code, const InstrList& list,
                                          std::string_view name) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < list.instrs.size(); ++i)
    if (stored_name(module, module[code], list.instrs[i]) == name &&
        ends_body(module, module[code], list, i + 1))
      out.push_back(i);
  return out;
}

}  // namespace depyf
