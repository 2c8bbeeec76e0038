#pragma once
// Assembles small code objects of any version for the tests of pyc/ and bytecode/.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/instr.h"
#include "opcode/tables.h"
#include "pyc/code_object.h"

namespace depyf::test {

/// One code object; opcodes by name, inline caches and EXTENDED_ARG added. Eight names n0 …, eight
/// constants (the ints 100 …), eight locals l0 …, two cells c0, c1 and two free variables f0, f1.
struct Assembler {
  explicit Assembler(std::uint8_t minor) {
    module.version = {3, minor};
    table = version_table(module.version);
  }

  static std::uint8_t number(const VersionTable& table, std::string_view name) {
    for (int i = 0; i < 256; ++i) {
      if (table.opcodes[static_cast<std::size_t>(i)].name == name)
        return static_cast<std::uint8_t>(i);
    }
    ADD_FAILURE() << "no opcode " << name;
    return 0;
  }
  std::uint32_t units() const { return static_cast<std::uint32_t>(bytes.size() / 2); }
  Assembler& raw(std::uint8_t opcode, std::uint8_t operand) {
    bytes.push_back(opcode);
    bytes.push_back(operand);
    return *this;
  }
  Assembler& op(std::string_view name, std::uint32_t operand = 0) {
    const std::uint8_t opcode = number(*table, name);
    for (int shift = 24; shift > 0; shift -= 8) {
      if (operand >> shift != 0)
        raw(table->extended_arg, static_cast<std::uint8_t>(operand >> shift));
    }
    raw(opcode, static_cast<std::uint8_t>(operand));
    for (int i = 0; i < table->opcodes[opcode].caches; ++i) raw(0, 0);
    return *this;
  }
  /// A row of the exception table, in code units.
  Assembler& row(std::uint32_t begin, std::uint32_t end, std::uint32_t target, std::uint32_t depth,
                 bool lasti) {
    for (const std::uint32_t value : {begin, end - begin, target, depth << 1 | (lasti ? 1U : 0U)}) {
      for (int shift = 30; shift > 0; shift -= 6) {
        if (value >> shift != 0)
          rows.push_back(static_cast<std::uint8_t>(64 | (value >> shift & 63)));
      }
      rows.push_back(static_cast<std::uint8_t>(value & 63));
    }
    return *this;
  }

  CodeId finish() {
    CodeObject code;
    code.version = module.version;
    code.name = module.intern("f");
    code.flags = flags;
    code.firstlineno = 10;
    std::vector<StrId> names;
    std::vector<ConstId> consts;
    std::vector<Slot> slots;
    for (int i = 0; i < 8; ++i) {
      names.push_back(module.intern("n" + std::to_string(i)));
      Const value;
      value.kind = ConstKind::Int;
      value.integer = 100 + i;
      consts.push_back(module.add(value));
      slots.push_back({module.intern("l" + std::to_string(i)), kLocal});
    }
    consts.push_back(module.add(Const{}));  // None, constant 8
    for (int i = 0; i < 2; ++i) slots.push_back({module.intern("c" + std::to_string(i)), kCell});
    for (int i = 0; i < 2; ++i) slots.push_back({module.intern("f" + std::to_string(i)), kFree});
    code.names = module.arena.copy(names);
    code.consts = module.arena.copy(consts);
    code.slots = module.arena.copy(slots);
    if (module.version.minor <= 10) {
      const std::uint32_t derefs[] = {8, 9, 10, 11};
      code.deref_slots = module.arena.copy(derefs);
    }
    code.nlocals = 8;
    code.code = module.arena.copy(bytes);
    code.linetable = module.arena.copy(lines);
    code.exceptiontable = module.arena.copy(rows);
    module.codes.push_back(code);
    module.root = CodeId(static_cast<std::uint32_t>(module.codes.size() - 1));
    return module.root;
  }
  InstrList decoded() {
    const CodeId id = finish();
    return decode(module, id);
  }

  Module module;
  const VersionTable* table;
  std::vector<std::uint8_t> bytes, lines, rows;
  std::uint32_t flags = kOptimized | kNewLocals;
};

/// "OP arg aux >target" for each instruction; 0 operands left out.
inline std::vector<std::string> shown(const InstrList& list) {
  std::vector<std::string> out;
  for (const Instr& instr : list.instrs) {
    std::string text(op_name(instr.op));
    if (instr.op != Op::LOAD_CONST && (instr.arg != 0 || instr.aux != 0))
      text += " " + std::to_string(instr.arg);
    if (instr.aux != 0) text += " " + std::to_string(instr.aux);
    if (instr.target != kNoTarget) text += " >" + std::to_string(instr.target);
    out.push_back(text);
  }
  return out;
}

}  // namespace depyf::test
