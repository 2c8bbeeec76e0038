#include "print/tree.h"

#include <algorithm>

#include "print/literals.h"
#include "pyc/singleton_text.h"

namespace depyf {

namespace {

constexpr std::string_view kExprNames[] = {
#define EXPR(name, a) #name,
#define PATTERN(name, a) #name,
#include "ast/ast.def"
};

constexpr std::string_view kStmtNames[] = {
#define STMT(name) #name,
#include "ast/ast.def"
};

class Writer {
 public:
  explicit Writer(const Ast& ast) : ast_(ast), module_(*ast.module) {}

  std::string write(CodeId code) {
    if (code.index < ast_.bodies.size()) push(ast_.bodies[code.index].stmts, 0, "");
    while (!pending_.empty()) {
      Pending& top = pending_.back();
      if (!top.label.empty()) {
        indent(top.depth - 1);
        out_ += top.label;
        out_ += '\n';
        top.label = {};
      }
      if (top.next == top.stmts.size()) {
        pending_.pop_back();
        continue;
      }
      StmtId id = top.stmts[top.next++];
      statement(ast_[id], top.depth);
    }
    return std::move(out_);
  }

 private:
  struct Pending {
    std::span<const StmtId> stmts;
    std::size_t next;
    std::uint32_t depth;
    std::string_view label;
  };
  struct Task {
    ExprId id;
    std::string_view text;  // printed instead of an expression when not empty
  };

  void push(std::span<const StmtId> stmts, std::uint32_t depth, std::string_view label) {
    if (!stmts.empty()) pending_.push_back({stmts, 0, depth, label});
  }

  void indent(std::uint32_t depth) { out_.append(std::min(depth, 60u) * 2, ' '); }

  void constant(ConstId id) {
    if (id.index >= module_.consts.size()) {
      out_ += "const?";
      return;
    }
    const Const& value = module_[id];
    switch (value.kind) {
      case ConstKind::None:
      case ConstKind::True:
      case ConstKind::False:
      case ConstKind::Ellipsis:
      case ConstKind::StopIteration:
        out_ += singleton_text(value.kind);
        break;
      case ConstKind::Int:
        value.big ? append_big_integer(out_, value.text)
                  : void(out_ += std::to_string(value.integer));
        break;
      case ConstKind::Float:
        append_float(out_, value.re);
        break;
      case ConstKind::Complex:
        append_complex(out_, value.re, value.im, module_.version);
        break;
      case ConstKind::Str:
        append_string(out_, value.text);
        break;
      case ConstKind::Bytes:
        append_bytes(out_, value.text);
        break;
      case ConstKind::Code:
        (out_ += "code ") += module_[module_[value.code].name];
        break;
      case ConstKind::Object:
        out_ += "object " + std::to_string(value.object);
        break;
      case ConstKind::Tuple:
      case ConstKind::List:
      case ConstKind::Set:
      case ConstKind::FrozenSet:
      case ConstKind::Dict:
      case ConstKind::Slice: {
        static constexpr std::string_view names[] = {"tuple",     "list", "set",
                                                     "frozenset", "dict", "slice"};
        out_ += names[static_cast<int>(value.kind) - static_cast<int>(ConstKind::Tuple)];
        out_ += '(';
        for (std::size_t i = 0; i < value.items.size() && i < 20; ++i) {
          if (i) out_ += ", ";
          const Const& item = module_[value.items[i]];
          item.items.empty() ? constant(value.items[i]) : void(out_ += "(…)");
        }
        out_ += value.items.size() > 20 ? ", …)" : ")";
        break;
      }
    }
  }

  void name(std::uint32_t id) {
    out_ += id < module_.strings.size() ? module_[StrId(id)] : std::string_view("name?");
  }

  void expression(ExprId root) {
    std::vector<Task> tasks{{root, {}}};
    while (!tasks.empty()) {
      Task task = tasks.back();
      tasks.pop_back();
      if (!task.text.empty()) {
        out_ += task.text;
        continue;
      }
      if (!task.id) {
        out_ += '-';
        continue;
      }
      const Expr& e = ast_[task.id];
      if (e.kind == ExprKind::Constant) {
        constant(ConstId(e.a));
        continue;
      }
      if (e.kind == ExprKind::Name) {
        name(e.a);
        continue;
      }
      out_ += kExprNames[static_cast<std::uint8_t>(e.kind)];
      if (e.op) out_ += '.' + std::to_string(e.op);
      if (e.a != UINT32_MAX) {
        switch (field_a(e.kind)) {
          case FieldA::Nothing:
            break;
          case FieldA::Const:
            out_ += ' ';
            constant(ConstId(e.a));
            break;
          case FieldA::Str:
            out_ += ' ';
            name(e.a);
            break;
          case FieldA::Code:
            (out_ += ' ') += e.a < module_.codes.size() ? module_[module_[CodeId(e.a)].name]
                                                        : std::string_view("code?");
            break;
          case FieldA::Function:
            out_ += ' ' + std::to_string(e.a);
            break;
        }
      }
      for (std::uint32_t extra : e.extra) out_ += '/' + std::to_string(extra);
      if (e.kids.empty()) continue;
      out_ += '(';
      tasks.push_back({{}, ")"});
      for (std::size_t i = e.kids.size(); i-- > 0;) {
        tasks.push_back({e.kids[i], {}});
        if (i) tasks.push_back({{}, ", "});
      }
    }
  }

  void statement(const Stmt& s, std::uint32_t depth) {
    indent(depth);
    out_ += kStmtNames[static_cast<std::uint8_t>(s.kind)];
    if (s.flag) out_ += '.' + std::to_string(s.flag);
    bool named = s.kind == StmtKind::FunctionDef || s.kind == StmtKind::ClassDef ||
                 s.kind == StmtKind::Handler || s.kind == StmtKind::ImportFrom ||
                 s.kind == StmtKind::Comment;
    if (named && s.a != UINT32_MAX) {
      out_ += ' ';
      name(s.a);
    }
    bool names = s.kind == StmtKind::Import || s.kind == StmtKind::ImportFrom ||
                 s.kind == StmtKind::Global || s.kind == StmtKind::Nonlocal;
    if (names)
      for (std::uint32_t id : s.extra) {
        out_ += ' ';
        id == UINT32_MAX ? void(out_ += '-') : name(id);
      }
    for (ExprId e : s.e) {
      if (!e) continue;
      out_ += ' ';
      expression(e);
    }
    if (!s.list.empty()) {
      out_ += " [";
      for (std::size_t i = 0; i < s.list.size(); ++i) {
        if (i) out_ += ", ";
        expression(s.list[i]);
      }
      out_ += ']';
    }
    if (s.origin.offset != UINT32_MAX) out_ += "  @" + std::to_string(s.origin.offset);
    out_ += '\n';
    push(s.final, depth + 1, "finally");
    push(s.orelse, depth + 1, "else");
    push(s.arms, depth + 1, "");
    push(s.body, depth + 1, "");
  }

  const Ast& ast_;
  const Module& module_;
  std::string out_;
  std::vector<Pending> pending_;
};

}  // namespace

std::string to_text(const Ast& ast, CodeId code) { return Writer(ast).write(code); }

}  // namespace depyf
