#include <charconv>
#include <string>

#include "lift/lifted.h"
#include "pyc/singleton_text.h"

namespace depyf {
namespace {

void quote(std::string& out, std::string_view text) {
  constexpr std::size_t kLongest = 60;
  out += '\'';
  for (char c : text.substr(0, kLongest)) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\'' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      (((out += "\\x") += "0123456789abcdef"[c >> 4]) += "0123456789abcdef"[c & 15]);
    else
      out += c;
  }
  if (text.size() > kLongest) out += "…";
  out += '\'';
}

void number(std::string& out, double x) {
  char buffer[40];
  std::string_view text(buffer, static_cast<std::size_t>(
                                    std::to_chars(buffer, buffer + sizeof buffer, x).ptr - buffer));
  out += text;
  if (text.find_first_not_of("-0123456789") == text.npos) out += ".0";
}

void constant(std::string& out, const Module& module, ConstId id, int depth = 0) {
  if (id.index >= module.consts.size()) {
    out += "<bad constant>";
    return;
  }
  const Const& c = module[id];
  switch (c.kind) {
    case ConstKind::None:
    case ConstKind::True:
    case ConstKind::False:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
      out += singleton_text(c.kind);
      return;
    case ConstKind::Int:
      if (c.big)
        (out += c.text[0] == '-' ? "-0x" : "0x") +=
            c.text.substr(c.text[0] == '-' || c.text[0] == '+');
      else
        out += std::to_string(c.integer);
      return;
    case ConstKind::Float:
      number(out, c.re);
      return;
    case ConstKind::Complex:
      out += "complex(";
      number(out, c.re);
      out += ", ";
      number(out, c.im);
      out += ")";
      return;
    case ConstKind::Str:
      quote(out, c.text);
      return;
    case ConstKind::Bytes:
      out += "b";
      quote(out, c.text);
      return;
    case ConstKind::Tuple:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Dict:
    case ConstKind::Slice: {
      // Two levels deep and 16 items wide: constants may nest without bound.
      const bool braces =
          c.kind == ConstKind::Set || c.kind == ConstKind::FrozenSet || c.kind == ConstKind::Dict;
      out += c.kind == ConstKind::Slice       ? "slice("
             : c.kind == ConstKind::FrozenSet ? "frozenset({"
             : braces                         ? "{"
             : c.kind == ConstKind::List      ? "["
                                              : "(";
      for (std::size_t i = 0; i < c.items.size() && i < 16; ++i) {
        if (i) out += c.kind == ConstKind::Dict && i % 2 ? ": " : ", ";
        if (c.items[i].index < module.consts.size() &&
            (module[c.items[i]].items.empty() || depth < 2))
          constant(out, module, c.items[i], depth + 1);
        else
          out += "…";
      }
      if (c.items.size() > 16) out += ", …";
      if (c.kind == ConstKind::Tuple && c.items.size() == 1) out += ",";
      out += c.kind == ConstKind::FrozenSet ? "})"
             : braces                       ? "}"
             : c.kind == ConstKind::List    ? "]"
                                            : ")";
      return;
    }
    case ConstKind::Code:
      out += "<code " + std::to_string(c.code.index) + ">";
      return;
    case ConstKind::Object:
      out += "<object " + std::to_string(c.object) + ">";
      return;
  }
}

class Writer {
 public:
  Writer(const Lifted& lifted, const Module& module) : lifted_(lifted), module_(module) {}

  std::string run() {
    for (std::uint32_t b = 0; b < lifted_.blocks.size(); ++b) block(b);
    return std::move(out_);
  }

 private:
  const Lifted& lifted_;
  const Module& module_;
  std::string out_;

  void reference(ValueId id) {
    if (!id.valid()) {
      out_ += "_";
      return;
    }
    const Value& value = lifted_[id];
    switch (value.kind) {
      case ValueKind::Operation:
      case ValueKind::Param:
      case ValueKind::Select:
      case ValueKind::Statements:
        break;
      case ValueKind::Result:
        if (value.op == Op::FOR_ITER) break;
        reference(value.operands[0]);
        out_ += "." + std::to_string(value.arg);
        return;
      case ValueKind::Null:
        out_ += "NULL";
        return;
      case ValueKind::Exception:
        out_ += "exception@b" + std::to_string(value.block.index);
        return;
      case ValueKind::ExceptionType:
        out_ += "type@b" + std::to_string(value.block.index);
        return;
      case ValueKind::Traceback:
        out_ += "traceback@b" + std::to_string(value.block.index);
        return;
      case ValueKind::Previous:
        out_ += "previous" + std::to_string(value.arg) + "@b" + std::to_string(value.block.index);
        return;
      case ValueKind::Lasti:
        out_ += "lasti@b" + std::to_string(value.block.index);
        return;
    }
    out_ += "v" + std::to_string(id.index);
  }

  template <class List>
  void references(const List& list) {
    bool first = true;
    for (ValueId id : list) {
      if (!first) out_ += ", ";
      first = false;
      reference(id);
    }
  }

  void operation(ValueId id) {
    const Value& value = lifted_[id];
    out_ += "  v" + std::to_string(id.index) + " = " +
            (value.kind == ValueKind::Select       ? "select"
             : value.kind == ValueKind::Statements ? "statements"
                                                   : std::string(op_name(value.op)));
    const CodeObject& code = module_[lifted_.code];
    const ArgKind kind = arg_kind(value.op);
    if (kind == ArgKind::Const) {
      out_ += ' ';
      constant(out_, module_, ConstId(value.arg));
    } else if (kind == ArgKind::Local || kind == ArgKind::Deref) {
      out_ += ' ';
      out_ += value.arg < code.slots.size() ? module_[code.slots[value.arg].name]
                                            : "<slot " + std::to_string(value.arg) + ">";
    } else if (kind == ArgKind::Str) {
      out_ += ' ';
      out_ += value.arg < module_.strings.size() ? module_[StrId(value.arg)]
                                                 : "<name " + std::to_string(value.arg) + ">";
    } else if (value.arg) {
      out_ += " " + std::to_string(value.arg);
    }
    if (value.aux & kInPlace) out_ += " in-place";
    if (std::uint32_t aux = value.aux & ~kInPlace) out_ += " aux " + std::to_string(aux);
    if (!value.operands.empty()) {
      out_ += " (";
      references(value.operands);
      out_ += ")";
    }
    out_ += "\n";
  }

  void edge(const Edge& to) {
    out_ += "b" + (to.to.valid() ? std::to_string(to.to.index) : std::string("?"));
    if (!to.args.empty()) {
      out_ += "(";
      references(to.args);
      out_ += ")";
    }
  }

  void block(std::uint32_t b) {
    const LiftedBlock& block = lifted_.blocks[b];
    out_ += "b" + std::to_string(b);
    if (!block.params.empty()) {
      out_ += "(";
      references(block.params);
      out_ += ")";
    }
    out_ += ":";
    if (!block.stack_in.empty()) {
      out_ += "  stack [";
      references(block.stack_in);
      out_ += "]";
    }
    if (block.region.valid()) {
      const Region& region = lifted_.regions[block.region.index];
      out_ += "  protected by b" + std::to_string(region.handler.index) + " at depth " +
              std::to_string(region.depth);
      if (!block.handler_args.empty()) {
        out_ += " (";
        references(block.handler_args);
        out_ += ")";
      }
    }
    out_ += "\n";
    for (ValueId id : block.body) operation(id);
    out_ += "  ";
    switch (block.term) {
      case TermKind::Jump:
        out_ += "jump ";
        edge(block.edges[0]);
        break;
      case TermKind::Branch:
        out_ += "branch ";
        reference(block.value);
        out_ += " ? ";
        edge(block.edges[0]);
        out_ += " : ";
        edge(block.edges[1]);
        break;
      case TermKind::ForIter:
      case TermKind::Send:
        out_ += block.term == TermKind::ForIter ? "for " : "send ";
        reference(block.item);
        if (block.term == TermKind::ForIter) {
          out_ += " in ";
          reference(block.value);
        }
        out_ += " ? ";
        edge(block.edges[0]);
        out_ += " : ";
        edge(block.edges[1]);
        break;
      case TermKind::Return:
        out_ += "return ";
        reference(block.value);
        break;
      case TermKind::Raise:
        out_ += "raise ";
        references(block.raise_args);
        break;
      case TermKind::Reraise:
        out_ += "reraise ";
        reference(block.value);
        break;
      case TermKind::Unreachable:
        out_ += "unreachable";
        break;
    }
    out_ += "\n";
  }
};

}  // namespace

std::string to_text(const Lifted& lifted, const Module& module) {
  return Writer(lifted, module).run();
}

}  // namespace depyf
