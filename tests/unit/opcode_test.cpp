#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "assembler.h"
#include "bytecode/effect.h"
#include "support/error.h"

namespace depyf {
namespace {

using test::Assembler;

TEST(OpcodeTables, EveryVersionIsThereAndNoOther) {
  for (std::uint8_t minor = kOldest; minor <= kNewest; ++minor) {
    const VersionTable* table = version_table({3, minor});
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->opcodes[table->extended_arg].name, "EXTENDED_ARG");
  }
  EXPECT_EQ(version_table({3, kOldest - 1}), nullptr);
  EXPECT_EQ(version_table({3, kNewest + 1}), nullptr);
  EXPECT_EQ(version_table({2, 7}), nullptr);
}

TEST(OpcodeTables, EveryOpcodeHasMeaning) {
  const std::set<std::string_view> internal = {"RESERVED", "INTERPRETER_EXIT", "EXIT_INIT_CHECK",
                                               "ENTER_EXECUTOR", "TRACE_RECORD"};
  for (std::uint8_t minor = kOldest; minor <= kNewest; ++minor) {
    for (const OpcodeInfo& info : version_table({3, minor})->opcodes) {
      if (info.name.empty() || internal.count(info.name) != 0) continue;
      EXPECT_NE(info.action, Action::Unknown)
          << info.name << " of 3." << int{minor} << " has no row in semantics.def";
    }
  }
}

TEST(OpcodeTables, EveryRowIsUsedInAllItsVersions) {
  std::vector<SemanticsRow> rows(semantics_rows().begin(), semantics_rows().end());
  rows.insert(rows.end(), read_rows().begin(), read_rows().end());
  for (const SemanticsRow& row : rows) {
    for (std::uint8_t minor = row.first; minor <= row.last; ++minor) {
      bool found = false;
      for (const OpcodeInfo& info : version_table({3, minor})->opcodes)
        found |= info.name == row.opcode;
      EXPECT_TRUE(found) << row.opcode << " is no opcode of 3." << int{minor};
    }
  }
}

TEST(OpcodeTables, RowsOfAnOpcodeDoNotOverlap) {
  const auto rows = semantics_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = i + 1; k < rows.size(); ++k) {
      if (rows[i].opcode != rows[k].opcode) continue;
      EXPECT_TRUE(rows[i].last < rows[k].first || rows[k].last < rows[i].first) << rows[i].opcode;
    }
  }
}

TEST(OpcodeTables, EveryNumberedOperandHasMeaning) {
  const auto check = [](const auto& table, std::uint8_t minor) {
    for (const OperatorInfo& info : table) {
      if (info.name.empty() || info.name == "BAD" || info.name == "INTRINSIC_1_INVALID" ||
          info.name == "INTRINSIC_2_INVALID")
        continue;
      EXPECT_NE(info.op, Op::UNKNOWN)
          << info.name << " of 3." << int{minor} << " has no OPERATOR in semantics.def";
    }
  };
  for (std::uint8_t minor = kOldest; minor <= kNewest; ++minor) {
    const VersionTable& table = *version_table({3, minor});
    check(table.comparisons, minor);
    check(table.binary_operators, minor);
    check(table.intrinsics_1, minor);
    check(table.intrinsics_2, minor);
    check(table.special_methods, minor);
    check(table.common_constants, minor);
  }
}

/// Opcodes whose decoded form differs from dis.stack_effect on purpose.
bool differs_on_purpose(std::string_view name, std::uint8_t minor, bool jumping) {
  static const std::set<std::string_view> kMarkers = {
      // regions of ≤ 3.10: flow/ knows what they push
      "SETUP_FINALLY", "SETUP_EXCEPT", "SETUP_WITH",         "SETUP_ASYNC_WITH",
      "SETUP_LOOP",    "POP_BLOCK",    "BEGIN_FINALLY",      "CALL_FINALLY",
      "POP_FINALLY",   "END_FINALLY",  "WITH_CLEANUP_START", "WITH_CLEANUP_FINISH",
      "CONTINUE_LOOP", "BREAK_LOOP"};
  static const std::set<std::string_view> kEnds = {
      "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS",
      "RERAISE"};  // what is left on the stack does not matter
  if (minor == 7 && (name == "JUMP_IF_FALSE_OR_POP" || name == "JUMP_IF_TRUE_OR_POP"))
    return true;  // its stack_effect has no `jump`
  if (kMarkers.count(name) != 0 || kEnds.count(name) != 0) return true;
  if (name == "RETURN_GENERATOR" || name == "GEN_START")
    return true;  // the None it brings is folded with the POP_TOP behind it
  if (name == "KW_NAMES" || name == "PRECALL")
    return true;  // LOAD_CONST for the CALL_KW; PRECALL's part is counted in CALL
  if (name == "CALL" && minor == 11) return true;
  if (name == "FOR_ITER" && (minor >= 12 || jumping))
    return true;  // leaves behind what pops the iterator
  if (minor >= 15 &&
      (name == "GET_ITER" || name == "END_SEND" || name == "POP_ITER" || name == "SEND"))
    return true;  // virtual slots are erased
  return false;
}

TEST(OpcodeTables, StackEffectsAreThoseOfTheInterpreter) {
  for (std::uint8_t minor = kOldest; minor <= kNewest; ++minor) {
    for (const OpcodeInfo& info : version_table({3, minor})->opcodes) {
      if (info.name.empty() || info.name != info.base || info.action == Action::Unknown) continue;
      int checked = 0, purposely = 0;
      for (std::uint32_t operand = 0; operand < 4; ++operand) {
        if (info.operand == OperandKind::None && operand > 0) break;
        Assembler code(minor);
        for (int i = 0; i < 12; ++i) code.op("LOAD_CONST");
        const std::uint32_t offset = 2 * code.units();
        code.op(info.name, operand);
        if (info.name == "KW_NAMES" || info.name == "EXTENDED_ARG") {
          ++purposely;
          continue;
        }
        for (int i = 0; i < 8; ++i) code.op("NOP");
        code.op("LOAD_CONST").op("RETURN_VALUE");
        if (info.name == "FOR_ITER" && minor >= 12) {
          ++purposely;
          continue;
        }
        InstrList list;
        if (differs_on_purpose(info.name, minor, false)) {
          ++purposely;
          continue;
        }
        try {
          list = code.decoded();
        } catch (const Error&) {
          continue;
        }
        for (const bool jumping : {false, true}) {
          const std::int8_t expected = info.effects[operand + (jumping ? 4 : 0)];
          if (expected == kNoEffect) {  // 3.7 has no effect for NOP and EXTENDED_ARG
            ++purposely;
            continue;
          }
          if (differs_on_purpose(info.name, minor, jumping)) {
            ++purposely;
            continue;
          }
          if (jumping && info.jump == JumpKind::None) continue;
          std::int64_t got = 0;
          for (const Instr& instr : list.instrs) {
            if (instr.offset != offset) continue;
            const StackEffect effect = stack_effect(instr);
            got += static_cast<std::int64_t>(jumping && instr.target != kNoTarget
                                                 ? effect.target_pushes
                                                 : effect.pushes) -
                   static_cast<std::int64_t>(effect.pops);
          }
          EXPECT_EQ(got, expected) << info.name << " " << operand << " of 3." << int{minor}
                                   << (jumping ? ", jumping" : "");
          ++checked;
        }
      }
      EXPECT_GT(checked + purposely, 0)
          << info.name << " of 3." << int{minor} << " was never checked";
    }
  }
}

}  // namespace
}  // namespace depyf
