#include "bytecode/class_end.h"

namespace depyf {

std::string_view stored_name(const Module& module, CodeId code, Op op, std::uint32_t arg) {
  if (op == Op::STORE_NAME || op == Op::STORE_GLOBAL) return module[StrId(arg)];
  const auto& slots = module[code].slots;
  if (op == Op::STORE_DEREF && arg < slots.size()) return module[slots[arg].name];
  return {};
}

namespace {

/// Does nothing but the stores of cells stand between the instruction and the end of the body?
bool ends_body(const Module& module, CodeId code, const InstrList& list, std::uint32_t at) {
  for (std::size_t steps = 0; at < list.instrs.size() && steps < 32; ++steps) {
    const Instr& instr = list.instrs[at];
    if (instr.op == Op::RETURN_VALUE) return true;
    const std::string_view stored = stored_name(module, code, instr.op, instr.arg);
    const bool passed = instr.op == Op::LOAD_CONST || instr.op == Op::LOAD_CLOSURE ||
                        instr.op == Op::COPY || instr.op == Op::JUMP || names_class_cell(stored);
    if (!passed) return false;
    at = instr.op == Op::JUMP ? instr.target : at + 1;
  }
  return false;
}

/// Where (indices) a class body stores `name` as the last thing that it does, but for the cells
/// that the compiler hands to `type`. From 3.13 on, the stores of `__static_attributes__` there are
/// the compiler's, one on each way to the end; a source may have others in front of them.
std::vector<std::uint32_t> closing_stores(const Module& module, CodeId code, const InstrList& list,
                                          std::string_view name) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < list.instrs.size(); ++i)
    if (stored_name(module, code, list.instrs[i].op, list.instrs[i].arg) == name &&
        ends_body(module, code, list, i + 1))
      out.push_back(i);
  return out;
}

}  // namespace

std::vector<std::uint32_t> attribute_lists(Module& module, CodeId code) {
  std::vector<std::uint32_t> offsets;
  if (!module[code].version.has_class_lines()) return offsets;
  const InstrList list = decode(module, code);
  for (std::uint32_t at : closing_stores(module, code, list, "__static_attributes__"))
    offsets.push_back(list.instrs[at].offset);
  return offsets;
}

}  // namespace depyf
