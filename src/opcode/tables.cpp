#include "opcode/tables.h"

namespace depyf {
namespace {

struct Row {
  std::string_view opcode;
  std::uint8_t first, last;
  Action action;
  Op op;
  std::uint32_t arg, aux;
};

constexpr Row kRows[] = {
#define ROW(opcode, first, last, action, op, arg, aux) \
  {#opcode, first, last, Action::action, Op::op, arg, aux},
#include "opcode/semantics.def"
};

enum class OperatorTable : std::uint8_t {
  COMPARISON,
  BINARY_OPERATOR,
  INTRINSIC_1,
  INTRINSIC_2,
  SPECIAL_METHOD,
  COMMON_CONSTANT
};

struct OperatorRow {
  OperatorTable table;
  std::string_view name;
  Op op;
  std::uint32_t arg;
};

constexpr OperatorRow kOperators[] = {
#define OPERATOR(table, name, op, arg) {OperatorTable::table, name, Op::op, arg},
#include "opcode/semantics.def"
};

enum class Read : std::uint8_t { Bare, Next, Other, Target };

struct ReadRow {
  Read kind;
  std::string_view opcode, other;
  std::uint8_t first, last;
};

constexpr ReadRow kReads[] = {
#define READ_BARE(opcode, first, last) {Read::Bare, #opcode, {}, first, last},
#define READ_NEXT(opcode, next, first, last) {Read::Next, #opcode, #next, first, last},
#define READ_OTHER(opcode, other, first, last) {Read::Other, #opcode, #other, first, last},
#define READ_TARGET(opcode, at, first, last) {Read::Target, #opcode, #at, first, last},
#include "opcode/semantics.def"
};

constexpr SemanticsRow kReadRows[] = {
#define READ_BARE(opcode, first, last) {#opcode, first, last},
#define READ_NEXT(opcode, next, first, last) {#opcode, first, last}, {#next, first, last},
#define READ_OTHER(opcode, other, first, last) {#opcode, first, last}, {#other, first, last},
#define READ_TARGET(opcode, at, first, last) {#opcode, first, last}, {#at, first, last},
#include "opcode/semantics.def"
};

constexpr SemanticsRow kSemanticsRows[] = {
#define ROW(opcode, first, last, action, op, arg, aux) {#opcode, first, last},
#include "opcode/semantics.def"
};

struct RawOpcode {
  std::uint8_t number;
  std::string_view name, base;
  OperandKind operand;
  JumpKind jump;
  std::uint8_t caches;
  std::int8_t effects[8];
};
struct RawOperator {
  OperatorTable table;
  std::uint8_t number;
  std::string_view name;
};

#define OPCODE(number, name, operand, jump, caches, ...) \
  {number, #name, #name, OperandKind::operand, JumpKind::jump, caches, {__VA_ARGS__}},
#define DERIVED(number, name, base) \
  {number, #name, #base, OperandKind::None, JumpKind::None, 0, {}},
#define COMPARISON(number, name)
#define BINARY_OPERATOR(number, name)
#define INTRINSIC_1(number, name)
#define INTRINSIC_2(number, name)
#define SPECIAL_METHOD(number, name)
#define COMMON_CONSTANT(number, name)
constexpr RawOpcode kRaw37[] = {
#include "opcode/tables/py37.def"
};
constexpr RawOpcode kRaw38[] = {
#include "opcode/tables/py38.def"
};
constexpr RawOpcode kRaw39[] = {
#include "opcode/tables/py39.def"
};
constexpr RawOpcode kRaw310[] = {
#include "opcode/tables/py310.def"
};
constexpr RawOpcode kRaw311[] = {
#include "opcode/tables/py311.def"
};
constexpr RawOpcode kRaw312[] = {
#include "opcode/tables/py312.def"
};
constexpr RawOpcode kRaw313[] = {
#include "opcode/tables/py313.def"
};
constexpr RawOpcode kRaw314[] = {
#include "opcode/tables/py314.def"
};
constexpr RawOpcode kRaw315[] = {
#include "opcode/tables/py315.def"
};
#undef OPCODE
#undef DERIVED
#undef COMPARISON
#undef BINARY_OPERATOR
#undef INTRINSIC_1
#undef INTRINSIC_2
#undef SPECIAL_METHOD
#undef COMMON_CONSTANT

#define OPCODE(...)
#define DERIVED(...)
#define COMPARISON(number, name) {OperatorTable::COMPARISON, number, name},
#define BINARY_OPERATOR(number, name) {OperatorTable::BINARY_OPERATOR, number, name},
#define INTRINSIC_1(number, name) {OperatorTable::INTRINSIC_1, number, name},
#define INTRINSIC_2(number, name) {OperatorTable::INTRINSIC_2, number, name},
#define SPECIAL_METHOD(number, name) {OperatorTable::SPECIAL_METHOD, number, name},
#define COMMON_CONSTANT(number, name) {OperatorTable::COMMON_CONSTANT, number, name},
constexpr RawOperator kOperators37[] = {
#include "opcode/tables/py37.def"
};
constexpr RawOperator kOperators38[] = {
#include "opcode/tables/py38.def"
};
constexpr RawOperator kOperators39[] = {
#include "opcode/tables/py39.def"
};
constexpr RawOperator kOperators310[] = {
#include "opcode/tables/py310.def"
};
constexpr RawOperator kOperators311[] = {
#include "opcode/tables/py311.def"
};
constexpr RawOperator kOperators312[] = {
#include "opcode/tables/py312.def"
};
constexpr RawOperator kOperators313[] = {
#include "opcode/tables/py313.def"
};
constexpr RawOperator kOperators314[] = {
#include "opcode/tables/py314.def"
};
constexpr RawOperator kOperators315[] = {
#include "opcode/tables/py315.def"
};
#undef OPCODE
#undef DERIVED
#undef COMPARISON
#undef BINARY_OPERATOR
#undef INTRINSIC_1
#undef INTRINSIC_2
#undef SPECIAL_METHOD
#undef COMMON_CONSTANT

/// Gives an opcode what the interpreter reads of the units around it.
constexpr void add_reads(OpcodeInfo& info, std::uint8_t minor) {
  for (const ReadRow& row : kReads) {
    if (row.opcode != info.name || minor < row.first || row.last < minor) continue;
    switch (row.kind) {
      case Read::Bare:
        info.bare = true;
        break;
      case Read::Next:
        info.next = row.other;
        break;
      case Read::Other:
        info.other = row.other;
        break;
      case Read::Target:
        info.leads_to = row.other;
        break;
    }
  }
}

/// Joins one generated table with semantics.def, when the library is compiled.
constexpr VersionTable join(std::uint8_t minor, std::span<const RawOpcode> opcodes,
                            std::span<const RawOperator> operators) {
  VersionTable table;
  for (const RawOpcode& raw : opcodes) {
    OpcodeInfo& info = table.opcodes[raw.number];
    info.name = raw.name;
    info.base = raw.base;
    info.operand = raw.operand;
    info.jump = raw.jump;
    info.caches = raw.caches;
    for (int i = 0; i < 8; ++i) info.effects[i] = raw.effects[i];
    if (raw.name != raw.base) continue;
    if (raw.name == "EXTENDED_ARG") table.extended_arg = raw.number;
    for (const Row& row : kRows) {
      if (row.opcode == raw.name && row.first <= minor && minor <= row.last) {
        info.action = row.action;
        info.op = row.op;
        info.arg = row.arg;
        info.aux = row.aux;
        break;
      }
    }
    add_reads(info, minor);
  }
  for (const RawOpcode& raw : opcodes) {
    if (raw.name == raw.base) continue;
    for (const RawOpcode& base : opcodes) {
      if (base.name != raw.base) continue;
      const std::string_view name = raw.name;
      table.opcodes[raw.number] = table.opcodes[base.number];
      table.opcodes[raw.number].name = name;
      break;
    }
  }
  for (const RawOperator& raw : operators) {
    OperatorInfo info;
    info.name = raw.name;
    for (const OperatorRow& row : kOperators) {
      if (row.table == raw.table && row.name == raw.name) {
        info.op = row.op;
        info.arg = row.arg;
        break;
      }
    }
    switch (raw.table) {
      case OperatorTable::COMPARISON:
        table.comparisons[raw.number] = info;
        break;
      case OperatorTable::BINARY_OPERATOR:
        table.binary_operators[raw.number] = info;
        break;
      case OperatorTable::INTRINSIC_1:
        table.intrinsics_1[raw.number] = info;
        break;
      case OperatorTable::INTRINSIC_2:
        table.intrinsics_2[raw.number] = info;
        break;
      case OperatorTable::SPECIAL_METHOD:
        table.special_methods[raw.number] = info;
        break;
      case OperatorTable::COMMON_CONSTANT:
        table.common_constants[raw.number] = info;
        break;
    }
  }
  return table;
}

constexpr VersionTable kTable37 = join(7, kRaw37, kOperators37);
constexpr VersionTable kTable38 = join(8, kRaw38, kOperators38);
constexpr VersionTable kTable39 = join(9, kRaw39, kOperators39);
constexpr VersionTable kTable310 = join(10, kRaw310, kOperators310);
constexpr VersionTable kTable311 = join(11, kRaw311, kOperators311);
constexpr VersionTable kTable312 = join(12, kRaw312, kOperators312);
constexpr VersionTable kTable313 = join(13, kRaw313, kOperators313);
constexpr VersionTable kTable314 = join(14, kRaw314, kOperators314);
constexpr VersionTable kTable315 = join(15, kRaw315, kOperators315);

constexpr const VersionTable* kTables[] = {&kTable37,  &kTable38,  &kTable39,
                                           &kTable310, &kTable311, &kTable312,
                                           &kTable313, &kTable314, &kTable315};
static_assert(std::size(kTables) == kNewest - kOldest + 1);

}  // namespace

const VersionTable* version_table(PyVersion version) {
  if (!is_supported(version)) return nullptr;
  return kTables[version.minor - kOldest];
}

std::span<const SemanticsRow> semantics_rows() { return kSemanticsRows; }

std::span<const SemanticsRow> read_rows() { return kReadRows; }

}  // namespace depyf
