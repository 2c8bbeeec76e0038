#include "pipeline/written_size.h"

#include <algorithm>

#include "bytecode/scan.h"

namespace depyf {
namespace {

constexpr std::uint64_t kEach = 16;
constexpr std::uint64_t kTextUnit = 8;
constexpr std::uint64_t kShort = 8;   // the most literals of a constant that is not counted
constexpr std::uint64_t kFit = 8;     // so many bodies without text in one that has one
constexpr std::uint64_t kSmall = 16;  // a module of so small a part of the bounds is not counted
constexpr std::uint64_t kCeiling = std::uint64_t{1} << 40;  // sums of it do not wrap

/// By number; what is held has a smaller number than what holds it.
std::vector<std::uint64_t> literals_of(const Module& module, std::uint64_t& linear) {
  std::vector<std::uint64_t> out;
  out.reserve(module.consts.size());
  for (std::size_t i = 0; i < module.consts.size(); ++i) {
    const Const& value = module.consts[i];
    std::uint64_t sum = 1 + value.text.size() / kTextUnit;
    linear += sum + value.items.size();
    for (ConstId item : value.items)
      sum = std::min(sum + (item.index < i ? out[item.index] : kCeiling), kCeiling);
    out.push_back(sum);
  }
  return out;
}

/// The most literals of a constant that code has, where none holds one that holds others; else the
/// ceiling.
std::uint64_t longest_constant(const Module& module) {
  std::uint64_t text = 0, held = 0;
  for (std::uint32_t id = 0; id < module.codes.size(); ++id)
    for (ConstId constant : module[CodeId(id)].consts) {
      const Const& value = module[constant];
      text = std::max<std::uint64_t>(text, value.text.size());
      if (value.items.empty()) continue;
      std::uint64_t sum = 0;
      for (ConstId item : value.items) {
        if (!module[item].items.empty()) return kCeiling;
        sum += 1 + module[item].text.size() / kTextUnit;
      }
      held = std::max(held, sum);
    }
  return 1 + std::max({text / kTextUnit, held, kShort});
}

/// The constants that the instructions load, without code objects.
std::uint64_t loaded_by(const Module& module, const CodeObject& code,
                        const std::vector<std::uint64_t>& literals) {
  // As most have: nothing that is long, so the loads need not be counted.
  const bool counts = std::ranges::any_of(code.consts, [&](ConstId item) {
    return !module[item].code && literals[item.index] > kShort;
  });
  if (!counts) return kShort * code.code.size() / 2;
  std::uint64_t sum = 0;
  scan_instructions(code, [&](const RawInstr& instr) {
    if (instr.info.op != Op::LOAD_CONST || instr.info.operand != OperandKind::Const ||
        instr.operand >= code.consts.size())
      return;
    const ConstId item = code.consts[instr.operand];
    if (!module[item].code) sum = std::min(sum + literals[item.index], kCeiling);
  });
  return sum;
}

}  // namespace

WrittenBounds bounds_of_text(const Module& module) {
  std::uint64_t units = 0;
  for (std::uint32_t id = 0; id < module.codes.size(); ++id)
    units += module[CodeId(id)].code.size() / 2;
  WrittenBounds out;
  out.most = {kMostLiterals + kEach * units, kMostDefinitions + kEach * module.codes.size()};
  out.literals_of_unit = longest_constant(module);
  if (out.literals_of_unit <= kMostLiterals / kSmall / std::max<std::uint64_t>(units, 1))
    return out;
  std::uint64_t linear = 0;
  const std::vector<std::uint64_t> literals = literals_of(module, linear);
  out.most.literals += kEach * linear;
  out.own.reserve(module.codes.size());
  for (std::uint32_t id = 0; id < module.codes.size(); ++id)
    out.own.push_back(loaded_by(module, module[CodeId(id)], literals));
  return out;
}

Written written_as_bytes(const Ast& ast, CodeId code) {
  const CodeObject& object = (*ast.module)[code];
  const Written& most = ast.bounds.most;
  Written out = ast.bounds.own_of(*ast.module, code);
  for (ConstId item : object.consts)
    if (const CodeId inner = (*ast.module)[item].code; inner && inner.index < code.index)
      out.add(ast.bodies[inner.index].written);
  return {std::min(out.literals, most.literals / kFit),
          std::min(out.definitions, most.definitions / kFit)};
}

}  // namespace depyf
