// Functions, classes and modules that rebuild themselves from their marshalled code.
//
// A name that the text uses could be a variable of the code: ast/builtins.h. The type of functions
// is `(lambda: 0).__class__`, the globals are `(lambda: 0).__globals__`, and the cell of a free
// variable x is `(lambda: x).__closure__[0]`.
#include "rewrite/rebuilt.h"

#include <algorithm>
#include <string>

#include "ast/builtins.h"
#include "bytecode/instr.h"
#include "pyc/marshal_writer.h"
#include "pyc/pyc.h"
#include "rewrite/rewriter.h"
#include "support/error.h"

namespace depyf {
namespace {

/// A variable of the compiler's own, which no source can name.
bool is_unnameable(std::string_view name) {
  return name.starts_with('.') || name == "__classdict__" || name == "__conditional_annotations__";
}

class Rebuilder {
 public:
  Rebuilder(Ast& ast, CodeId code)
      : ast_(ast), module_(*ast.module), code_(code), object_(module_[code]) {}

  StmtId run() {
    const std::vector<std::uint32_t> live = set_aside_live_objects();
    const ExprId data = text(ConstKind::Bytes, write_marshal(module_, code_));
    const ExprId load = with_live_objects(
        call(attribute(call(builtin(ast_, "__import__", code_), {text(ConstKind::Str, "marshal")}),
                       "loads"),
             {data}),
        live);
    const Role role = role_of(module_, code_);
    if (role == Role::Module || role == Role::Class) {
      if (role == Role::Class) return class_body(load);
      return statement(StmtKind::Expr, call(builtin(ast_, "exec", code_), {load}));
    }
    std::vector<ExprId> all = {function(load)};
    pass_arguments(all);
    ExprId made = ast_.expr(ExprKind::Call, all);
    // The function stays what it was: a coroutine function, a generator function.
    if (object_.flags & kCoroutine)
      made = ast_.expr(ExprKind::Await, {made});
    else if (object_.flags & kGenerator)
      made = ast_.expr(ExprKind::YieldFrom, {made});
    return statement(StmtKind::Return, made);
  }

  /// The docstring of a function; none where there is none.
  StmtId docstring_statement() {
    const ConstId text = docstring(module_, code_);
    return text ? statement(StmtKind::Expr, ast_.constant(text)) : StmtId::none();
  }

 private:
  /// Live objects among the code's own constants cannot be marshalled: None takes their places.
  /// Returns the places. Before 3.8 nothing puts them back.
  std::vector<std::uint32_t> set_aside_live_objects() {
    std::vector<std::uint32_t> places;
    if (!object_.version.has_positional_only()) return places;
    consts_ = object_.consts;
    std::vector<ConstId> kept(consts_.begin(), consts_.end());
    for (std::uint32_t i = 0; i < kept.size(); ++i)
      if (module_[kept[i]].kind == ConstKind::Object) {
        places.push_back(i);
        kept[i] = module_.add(Const{});
      }
    if (!places.empty()) module_[code_].consts = module_.arena.copy(kept);
    return places;
  }

  /// `(lambda code: code.replace(co_consts=(*code.co_consts[0:2], __const_0__,
  /// *code.co_consts[3:5])))(code)`, and the constants as they were.
  ExprId with_live_objects(ExprId load, const std::vector<std::uint32_t>& places) {
    if (places.empty()) return load;
    module_[code_].consts = consts_;
    Function f;
    f.parameters.push_back({module_.intern("code"), ParamKind::Positional, {}, {}});
    ast_.functions.push_back(f);
    const std::uint32_t function = static_cast<std::uint32_t>(ast_.functions.size() - 1);
    const auto code = [&] { return ast_.name(module_.intern("code")); };
    const auto part = [&](std::uint32_t from, std::uint32_t to) {
      const ExprId slice = ast_.expr(ExprKind::Slice, {integer(from), integer(to), ExprId::none()});
      return ast_.expr(ExprKind::Subscript, {attribute(code(), "co_consts"), slice});
    };
    std::vector<ExprId> items;
    std::uint32_t next = 0;
    const auto keep = [&](std::uint32_t to) {
      if (next < to) items.push_back(ast_.expr(ExprKind::Starred, {part(next, to)}));
    };
    for (std::uint32_t place : places) {
      keep(place);
      items.push_back(ast_.constant(consts_[place]));
      next = place + 1;
    }
    keep(static_cast<std::uint32_t>(consts_.size()));
    const ExprId keyword =
        ast_.expr(ExprKind::Keyword, {tuple(items)}, module_.intern("co_consts").index);
    return call(
        ast_.expr(ExprKind::Lambda, {call(attribute(code(), "replace"), {keyword})}, function),
        {load});
  }

  ExprId text(ConstKind kind, std::string_view value) {
    Const c;
    c.kind = kind;
    c.text = module_.arena.copy_string(value);
    return ast_.constant(module_.add(c));
  }
  ExprId none() { return ast_.constant(module_.add(Const{})); }
  ExprId attribute(ExprId value, std::string_view name) {
    return ast_.expr(ExprKind::Attribute, {value}, module_.intern(name).index);
  }
  ExprId call(ExprId callee, std::initializer_list<ExprId> arguments) {
    std::vector<ExprId> kids = {callee};
    kids.insert(kids.end(), arguments.begin(), arguments.end());
    return ast_.expr(ExprKind::Call, kids);
  }
  ExprId tuple(const std::vector<ExprId>& items) { return ast_.expr(ExprKind::Tuple, items); }
  ExprId lambda(ExprId value) {
    ast_.functions.push_back({});
    return ast_.expr(ExprKind::Lambda, {value},
                     static_cast<std::uint32_t>(ast_.functions.size() - 1));
  }
  ExprId integer(std::int64_t value) {
    Const c;
    c.kind = ConstKind::Int;
    c.integer = value;
    return ast_.constant(module_.add(c));
  }
  ExprId zero() { return integer(0); }
  StmtId statement(StmtKind kind, ExprId value) {
    Stmt s;
    s.kind = kind;
    s.e[0] = value;
    s.origin = {0, static_cast<std::int32_t>(object_.firstlineno), code_};
    return ast_.add(s);
  }

  /// A variable of this code object, as the source names it.
  ExprId variable(const Slot& slot, NameScope scope) {
    ExprId id = ast_.name(unmangled(module_, code_, slot.name));
    ast_[id].op = static_cast<std::uint8_t>(scope);
    return id;
  }

  /// The cells of the free variables, in the code's order.
  ExprId closure() {
    std::vector<ExprId> cells;
    for (const Slot& slot : object_.slots) {
      if (!(slot.kind & kFree)) continue;
      const std::string_view name = module_[slot.name];
      if (is_unnameable(name))
        throw UnusualCode("the code has the free variable " + std::string(name) +
                          ", which no source can name");
      cells.push_back(
          ast_.expr(ExprKind::Subscript,
                    {attribute(lambda(variable(slot, NameScope::Deref)), "__closure__"), zero()}));
    }
    return cells.empty() ? ExprId::none() : tuple(cells);
  }

  /// FunctionType(code, globals, name, None, closure)
  ExprId function(ExprId load) {
    const ExprId type = attribute(lambda(zero()), "__class__");
    const ExprId globals = attribute(lambda(zero()), "__globals__");
    const ExprId cells = closure();
    if (!cells) return call(type, {load, globals});
    return call(type, {load, globals, text(ConstKind::Str, module_[object_.name]), none(), cells});
  }

  /// A comprehension's argument is an iterator; the text of its caller leaves it to the loop to
  /// make one.
  ExprId argument(const Slot& slot) {
    const ExprId value = variable(slot, NameScope::Fast);
    if (module_[slot.name] != ".0") return value;
    for (const Instr& instr : decode(module_, code_).instrs) {
      if (instr.op == Op::FOR_ITER) break;
      if (instr.op == Op::GET_ANEXT) return call(attribute(value, "__aiter__"), {});
    }
    return call(builtin(ast_, "iter", code_), {value});
  }

  void pass_arguments(std::vector<ExprId>& all) {
    std::size_t slot = 0;
    for (; slot < object_.argcount; ++slot) all.push_back(argument(object_.slots[slot]));
    std::size_t variadic = std::size_t{object_.argcount} + object_.kwonlyargcount;
    if (object_.flags & kVarArgs)
      all.push_back(
          ast_.expr(ExprKind::Starred, {variable(object_.slots[variadic++], NameScope::Fast)}));
    for (; slot < std::size_t{object_.argcount} + object_.kwonlyargcount; ++slot) {
      const StrId name = object_.slots[slot].name;
      const ExprId value = variable(object_.slots[slot], NameScope::Fast);
      if (unmangled(module_, code_, name) == name) {
        all.push_back(ast_.expr(ExprKind::Keyword, {value}, name.index));
      } else {  // whether a keyword of a call is mangled depends on the version
        all.push_back(
            ast_.expr(ExprKind::Keyword,
                      {ast_.expr(ExprKind::Dict, {text(ConstKind::Str, module_[name]), value})}));
      }
    }
    if (object_.flags & kVarKeywords)
      all.push_back(
          ast_.expr(ExprKind::Keyword, {variable(object_.slots[variadic], NameScope::Fast)}));
  }

  /// exec(code, globals, locals()); from 3.11 `exec` takes the cells. Before that it refuses code
  /// with free variables: such a class is built aside, by a metaclass that hands out the namespace.
  StmtId class_body(ExprId load) {
    const ExprId cells = closure();
    const ExprId globals = attribute(lambda(zero()), "__globals__");
    const ExprId space = call(builtin(ast_, "locals", code_), {});
    if (!cells)
      return statement(StmtKind::Expr, call(builtin(ast_, "exec", code_), {load, globals, space}));
    if (object_.version.has_exception_table()) {
      const ExprId keyword = ast_.expr(ExprKind::Keyword, {cells}, module_.intern("closure").index);
      return statement(StmtKind::Expr,
                       call(builtin(ast_, "exec", code_), {load, globals, space, keyword}));
    }
    const ExprId name = text(ConstKind::Str, module_[object_.name]);
    const ExprId body =
        call(attribute(lambda(zero()), "__class__"), {load, globals, name, none(), cells});
    Function f;
    for (const char* parameter : {"name", "bases", "namespace"})
      f.parameters.push_back({module_.intern(parameter), ParamKind::Positional, {}, {}});
    ast_.functions.push_back(f);
    ExprId handed_out = ast_.name(module_.intern("namespace"));
    const ExprId meta = ast_.expr(ExprKind::Lambda, {handed_out},
                                  static_cast<std::uint32_t>(ast_.functions.size() - 1));
    const ExprId keyword = ast_.expr(ExprKind::Keyword, {meta}, module_.intern("metaclass").index);
    const ExprId built = call(builtin(ast_, "__build_class__", code_), {body, name, keyword});
    return statement(StmtKind::Expr, call(attribute(space, "update"), {built}));
  }

  Ast& ast_;
  Module& module_;
  const CodeId code_;
  const CodeObject& object_;
  std::span<const ConstId> consts_;  // as they are
};

}  // namespace

CodeId outer_to_rebuild(const Module& module, CodeId code) {
  for (code = module[code].parent; code; code = module[code].parent) {
    const CodeObject& object = module[code];
    const Role role = role_of(module, code);
    // Scopes of type parameters and of annotations have no body of their own in the source.
    const bool defined = role != Role::GenericScope && module[object.name] != "__annotate__";
    if (defined && std::ranges::none_of(object.slots, [&](const Slot& slot) {
          return (slot.kind & kFree) && is_unnameable(module[slot.name]);
        }))
      return code;
  }
  return CodeId();
}

void rebuild(Ast& ast, CodeId code, std::string_view reason) {
  std::vector<StmtId> body;
  Rebuilder rebuilder(ast, code);
  // A lambda stays an expression.
  const bool statements = role_of(*ast.module, code) != Role::Lambda;
  // The function around the bytes is what a caller asks for the text.
  if (const StmtId text = statements ? rebuilder.docstring_statement() : StmtId::none())
    body.push_back(text);
  const StmtId run = rebuilder.run();
  if (statements) {
    Stmt comment;
    comment.kind = StmtKind::Comment;
    comment.a =
        ast.module
            ->intern("depyf found no source for this code and rebuilds it from its bytes:\n" +
                     std::string(reason))
            .index;
    body.push_back(ast.add(comment));
  }
  body.push_back(run);
  Body made;
  made.code = code;
  made.stmts = ast.arena.copy(body);
  made.done = true;
  made.rebuilt = true;
  ast.bodies[code.index] = made;
}

}  // namespace depyf
