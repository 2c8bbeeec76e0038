// Prints the control-flow graph of every code object of a .pyc file in a form that
// tests/oracle/flow_run.py reads.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "flow/cfg.h"
#include "pyc/pyc.h"
#include "support/error.h"

namespace {

using namespace depyf;

/// Names and simple constants, as Python literals.
std::string operand(const Module& module, CodeId code, const Instr& instr) {
  const auto quoted = [](std::string_view text) { return "'" + std::string(text) + "'"; };
  if (instr.op == Op::LOAD_GLOBAL) return quoted(module[StrId(instr.arg)]);
  if (instr.op == Op::LOAD_FAST || instr.op == Op::STORE_FAST || instr.op == Op::DELETE_FAST)
    return quoted(module[module[code].slots[instr.arg].name]);
  if (instr.op != Op::LOAD_CONST) return "None";
  const Const& value = module[ConstId(instr.arg)];
  if (value.kind == ConstKind::Int) return std::to_string(value.integer);
  if (value.kind == ConstKind::True) return "True";
  if (value.kind == ConstKind::False) return "False";
  return "None";
}

int number(BlockId id) { return id ? static_cast<int>(id.index) : -1; }
int number(RegionId id) { return id ? static_cast<int>(id.index) : -1; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  try {
    Module module = read_pyc({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    for (std::uint32_t c = 0; c < module.codes.size(); ++c) {
      const CodeId code(c);
      const Cfg cfg = build_cfg(module, code, decode(module, code));
      std::printf("code %s %u\n", std::string(module[module[code].name]).c_str(), cfg.entry.index);
      for (const Region& region : cfg.regions)
        std::printf("region %u %u %d %d %d\n", region.handler.index, region.depth, region.lasti,
                    region.entry == HandlerEntry::Six, number(region.parent));
      for (const Block& block : cfg.blocks) {
        std::printf("block %d %d %d\n", number(block.region), number(block.next),
                    number(block.target));
        for (std::uint32_t i = block.first; i < block.end; ++i) {
          const Instr& instr = cfg.instrs[i];
          std::printf("i %s %u %u %s\n", std::string(op_name(instr.op)).c_str(), instr.arg,
                      instr.aux, operand(module, code, instr).c_str());
        }
      }
    }
  } catch (const Error& error) {
    std::printf("error %s\n", error.what());
  }
  return 0;
}
