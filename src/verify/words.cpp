#include "verify/words.h"

#include <algorithm>

#include "support/unicode.h"
#include "verify/canon.h"

namespace depyf::verify_detail {

namespace {

constexpr std::string_view kBinary[] = {"+", "&",  "//", "<<", "@", "*", "%",
                                        "|", "**", ">>", "-",  "/", "^"};
constexpr std::string_view kUnary[] = {"~", "not ", "+", "-"};
constexpr std::string_view kCompare[] = {"<",  "<=", "==",     "!=", ">",
                                         ">=", "is", "is not", "in", "not in"};

template <std::size_t N>
std::string_view pick(const std::string_view (&table)[N], std::uint32_t at) {
  return at < N ? table[at] : std::string_view("?");
}

}  // namespace

std::string Words::name(std::uint32_t arg) const {
  return arg < module_.strings.size() ? terminal_text(module_[StrId(arg)]) : "?";
}

std::string Words::slot(std::uint32_t arg) const {
  const std::span<const Slot> slots = module_[lifted_.code].slots;
  return arg < slots.size() && slots[arg].name.valid() ? terminal_text(module_[slots[arg].name])
                                                       : "?";
}

std::string Words::list(std::span<const ValueId> items, unsigned depth) const {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i) out += ", ";
    if (i == 6) return out + "…";
    out += value(items[i], depth);
  }
  return out;
}

std::string Words::value(ValueId id, unsigned depth) const {
  if (!id.valid()) return "?";
  const Value& v = lifted_[id];
  switch (v.kind) {
    case ValueKind::Param:
      return "a value that differs by the way taken";
    case ValueKind::Result:
      return v.operands.empty() ? "a result"
                                : "result " + std::to_string(v.arg) + " of " +
                                      (depth ? value(v.operands[0], depth - 1) : "…");
    case ValueKind::Null:
      return "NULL";
    case ValueKind::Exception:
      return "the exception";
    case ValueKind::ExceptionType:
      return "the exception's type";
    case ValueKind::Traceback:
      return "the traceback";
    case ValueKind::Previous:
      return "the previous exception";
    case ValueKind::Lasti:
      return "the last instruction";
    case ValueKind::Operation:
    case ValueKind::Select:
    case ValueKind::Statements:
      break;
  }
  switch (arg_kind(v.op)) {
    case ArgKind::Const:
      return describe_const(module_, ConstId(v.arg));
    case ArgKind::Local:
      return slot(v.arg);
    case ArgKind::Deref:
      if (v.op == Op::LOAD_CLOSURE) return "the cell of " + slot(v.arg);
      return slot(v.arg);
    case ArgKind::Str:
    case ArgKind::Plain:
      break;
  }
  const std::span<const ValueId> in = v.operands;
  if (v.op == Op::LOAD_COMMON)
    return std::string(common_constant_text(static_cast<CommonConstant>(v.arg)));
  if (v.op == Op::LOAD_GLOBAL || v.op == Op::LOAD_NAME || v.op == Op::LOAD_FROM_DICT_OR_GLOBALS)
    return name(v.arg);
  if (depth == 0) return "…";
  --depth;
  const auto at = [&](std::size_t i) {
    return i < in.size() ? value(in[i], depth) : std::string("?");
  };
  if (v.op == Op::LOAD_ATTR || v.op == Op::LOAD_METHOD) return at(0) + "." + name(v.arg);
  if (v.op == Op::LOAD_SUBSCR) return at(0) + "[" + at(1) + "]";
  if (v.op == Op::LOAD_SLICE) return at(0) + "[" + at(1) + ":" + at(2) + "]";
  if (v.op == Op::UNARY) return std::string(pick(kUnary, v.arg)) + at(0);
  if (v.op == Op::BINARY) return at(0) + " " + std::string(pick(kBinary, v.arg)) + " " + at(1);
  if (v.op == Op::INPLACE) return at(0) + " " + std::string(pick(kBinary, v.arg)) + "= " + at(1);
  if (v.op == Op::COMPARE) return at(0) + " " + std::string(pick(kCompare, v.arg)) + " " + at(1);
  if (v.op == Op::IS) return at(0) + (v.arg ? " is not " : " is ") + at(1);
  if (v.op == Op::CONTAINS) return at(0) + (v.arg ? " not in " : " in ") + at(1);
  if (v.op == Op::BUILD_TUPLE) return "(" + list(in, depth) + (in.size() == 1 ? ",)" : ")");
  if (v.op == Op::BUILD_LIST) return "[" + list(in, depth) + "]";
  if (v.op == Op::BUILD_SET) return "{" + list(in, depth) + "}";
  if (v.op == Op::CALL) return at(0) + "(" + (in.empty() ? "" : list(in.subspan(1), depth)) + ")";
  if (v.op == Op::CALL_KW && in.size() >= 2)
    return at(0) + "(" + list(in.subspan(1, in.size() - 2), depth) + "; names " +
           value(in.back(), depth) + ")";
  if (v.op == Op::CALL_EX)
    return at(0) + "(*" + at(1) + (in.size() > 2 ? ", **" + at(2) : "") + ")";
  std::string op(op_name(v.op));
  if (arg_kind(v.op) == ArgKind::Str) op += " " + quoted(name(v.arg));
  return op + "(" + list(in, depth) + ")";
}

std::string Words::event(ValueId id) const {
  const Value& v = lifted_[id];
  if (v.kind == ValueKind::Previous) return "starts to handle the exception";
  const auto at = [&](std::size_t i) {
    return i < v.operands.size() ? value(v.operands[i]) : std::string("?");
  };
  if (v.op == Op::STORE_FAST || v.op == Op::STORE_DEREF)
    return "stores " + at(0) + " into " + quoted(slot(v.arg));
  if (v.op == Op::STORE_GLOBAL || v.op == Op::STORE_NAME)
    return "stores " + at(0) + " into " + quoted(name(v.arg));
  if (v.op == Op::DELETE_FAST || v.op == Op::DELETE_DEREF) return "deletes " + quoted(slot(v.arg));
  if (v.op == Op::DELETE_GLOBAL || v.op == Op::DELETE_NAME) return "deletes " + quoted(name(v.arg));
  if (v.op == Op::STORE_ATTR) return "stores " + at(0) + " into " + at(1) + "." + name(v.arg);
  if (v.op == Op::DELETE_ATTR) return "deletes " + at(0) + "." + name(v.arg);
  if (v.op == Op::STORE_SUBSCR) return "stores " + at(0) + " into " + at(1) + "[" + at(2) + "]";
  if (v.op == Op::DELETE_SUBSCR) return "deletes " + at(0) + "[" + at(1) + "]";
  if (v.op == Op::CALL || v.op == Op::CALL_KW || v.op == Op::CALL_EX) return "calls " + value(id);
  if (v.op == Op::YIELD_VALUE) return "yields " + at(0);
  if (v.op == Op::YIELD_FROM) return "yields from " + at(0);
  if (v.op == Op::LOAD_GLOBAL) return "loads the global " + value(id);
  if (v.op == Op::LOAD_NAME || v.op == Op::LOAD_ATTR || v.op == Op::LOAD_METHOD ||
      v.op == Op::LOAD_FAST || v.op == Op::LOAD_DEREF)
    return "loads " + value(id);
  if (v.op == Op::MAKE_FUNCTION) return "makes a function: " + value(id);
  return "does " + value(id);
}

std::string Words::terminator(const LiftedBlock& block) const {
  switch (block.term) {
    case TermKind::Jump:
      return "jumps";
    case TermKind::Branch:
      return "tests " + value(block.value);
    case TermKind::ForIter:
      return "takes the next of " + value(block.value);
    case TermKind::Send:
      return "tests what " + value(block.value) + " did";
    case TermKind::Return:
      return "returns " + value(block.value);
    case TermKind::Raise:
      return block.raise_args.empty() ? "raises again" : "raises " + list(block.raise_args, 3);
    case TermKind::Reraise:
      return "raises " + value(block.value) + " again";
    case TermKind::Unreachable:
      return "ends";
  }
  return "ends";
}

}  // namespace depyf::verify_detail
