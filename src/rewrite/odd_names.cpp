// Names that no source can hold: attributes by getattr and setattr, globals by what `globals`
// gives.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "ast/builtins.h"
#include "bytecode/bound_names.h"
#include "pyc/identifier.h"
#include "rewrite/rewriter.h"
#include "support/error.h"

namespace depyf {
namespace {

class Reaching {
 public:
  explicit Reaching(Rewriter& r) : r_(r), ast_(r.ast) {}

  void run() {
    if (!any()) return;
    StmtIds statements;
    collect_statements(ast_, r_.body, statements);
    for (StmtId id : statements) find_targets(ast_[id]);
    for (ExprId id : collect_expressions(ast_, r_.body))
      if (ast_[id].kind == ExprKind::Comprehension || ast_[id].kind == ExprKind::NamedExpr)
        add_targets(ast_[id].kids[0], kFixed);
    for (StmtId id : statements) statement(id);
    for (ExprId id : collect_expressions(ast_, r_.body)) expression(id);
    Body& body = ast_.bodies[r_.code.index];
    for (std::vector<StrId>* names : {&r_.globals, &body.outer_globals})
      std::erase_if(*names, [&](StrId name) { return odd(name.index); });
  }

 private:
  /// How a target may be changed: to any other target, or not at all.
  enum Target : std::uint8_t { kFree = 1, kFixed };

  bool odd(std::uint32_t name) const {
    return name < r_.module.strings.size() && !(r_.module.traits(StrId(name)) & kWritableName);
  }
  static bool is_variable(const Expr& e) {
    return e.kind == ExprKind::Name && (e.op == static_cast<std::uint8_t>(NameScope::Fast) ||
                                        e.op == static_cast<std::uint8_t>(NameScope::Deref));
  }
  [[noreturn]] static void refuse(std::string_view what) {
    throw UnusualCode("no source has this name for " + std::string(what));
  }

  /// A parameter's name is what callers pass it by.
  void refuse_parameters(std::uint32_t function) const {
    if (function >= ast_.functions.size()) return;
    for (const Parameter& parameter : ast_.functions[function].parameters)
      if (odd(parameter.name.index) && parameter.kind != ParamKind::PositionalOnly &&
          !r_.text(parameter.name).starts_with('.'))
        refuse("a parameter");
  }

  bool makes_odd_function() const {
    for (ConstId id : r_.object.consts) {
      if (r_.module[id].kind != ConstKind::Code) continue;
      const CodeObject& code = r_.module[r_.module[id].code];
      for (const Slot& slot :
           code.slots.first(std::min<std::size_t>(code.slots.size(), code.nlocals)))
        if (odd(slot.name.index) && !r_.text(slot.name).starts_with('.')) return true;
    }
    return false;
  }

  bool any() const {
    const Body& body = ast_.bodies[r_.code.index];
    return makes_odd_function() ||
           std::any_of(r_.object.names.begin(), r_.object.names.end(),
                       [&](StrId name) { return odd(name.index); }) ||
           std::any_of(r_.object.slots.begin(), r_.object.slots.end(),
                       [&](const Slot& slot) {
                         return odd(slot.name.index) && !r_.text(slot.name).starts_with('.');
                       }) ||
           std::any_of(body.outer_globals.begin(), body.outer_globals.end(),
                       [&](StrId name) { return odd(name.index); });
  }

  void add_targets(ExprId id, Target how) {
    ExprIds work;
    if (id) work.push_back(id);
    for (std::size_t next = 0; next < work.size(); ++next) {
      const Expr& e = ast_[work[next]];
      targets_[work[next].index] = how;
      if (e.kind == ExprKind::Tuple || e.kind == ExprKind::List || e.kind == ExprKind::Starred)
        for (ExprId kid : e.kids) work.push_back(kid);
    }
  }

  void find_targets(const Stmt& s) {
    if (s.kind == StmtKind::Assign || s.kind == StmtKind::Delete)
      for (ExprId target : s.list) add_targets(target, s.kind == StmtKind::Assign ? kFree : kFixed);
    if (s.kind == StmtKind::AugAssign || s.kind == StmtKind::AnnAssign ||
        s.kind == StmtKind::TypeAlias)
      add_targets(s.e[0], kFixed);
    if (s.kind == StmtKind::For) add_targets(s.e[0], kFree);
    if (s.kind == StmtKind::With)
      for (std::size_t i = 1; i < s.list.size(); i += 2) add_targets(s.list[i], kFree);
  }

  void statement(StmtId id) {
    const Stmt s = ast_[id];
    const bool fast = s.flag == static_cast<std::uint8_t>(NameScope::Fast) ||
                      s.flag == static_cast<std::uint8_t>(NameScope::Deref);
    if (s.kind == StmtKind::FunctionDef || s.kind == StmtKind::ClassDef) {
      // The name is the function's own, too.
      if (odd(s.a) && !r_.text(StrId(s.a)).starts_with('<')) refuse("a function or a class");
      if (s.kind == StmtKind::FunctionDef) refuse_parameters(s.function);
    } else if (s.kind == StmtKind::Handler) {
      if (odd(s.a) && !fast) refuse("what an `except` binds");
    } else if (s.kind == StmtKind::Import && s.extra.size() == 2 && s.extra[1] != UINT32_MAX &&
               odd(s.extra[1]) && dotted(s.extra[0])) {
      import_as(id, s);
    } else if (s.kind == StmtKind::Import || s.kind == StmtKind::ImportFrom) {
      if (s.kind == StmtKind::ImportFrom && s.a != UINT32_MAX && !dotted(s.a)) refuse("a module");
      for (std::size_t i = 0; i + 1 < s.extra.size(); i += 2) {
        const bool star = r_.text(StrId(s.extra[i])) == "*";
        if (!star && !(s.kind == StmtKind::Import ? dotted(s.extra[i]) : !odd(s.extra[i])))
          refuse("an import");
        if (s.extra[i + 1] != UINT32_MAX && odd(s.extra[i + 1])) refuse("an import");
      }
    } else if (s.kind == StmtKind::Assign) {
      if (s.list.size() == 1 && is_odd_attribute(s.list[0])) store(id);
    } else if (s.kind == StmtKind::Delete && s.list.size() == 1 && is_odd_attribute(s.list[0])) {
      const Expr target = ast_[s.list[0]];
      to_call(id, call("delattr", {target.kids[0], text(target.a)}, target.origin));
    }
  }

  bool dotted(std::uint32_t name) const {
    return is_writable_dotted_name(r_.text(StrId(name)), r_.module.version);
  }
  bool is_odd_attribute(ExprId id) const {
    return ast_[id].kind == ExprKind::Attribute && odd(ast_[id].a);
  }

  void to_call(StmtId id, ExprId call) {
    Stmt& s = ast_[id];
    s.kind = StmtKind::Expr;
    s.list = {};
    s.e[0] = call;
  }

  /// `import a.b as x`: `exec(compile('import a.b as x', '', 'exec').replace(co_names=('a.b', 'b',
  /// '…')))`, with `globals()` for a global of a function.
  void import_as(StmtId id, const Stmt& s) {
    constexpr std::uint8_t kLazy = 1;
    if (!r_.object.version.has_positional_only() || s.flag == kLazy) refuse("an import");
    const std::string_view module = r_.text(StrId(s.extra[0]));
    std::vector<std::string_view> names = {module};
    for (std::size_t dot = module.find('.'); dot != module.npos; dot = module.find('.', dot + 1)) {
      const std::size_t end = module.find('.', dot + 1);
      names.push_back(module.substr(dot + 1, end == module.npos ? end : end - dot - 1));
    }
    const auto taken = [&](std::string_view name) {
      return std::ranges::find(names, name) != names.end();
    };
    for (std::size_t i = 1; i < names.size(); ++i)  // co_names has each once
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
          names.begin() + static_cast<std::ptrdiff_t>(i))
        refuse("an import");
    std::string as = "x";
    while (taken(as)) as += 'x';
    ExprIds items;
    for (const std::string_view name : names) items.push_back(text(name));
    items.push_back(text(s.extra[1]));
    const bool global = (r_.object.flags & kOptimized) || is_declared_global(s.extra[1]);
    const std::string source = "import " + std::string(module) + " as " + as;
    to_call(id, run("exec", r_.module.arena.copy_string(source), items, global, s.origin));
  }

  bool is_declared_global(std::uint32_t name) const {
    const auto& outer = ast_.bodies[r_.code.index].outer_globals;
    return std::ranges::find(r_.globals, StrId(name)) != r_.globals.end() ||
           std::ranges::find(outer, StrId(name)) != outer.end();
  }

  /// `o.x = v`, where v is evaluated before o: `(lambda value, to: setattr(to, 'x', value))(v, o)`.
  void store(StmtId id) {
    const Stmt s = ast_[id];
    const Expr target = ast_[s.list[0]];
    const ExprId object = target.kids[0], value = s.e[0];
    const bool in_any_order = ast_[value].kind == ExprKind::Constant ||
                              (is_variable(ast_[object]) && is_variable(ast_[value]));
    if (in_any_order) {
      to_call(id, call("setattr", {object, text(target.a), value}, target.origin));
      return;
    }
    const StrId names[] = {r_.module.intern("value"), r_.module.intern("to")};
    Function f;
    for (StrId name : names)
      f.parameters.push_back({name, ParamKind::Positional, ExprId::none(), ExprId::none()});
    ast_.functions.push_back(f);
    const ExprId inner =
        call_of(builtin(ast_, "setattr"),
                {ast_.name(names[1]), text(target.a), ast_.name(names[0])}, target.origin);
    const ExprId lambda =
        ast_.expr(ExprKind::Lambda, {inner}, static_cast<std::uint32_t>(ast_.functions.size() - 1));
    to_call(id, ast_.expr(ExprKind::Call, {lambda, value, object}, UINT32_MAX, 0, target.origin));
  }

  void expression(ExprId id) {
    const Expr e = ast_[id];
    const auto target = targets_.find(id.index);
    const bool stored = target != targets_.end();
    if (e.kind == ExprKind::Attribute) {
      if (!odd(e.a) || (!stored && is_debug_name(r_.text(StrId(e.a))))) return;
      if (!stored)
        become(id, call("getattr", {e.kids[0], text(e.a)}, e.origin));
      else
        refuse("an attribute that is stored with others");
    } else if (e.kind == ExprKind::Name) {
      if (is_variable(e) || !odd(e.a)) return;
      if (e.op == static_cast<std::uint8_t>(NameScope::ClassDeref)) refuse("a variable of a class");
      if (!stored)
        become(id, load(e));
      else if (target->second == kFree)
        become(id, ast_.expr(ExprKind::Subscript, {call(space(e), {}, e.origin), text(e.a)},
                             UINT32_MAX, 0, e.origin));
      else
        refuse("what is bound or deleted so");
    } else if (e.kind == ExprKind::Lambda) {
      refuse_parameters(e.a);
    } else if (e.kind == ExprKind::MatchStar || e.kind == ExprKind::MatchAs ||
               e.kind == ExprKind::MatchMapping) {
      if (odd(e.a) && e.op != static_cast<std::uint8_t>(NameScope::Fast) &&
          e.op != static_cast<std::uint8_t>(NameScope::Deref))
        refuse("what a pattern binds");
    } else if (e.kind == ExprKind::MatchClass) {
      for (std::uint32_t name : e.extra)
        if (odd(name)) refuse("an attribute in a pattern");
    } else if (e.kind == ExprKind::Super || e.kind == ExprKind::ImportedName ||
               e.kind == ExprKind::ImportModule) {
      if (e.a != UINT32_MAX && odd(e.a) && !dotted(e.a)) refuse("this");
    }
  }

  static std::string_view space(const Expr& e) {
    return e.op == static_cast<std::uint8_t>(NameScope::Global) ? "globals" : "locals";
  }

  /// `eval(compile('x', '', 'eval').replace(co_names=('…',)), globals())`: looks where the bytecode
  /// looks, also among the builtins, and raises the same NameError.
  /// Where the module binds it before all else, `globals()['…']`.
  ExprId load(const Expr& e) {
    if (e.op == static_cast<std::uint8_t>(NameScope::Global) && is_first_name(e.a))
      return ast_.expr(ExprKind::Subscript, {call("globals", {}, e.origin), text(e.a)}, UINT32_MAX,
                       0, e.origin);
    if (!r_.object.version.has_positional_only()) refuse("a global");  // `replace` came with 3.8
    return run("eval", "x", {text(e.a)}, e.op == static_cast<std::uint8_t>(NameScope::Global),
               e.origin);
  }

  /// `eval(compile('…', '', 'eval').replace(co_names=(…)))`, or exec.
  ExprId run(std::string_view how, std::string_view source, const ExprIds& co_names, bool global,
             Origin origin) {
    const ExprId code = call("compile", {text(source), text(""), text(how)}, origin);
    const ExprId names = ast_.expr(ExprKind::Tuple, co_names);
    const ExprId keyword =
        ast_.expr(ExprKind::Keyword, {names}, r_.module.intern("co_names").index);
    const ExprId replace =
        ast_.expr(ExprKind::Attribute, {code}, r_.module.intern("replace").index);
    const ExprId changed = ast_.expr(ExprKind::Call, {replace, keyword});
    if (global) return call(how, {changed, call("globals", {}, origin)}, origin);
    return call(how, {changed}, origin);
  }

  bool is_first_name(std::uint32_t name) {
    if (!(r_.object.flags & kOptimized)) return false;
    if (ast_.first_names.empty()) ast_.first_names = find_first_names(r_.module);
    return ast_.first_names.contains(name);
  }

  void become(ExprId id, ExprId other) { ast_[id] = Expr(ast_[other]); }

  ExprId text(std::string_view value) {
    Const c;
    c.kind = ConstKind::Str;
    c.text = value;
    return ast_.constant(r_.module.add(c));
  }
  ExprId text(std::uint32_t name) { return text(r_.text(StrId(name))); }

  ExprId call(std::string_view name, std::initializer_list<ExprId> arguments, Origin origin) {
    return call_of(builtin(ast_, name, r_.code), arguments, origin);
  }
  ExprId call_of(ExprId callee, std::initializer_list<ExprId> arguments, Origin origin) {
    std::vector<ExprId> kids = {callee};
    kids.insert(kids.end(), arguments.begin(), arguments.end());
    return ast_.expr(ExprKind::Call, kids, UINT32_MAX, 0, origin);
  }

  Rewriter& r_;
  Ast& ast_;
  std::unordered_map<std::uint32_t, Target> targets_;
};

}  // namespace

void reach_odd_names(Rewriter& r) {
  if (!r.ast.renames && r.role != Role::GenericScope) Reaching(r).run();
}

}  // namespace depyf
