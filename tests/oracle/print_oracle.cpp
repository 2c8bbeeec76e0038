// Builds syntax trees from the stream that ast_stream.py writes, and prints them.
#include <bit>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <unordered_map>

#include "print/print.h"
#include "support/error.h"

namespace {

using namespace depyf;

std::string unhex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

double to_double(const std::string& text) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(std::stoull(text, nullptr, 16)));
}

const std::unordered_map<std::string, ExprKind> kExprKinds = {
#define EXPR(name, a) {#name, ExprKind::name},
#define PATTERN(name, a) {#name, ExprKind::name},
#include "ast/ast.def"
};
const std::unordered_map<std::string, StmtKind> kStmtKinds = {
#define STMT(name) {#name, StmtKind::name},
#include "ast/ast.def"
};

struct Builder {
  std::string path;
  Module module;
  Ast ast;
  PyVersion version;
  std::vector<StrId> strings;
  std::vector<ConstId> consts;
  std::vector<std::vector<TypeParam>> params;

  static std::uint32_t number(std::istream& in) {
    long long value = 0;
    if (!(in >> value)) throw Error("the stream ends inside a record");
    return value < 0 ? UINT32_MAX : static_cast<std::uint32_t>(value);
  }
  StrId string(std::istream& in) {
    std::uint32_t id = number(in);
    return id == UINT32_MAX ? StrId() : strings[id];
  }
  template <class T>
  std::span<T> ids(std::istream& in) {
    std::vector<T> out;
    for (std::uint32_t i = number(in); i > 0; --i) out.push_back(T(number(in)));
    return ast.arena.copy(out);
  }

  void constant(std::istream& in) {
    std::string kind, text, more;
    in >> kind >> text >> more;
    Const value;
    if (kind == "None")
      value.kind = ConstKind::None;
    else if (kind == "True")
      value.kind = ConstKind::True;
    else if (kind == "False")
      value.kind = ConstKind::False;
    else if (kind == "Ellipsis")
      value.kind = ConstKind::Ellipsis;
    else if (kind == "Int") {
      value.kind = ConstKind::Int;
      value.big = text.size() > 15;
      if (value.big)
        value.text = module.arena.copy_string(text);
      else
        value.integer = std::stoll(text, nullptr, 16);
    } else if (kind == "Float") {
      value.kind = ConstKind::Float;
      value.re = to_double(text);
    } else if (kind == "Complex") {
      value.kind = ConstKind::Complex;
      value.re = to_double(text);
      value.im = to_double(more);
    } else {
      value.kind = kind == "Str" ? ConstKind::Str : ConstKind::Bytes;
      value.text = module.arena.copy_string(unhex(text));
    }
    consts.push_back(module.add(value));
  }

  void expression(std::istream& in) {
    std::string kind;
    in >> kind;
    Expr e;
    e.kind = kExprKinds.at(kind);
    e.op = static_cast<std::uint8_t>(number(in));
    e.a = number(in);
    e.kids = ids<ExprId>(in);
    e.extra = ids<std::uint32_t>(in);
    bool constant = e.kind == ExprKind::Constant || e.kind == ExprKind::MatchSingleton ||
                    e.kind == ExprKind::Interpolation;
    if (e.a != UINT32_MAX) {
      if (constant)
        e.a = consts[e.a].index;
      else if (e.kind != ExprKind::Lambda)
        e.a = strings[e.a].index;
    }
    if (e.kind == ExprKind::MatchClass)
      for (std::uint32_t& name : e.extra) name = strings[name].index;
    ast.add(e);
  }

  void type_params(std::istream& in) {
    std::vector<TypeParam> list(number(in));
    for (TypeParam& p : list) {
      p.name = string(in);
      p.kind = static_cast<TypeParamKind>(number(in));
      p.bound = ExprId(number(in));
      p.default_value = ExprId(number(in));
    }
    ast.type_param_lists.push_back(std::move(list));
  }

  void function(std::istream& in) {
    Function f;
    if (std::uint32_t list = number(in); list != UINT32_MAX)
      f.type_params = ast.type_param_lists[list];
    for (std::uint32_t i = number(in); i > 0; --i) {
      Parameter p;
      p.name = string(in);
      p.kind = static_cast<ParamKind>(number(in));
      p.annotation = ExprId(number(in));
      p.default_value = ExprId(number(in));
      f.parameters.push_back(p);
    }
    ast.functions.push_back(std::move(f));
  }

  void statement(std::istream& in) {
    std::string kind;
    in >> kind;
    Stmt s;
    s.kind = kStmtKinds.at(kind);
    s.flag = static_cast<std::uint8_t>(number(in));
    s.a = number(in);
    if (s.a != UINT32_MAX) s.a = strings[s.a].index;
    s.level = number(in);
    s.function = number(in);
    for (ExprId& e : s.e) e = ExprId(number(in));
    s.type_params = number(in);
    s.list = ids<ExprId>(in);
    s.extra = ids<std::uint32_t>(in);
    s.body = ids<StmtId>(in);
    s.orelse = ids<StmtId>(in);
    s.final = ids<StmtId>(in);
    s.arms = ids<StmtId>(in);
    if (s.kind != StmtKind::ClassDef)
      for (std::uint32_t& name : s.extra)
        if (name != UINT32_MAX) name = strings[name].index;
    ast.add(s);
  }

  void finish(std::istream& in) {
    CodeObject code;
    code.version = module.version = version;
    module.codes.push_back(code);
    module.root = CodeId(0);
    ast.module = &module;
    Body& body = ast.bodies.emplace_back();
    body.code = module.root;
    body.stmts = ids<StmtId>(in);
    body.done = true;
    PrintOptions options;
    options.grammar = version;
    Source source = print_module(ast, options);
    for (const Diagnostic& note : source.notes) std::cerr << path << ": " << note.message << "\n";
    std::ofstream(path, std::ios::binary) << source.text;
  }
};

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::unique_ptr<Builder> builder;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    char kind = 0;
    in >> kind;
    switch (kind) {
      case 'D': {
        builder = std::make_unique<Builder>();
        unsigned minor = 0;
        in >> minor >> builder->path;
        builder->version = {3, static_cast<std::uint8_t>(minor)};
        break;
      }
      case 'S': {
        std::string text;
        in >> text;
        builder->strings.push_back(builder->module.intern(unhex(text)));
        break;
      }
      case 'K':
        builder->constant(in);
        break;
      case 'E':
        builder->expression(in);
        break;
      case 'P':
        builder->type_params(in);
        break;
      case 'F':
        builder->function(in);
        break;
      case 'T':
        builder->statement(in);
        break;
      case 'M':
        builder->finish(in);
        break;
      default:
        std::cerr << "unknown record: " << line << "\n";
        return 2;
    }
  }
}
