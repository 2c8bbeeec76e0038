#include "pipeline/written_size.h"

#include <algorithm>

#include "bytecode/scan.h"

namespace depyf {
namespace {

constexpr std::uint64_t kEach = 16;
constexpr std::uint64_t kTextUnit = 8;
constexpr std::uint64_t kShort = 8;  // the most literals of a constant that is not counted
constexpr std::uint64_t kFit = 8;    // so many bodies without text in one that has one
constexpr std::uint64_t kCeiling = std::uint64_t{1} << 40;  // sums of it do not wrap

struct Written {
  std::uint64_t literals = 1, definitions = 0;

  void add(const Written& part) {
    literals = std::min(literals + part.literals, kCeiling);
    definitions = std::min(definitions + part.definitions, kCeiling);
  }
};

/// What is held has a smaller number than what holds it.
class Sizes {
 public:
  explicit Sizes(const Module& module) : module_(module) {
    consts_.reserve(module.consts.size());
    for (std::size_t i = 0; i < module.consts.size(); ++i) add(module.consts[i], i);
    for (std::uint32_t id = 0; id < module.codes.size(); ++id)
      linear_ += module[CodeId(id)].code.size() / 2;
    most_ = {kMostLiterals + kEach * linear_, kMostDefinitions + kEach * module.codes.size()};
  }

  std::vector<std::string> run() {
    std::vector<std::string> reasons(module_.codes.size());
    codes_.reserve(reasons.size());
    for (std::uint32_t id = 0; id < reasons.size(); ++id) {
      Written size = size_of(module_[CodeId(id)], id);
      if (size.definitions > most_.definitions)
        reasons[id] = "more than " + std::to_string(most_.definitions) +
                      " code objects when they are written out";
      else if (size.literals > most_.literals)
        reasons[id] = "constants of more than " + std::to_string(most_.literals) +
                      " elements when they are written out";
      if (!reasons[id].empty())
        size = {std::min(size.literals, most_.literals / kFit),
                std::min(size.definitions, most_.definitions / kFit)};
      codes_.push_back(size);
    }
    return reasons;
  }

 private:
  void add(const Const& value, std::size_t index) {
    Written size{1 + value.text.size() / kTextUnit, 0};
    linear_ += size.literals + value.items.size();
    for (ConstId item : value.items)
      size.add(item.index < index ? consts_[item.index] : Written{kCeiling, 0});
    consts_.push_back(size);
  }

  Written size_of(const CodeObject& code, std::uint32_t id) const {
    Written out{0, 1};
    const auto use = [&](ConstId item) {
      const CodeId inner = module_[item].code;
      if (!inner)
        out.add(consts_[item.index]);
      else
        out.add(inner.index < id ? codes_[inner.index] : Written{kCeiling, kCeiling});
    };
    // As most have: nothing that is long, so the loads need not be counted.
    const bool counts = std::ranges::any_of(code.consts, [&](ConstId item) {
      return module_[item].code || consts_[item.index].literals > kShort;
    });
    if (!counts) {
      out.literals = kShort * code.code.size() / 2;
      return out;
    }
    scan_instructions(code, [&](const RawInstr& instr) {
      if (instr.info.op == Op::LOAD_CONST && instr.operand < code.consts.size() &&
          instr.info.operand == OperandKind::Const)
        use(code.consts[instr.operand]);
    });
    return out;
  }

  const Module& module_;
  std::vector<Written> consts_, codes_;  // by number
  std::uint64_t linear_ = 0;             // constants, what they hold and instructions, each once
  Written most_;
};

}  // namespace

std::vector<std::string> too_large_to_write(const Module& module) { return Sizes(module).run(); }

}  // namespace depyf
