#include "bytecode/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "bytecode/lines.h"
#include "opcode/op_set.h"
#include "opcode/tables.h"
#include "pyc/singleton_text.h"

namespace depyf {
namespace {

using Objects = std::span<const std::string>;  // what stands for constants that are no literals

std::string number(std::uint64_t value) { return std::to_string(value); }

void append_float(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  const std::string_view digits(buffer,
                                error == std::errc() ? static_cast<std::size_t>(end - buffer) : 0);
  out += digits;
  if (digits.find_first_of(".en") == std::string_view::npos) out += ".0";
}

void append_quoted(std::string& out, std::string_view text, bool bytes, std::size_t limit) {
  if (bytes) out += 'b';
  out += '\'';
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (out.size() >= limit && (static_cast<std::uint8_t>(text[i]) & 0xC0) != 0x80) {
      out += "…";
      break;
    }
    const char c = text[i];
    const auto code = static_cast<std::uint8_t>(c);
    const auto hex = [&] {
      out += "\\x";
      out += "0123456789abcdef"[code >> 4];
      out += "0123456789abcdef"[code & 15];
    };
    // A lone surrogate (ED A0…BF xx) is no character that can be shown.
    const bool surrogate = !bytes && code == 0xED && i + 2 < text.size() &&
                           static_cast<std::uint8_t>(text[i + 1]) >= 0xA0;
    if (surrogate) {
      const unsigned unit = 0xD000U | (static_cast<std::uint8_t>(text[i + 1]) & 63U) << 6 |
                            (static_cast<std::uint8_t>(text[i + 2]) & 63U);
      out += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) out += "0123456789abcdef"[unit >> shift & 15];
      i += 2;
    } else if (c == '\\' || c == '\'') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (code < 0x20 || code == 0x7F || (bytes && code >= 0x80)) {
      hex();
    } else {
      out += c;
    }
  }
  out += '\'';
}

constexpr int kMaxNesting = 6;

void append_constant(std::string& out, const Module& module, ConstId id, std::size_t limit,
                     int nesting, Objects objects) {
  const Const& value = module[id];
  switch (value.kind) {
    case ConstKind::None:
    case ConstKind::True:
    case ConstKind::False:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
      out += singleton_text(value.kind);
      return;
    case ConstKind::Int:
      if (!value.big) {
        out += std::to_string(value.integer);
      } else {
        std::string_view digits = value.text;
        if (!digits.empty() && digits[0] == '-') {
          out += '-';
          digits.remove_prefix(1);
        }
        out += "0x";
        out += digits.substr(0, limit);
        if (digits.size() > limit) out += "…";
      }
      return;
    case ConstKind::Float:
      append_float(out, value.re);
      return;
    case ConstKind::Complex:
      out += "complex(";
      append_float(out, value.re);
      out += ", ";
      append_float(out, value.im);
      out += ')';
      return;
    case ConstKind::Str:
      append_quoted(out, value.text, false, limit);
      return;
    case ConstKind::Bytes:
      append_quoted(out, value.text, true, limit);
      return;
    case ConstKind::Code:
      out += "<code ";
      out += module[module[value.code].name];
      out += " #" + number(value.code.index) + ">";
      return;
    case ConstKind::Object:
      out += value.object < objects.size() ? objects[value.object]
                                           : "<object " + number(value.object) + ">";
      return;
    case ConstKind::Tuple:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Dict:
    case ConstKind::Slice:
      break;
  }
  std::string_view open = "(", close = ")";
  if (value.kind == ConstKind::List) open = "[", close = "]";
  if (value.kind == ConstKind::Set || value.kind == ConstKind::Dict) open = "{", close = "}";
  if (value.kind == ConstKind::FrozenSet) open = "frozenset({", close = "})";
  if (value.kind == ConstKind::Slice) open = "slice(";
  out += open;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out += value.kind == ConstKind::Dict && i % 2 == 1 ? ": " : ", ";
    if (out.size() >= limit || nesting == 0) {
      out += "…";
      break;
    }
    append_constant(out, module, value.items[i], limit, nesting - 1, objects);
  }
  if (value.kind == ConstKind::Tuple && value.items.size() == 1) out += ',';
  out += close;
}

std::string_view pick(std::initializer_list<std::string_view> names, std::uint32_t index) {
  return index < names.size() ? names.begin()[index] : std::string_view("?");
}
std::string_view binary_text(std::uint32_t arg) {
  return pick({"+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^"}, arg);
}
std::string_view layout_text(std::uint32_t aux) {
  return pick({"", ", NULL below", ", NULL above"}, aux);
}

void pad(std::string& out, std::size_t from, std::size_t width) {
  while (out.size() - from < width) out += ' ';
}

/// What is said of an operation besides the name that it takes.
std::string_view name_detail(const Instr& instr) {
  if (instr.op == Op::IMPORT_NAME) return pick({"", ", lazy", ", eager"}, instr.aux);
  if (instr.op == Op::LOAD_METHOD) return layout_text(instr.aux);
  if (instr.op != Op::LOAD_SUPER_ATTR) return "";
  return pick({", super()", ", method, NULL below, super()", ", super(a, b)",
               ", method, NULL below, super(a, b)", ", super()", ", method, NULL above, super()",
               ", super(a, b)", ", method, NULL above, super(a, b)"},
              instr.aux & 7);
}

/// How the operand of an operation is told that takes no name and no constant.
enum class Says : std::uint8_t {
  Nothing,
  Number,
  Common,
  Unary,
  Binary,
  InPlace,
  Compare,
  Is,
  In,
  Conversion,
  Interpolation,
  Call,
  CallUnpacked,
  FunctionParts,
  Intrinsic1,
  Intrinsic2,
  Special,
  Awaitable,
  UnpackStarred,
  Unknown,
  MapAdd,
  Unpacked,
  ClassPattern,
  KeysPattern,
  Reraise,
  Enter,
  Setup,
  SetupWith
};
constexpr OpTable<Says> kSays{
    {Says::Common, {Op::LOAD_COMMON}},
    {Says::Unary, {Op::UNARY}},
    {Says::Binary, {Op::BINARY}},
    {Says::InPlace, {Op::INPLACE}},
    {Says::Compare, {Op::COMPARE}},
    {Says::Is, {Op::IS}},
    {Says::In, {Op::CONTAINS}},
    {Says::Conversion, {Op::FORMAT, Op::CONVERT}},
    {Says::Interpolation, {Op::BUILD_INTERPOLATION}},
    {Says::Call, {Op::CALL, Op::CALL_KW}},
    {Says::CallUnpacked, {Op::CALL_EX}},
    {Says::FunctionParts, {Op::MAKE_FUNCTION, Op::SET_FUNCTION_ATTRIBUTE}},
    {Says::Intrinsic1, {Op::INTRINSIC_1}},
    {Says::Intrinsic2, {Op::INTRINSIC_2}},
    {Says::Special, {Op::LOAD_SPECIAL}},
    {Says::Awaitable, {Op::GET_AWAITABLE}},
    {Says::UnpackStarred, {Op::UNPACK_EX}},
    {Says::Unknown, {Op::UNKNOWN}},
    {Says::Number,
     {Op::COPY,
      Op::SWAP,
      Op::ROT,
      Op::END_FOR,
      Op::BUILD_TUPLE,
      Op::BUILD_LIST,
      Op::BUILD_SET,
      Op::BUILD_MAP,
      Op::BUILD_CONST_KEY_MAP,
      Op::BUILD_STRING,
      Op::BUILD_SLICE,
      Op::LIST_APPEND,
      Op::SET_ADD,
      Op::LIST_EXTEND,
      Op::SET_UPDATE,
      Op::DICT_UPDATE,
      Op::DICT_MERGE,
      Op::END_ASYNC_FOR,
      Op::UNPACK_SEQUENCE,
      Op::WITH_EXCEPT_START,
      Op::RAISE,
      Op::POP_EXCEPT,
      Op::POP_FINALLY}},
    {Says::MapAdd, {Op::MAP_ADD}},
    {Says::Unpacked,
     {Op::BUILD_TUPLE_UNPACK, Op::BUILD_LIST_UNPACK, Op::BUILD_SET_UNPACK, Op::BUILD_MAP_UNPACK}},
    {Says::ClassPattern, {Op::MATCH_CLASS}},
    {Says::KeysPattern, {Op::MATCH_KEYS}},
    {Says::Reraise, {Op::RERAISE}},
    {Says::Enter, {Op::WITH_ENTER, Op::ASYNC_WITH_ENTER}},
    {Says::Setup, {Op::SETUP_FINALLY}},
    {Says::SetupWith, {Op::SETUP_WITH}},
};

std::string plain_operand_text(const Instr& instr) {
  switch (kSays[instr.op]) {
    case Says::Nothing:
      break;
    case Says::Common:
      return std::string(instr.arg < 8
                             ? common_constant_text(static_cast<CommonConstant>(instr.arg))
                             : std::string_view("?"));
    case Says::Unary:
      return std::string(pick({"~", "not", "+", "-"}, instr.arg));
    case Says::Binary:
      return std::string(binary_text(instr.arg));
    case Says::InPlace:
      return std::string(binary_text(instr.arg)) + "=";
    case Says::Compare:
      return std::string(pick({"<", "<=", "==", "!=", ">", ">="}, instr.arg)) +
             (instr.aux != 0 ? ", to bool" : "");
    case Says::Is:
      return instr.arg != 0 ? "is not" : "is";
    case Says::In:
      return instr.arg != 0 ? "not in" : "in";
    case Says::Conversion:
      return std::string(pick({"", "str", "repr", "ascii"}, instr.arg)) +
             (instr.aux != 0 ? (instr.arg != 0 ? ", with spec" : "with spec") : "");
    case Says::Interpolation:
      return std::string(pick({"no conversion", "str", "repr", "ascii"}, instr.arg)) +
             (instr.aux != 0 ? ", with spec" : "");
    case Says::Call:
      return number(instr.arg) + std::string(layout_text(instr.aux));
    case Says::CallUnpacked:
      return std::string(instr.arg != 0 ? "with mapping" : "positional") +
             std::string(layout_text(instr.aux));
    case Says::FunctionParts: {
      std::string out;
      constexpr std::string_view kParts[] = {"defaults", "kwdefaults", "annotations", "closure",
                                             "annotate"};
      for (std::uint32_t i = 0; i < 5; ++i) {
        if ((instr.arg >> i & 1) != 0) out += (out.empty() ? "" : ", ") + std::string(kParts[i]);
      }
      return out;
    }
    case Says::Intrinsic1:
      return std::string(pick({"print", "import star", "stop iteration to error",
                               "async generator wrap", "unary plus", "list to tuple", "TypeVar",
                               "ParamSpec", "TypeVarTuple", "subscript Generic", "type alias"},
                              instr.arg));
    case Says::Intrinsic2:
      return std::string(pick({"reraise star", "TypeVar with bound", "TypeVar with constraints",
                               "set type parameters", "set type parameter default"},
                              instr.arg));
    case Says::Special:
      return std::string(pick({"__enter__", "__exit__", "__aenter__", "__aexit__"}, instr.arg));
    case Says::Awaitable:
      return std::string(pick({"", "async with enter", "async with exit"}, instr.arg));
    case Says::UnpackStarred:
      return number(instr.arg) + ", *, " + number(instr.aux);
    case Says::Unknown:
      return "opcode " + number(instr.arg) + ", operand " + number(instr.aux);
    case Says::Number:
      return number(instr.arg);
    case Says::MapAdd:
      return number(instr.arg) + (instr.aux != 0 ? ", value below key" : "");
    case Says::Unpacked:
      return number(instr.arg) + (instr.aux != 0 ? ", for a call" : "");
    case Says::ClassPattern:
      return number(instr.arg) + (instr.aux != 0 ? ", with bool" : "");
    case Says::KeysPattern:
      return instr.aux != 0 ? "with bool" : "";
    case Says::Reraise:
      return number(instr.arg) + (instr.aux != 0 ? ", lasti " + number(instr.aux) + " below" : "");
    case Says::Enter:
      return instr.aux != 0 ? "exit, self, result" : "";
    case Says::Setup:
      return instr.aux != 0 ? "except" : "";
    case Says::SetupWith:
      return instr.aux != 0 ? "async" : "";
  }
  return "";
}

}  // namespace

std::string constant_text(const Module& module, ConstId id, std::size_t limit) {
  std::string out;
  append_constant(out, module, id, limit, kMaxNesting, {});
  return out;
}

std::string operand_text(const Instr& instr, const Module& module, const CodeObject& code) {
  const auto slot = [&] {
    const Slot& found = code.slots[instr.arg];
    return std::string(module[found.name]) + ((found.kind & kCell) != 0   ? " (cell)"
                                              : (found.kind & kFree) != 0 ? " (free)"
                                                                          : "");
  };
  switch (arg_kind(instr.op)) {
    case ArgKind::Const:
      return constant_text(module, ConstId(instr.arg));
    case ArgKind::Local:
    case ArgKind::Deref:
      return slot() + (instr.aux != 0 && instr.op == Op::LOAD_CLASSDEREF
                           ? ", from the dict on the stack"
                           : "");
    case ArgKind::Str:
      return std::string(module[StrId(instr.arg)]).append(name_detail(instr));
    case ArgKind::Plain:
      return plain_operand_text(instr);
  }
  return "";
}

std::string to_text(const InstrList& list, const Module& module, CodeId id) {
  const CodeObject& code = module[id];
  const auto size = static_cast<std::uint32_t>(list.instrs.size());
  // Labels in the order of the code.
  std::vector<std::uint32_t> label(std::size_t{size} + 1, 0);
  for (const Instr& instr : list.instrs) {
    if (instr.target != kNoTarget && instr.target < size) label[instr.target] = 1;
  }
  for (const ExceptionRow& row : list.rows)
    label[row.begin] = label[row.end] = label[row.target] = 1;
  std::uint32_t labels = 0;
  for (std::uint32_t& entry : label) {
    if (entry != 0) entry = ++labels;
  }
  const std::size_t label_width = number(labels).size() + 3;
  const std::size_t offset_width = std::max<std::size_t>(number(code.code.size()).size(), 4);

  std::string out;
  out.reserve(std::size_t{size} * 64 + 256);
  out += "code #" + number(id.index) + " ";
  out += code.qualname ? module[code.qualname] : module[code.name];
  out += ", line " + number(code.firstlineno) + ", CPython 3." + number(code.version.minor) + "\n";
  std::int32_t line = -1;
  for (std::uint32_t i = 0; i < size; ++i) {
    const Instr& instr = list.instrs[i];
    std::size_t from = out.size();
    if (instr.line != line) {
      line = instr.line;
      const std::string text = line == 0 ? "--" : std::to_string(line);
      if (text.size() < 6) out.append(6 - text.size(), ' ');
      out += text;
    }
    pad(out, from, 6);
    from = out.size();
    if (label[i] != 0) {
      const std::string text = "L" + number(label[i]) + ":";
      if (text.size() < label_width) out.append(label_width - text.size(), ' ');
      out += text;
    }
    pad(out, from, label_width + 1);
    const std::string offset = number(instr.offset);
    if (offset.size() < offset_width) out.append(offset_width - offset.size(), ' ');
    out += offset;
    out += "  ";
    from = out.size();
    out += op_name(instr.op);
    const std::string operand = operand_text(instr, module, code);
    if (!operand.empty() || instr.target != kNoTarget) {
      pad(out, from, 20);
      if (out.back() != ' ') out += ' ';
      out += operand;
      if (instr.target != kNoTarget) {
        if (!operand.empty()) out += ", ";
        out += "to " +
               (instr.target < size ? "L" + number(label[instr.target]) : std::string("the end"));
      }
    }
    out += '\n';
  }
  if (label[size] != 0) {
    const std::string text = "L" + number(label[size]) + ":";
    out.append(6 + label_width - std::min(label_width, text.size()), ' ');
    out += text + "\n";
  }
  if (!list.rows.empty()) {
    out += "exception table:\n";
    for (const ExceptionRow& row : list.rows) {
      out += "  L" + number(label[row.begin]) + " to L" + number(label[row.end]) + " -> L" +
             number(label[row.target]) + ", depth " + number(row.depth) +
             (row.lasti ? ", lasti" : "") + "\n";
    }
  }
  return out;
}

std::string listing(Module& module, CodeId id, Objects objects) {
  const InstrList list = decode(module, id);
  const CodeObject& code = module[id];
  const VersionTable& table = *version_table(code.version);  // decode() has asked for it
  // What instructions come to, by the byte offset at which they begin.
  std::vector<std::uint32_t> first(code.code.size() + 1, UINT32_MAX);
  std::vector<std::uint8_t> is_target(code.code.size() + 1, 0);
  for (std::size_t i = list.instrs.size(); i-- > 0;) {
    const Instr& instr = list.instrs[i];
    if (instr.offset < first.size()) first[instr.offset] = static_cast<std::uint32_t>(i);
    if (instr.target < list.instrs.size()) is_target[list.instrs[instr.target].offset] = 1;
  }
  const auto offset_of = [&](std::uint32_t index) {
    return index < list.instrs.size() ? list.instrs[index].offset
                                      : static_cast<std::uint32_t>(code.code.size());
  };
  for (const ExceptionRow& row : list.rows) is_target[offset_of(row.target)] = 1;

  const auto described = [&](std::uint32_t offset) {
    std::string out;
    for (std::uint32_t i = first[offset]; i < list.instrs.size() && list.instrs[i].offset == offset;
         ++i) {
      const Instr& instr = list.instrs[i];
      std::string text;
      if (arg_kind(instr.op) == ArgKind::Const)
        append_constant(text, module, ConstId(instr.arg), SIZE_MAX, kMaxNesting, objects);
      else
        text = operand_text(instr, module, code);
      if (instr.op == Op::PUSH_NULL && table.opcodes[code.code[offset]].op != Op::PUSH_NULL)
        text = "NULL";
      if (instr.target != kNoTarget)
        text += (text.empty() ? "to " : ", to ") + number(offset_of(instr.target));
      if (text.empty() || instr.op == Op::RERAISE) continue;
      if (!out.empty()) out += ", ";
      out += text;
    }
    return out;
  };
  // The same as something to add to the operand; decode() leaves out what only prepares a frame.
  const auto meaning = [&](const OpcodeInfo& info, std::uint32_t offset, std::uint32_t operand) {
    std::string out = described(offset);
    const bool counts = info.operand == OperandKind::Plain || info.operand == OperandKind::None;
    if (counts && out == number(operand)) out.clear();
    if (counts && out.starts_with(number(operand) + ", ")) out.erase(0, number(operand).size() + 2);
    const bool is_slot = info.operand == OperandKind::Local || info.operand == OperandKind::Free;
    if (out.empty() && is_slot && code.version.minor >= 11 && operand < code.slots.size())
      out = module[code.slots[operand].name];
    return out;
  };
  const auto right = [](std::string& out, std::string_view text, std::size_t width) {
    if (text.size() < width) out.append(width - text.size(), ' ');
    out += text;
  };

  std::string out;
  out.reserve(code.code.size() * 32 + 64);
  LineCursor lines(code);
  std::int32_t line = 0;
  const auto count = static_cast<std::uint32_t>(code.code.size() / 2);
  for (std::uint32_t unit = 0; unit < count;) {
    const std::uint32_t offset = 2 * unit;
    std::uint32_t operand = code.code[offset + 1];
    while (code.code[2 * std::size_t{unit}] == table.extended_arg && unit + 1 < count) {
      ++unit;
      operand = operand << 8 | code.code[2 * std::size_t{unit} + 1];
    }
    const OpcodeInfo& info = table.opcodes[code.code[2 * std::size_t{unit}]];
    const std::int32_t here = lines.at(offset / 2);
    const bool begins = here != 0 && here != line;
    if (begins && offset != 0) out += '\n';
    right(out, begins ? std::to_string(here) : std::string(), 5);
    if (begins) line = here;
    out += is_target[offset] != 0 ? "  >> " : "     ";
    right(out, number(offset), 4);
    out += ' ';
    const std::size_t from = out.size();
    if (info.name.empty())
      out += "opcode " + number(code.code[2 * std::size_t{unit}]);
    else
      out += info.name;
    if (info.operand != OperandKind::None || operand != 0) {
      pad(out, from, 26);
      right(out, number(operand), 4);
      const std::string text = meaning(info, offset, operand);
      if (!text.empty()) out.append(" (").append(text) += ')';
    }
    out += '\n';
    unit += 1U + info.caches;
  }
  if (!list.rows.empty()) {
    out += "ExceptionTable:\n";
    for (const ExceptionRow& row : list.rows)
      out += "  " + number(offset_of(row.begin)) + " to " + number(offset_of(row.end)) + " -> " +
             number(offset_of(row.target)) + " [" + number(row.depth) + "]" +
             (row.lasti ? " lasti" : "") + "\n";
  }
  return out;
}

}  // namespace depyf
