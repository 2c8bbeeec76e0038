#include "scopes/scopes.h"

#include <algorithm>
#include <optional>

#include "ast/walk.h"

namespace depyf {
namespace {

constexpr std::uint16_t kOwned = kBound | kParameter;

bool is_function_like(ScopeKind kind) {
  return kind != ScopeKind::Module && kind != ScopeKind::Class;
}

/// Collects the scopes, outer ones first, and what each says of its names.
class Collector {
 public:
  explicit Collector(const Ast& ast) : ast_(ast), module_(*ast.module) {}

  ScopeTree run(CodeId root, bool function) {
    const std::uint32_t outermost = open(ScopeKind::Module, UINT32_MAX, CodeId::none());
    if (!function) {
      tree_.scopes[outermost].code = root;
      tree_.scopes[outermost].checked = !ast_.bodies[root.index].rebuilt;
      statements(ast_.bodies[root.index].stmts, outermost);
    } else {
      // What the function takes from around it is bound there.
      const std::uint32_t around = open(ScopeKind::Function, outermost, CodeId::none());
      for (const Slot& slot : module_[root].slots)
        if (slot.kind & kFree) add(around, slot.name.index, kBound);
      const bool in_class = (module_[root].flags & kOptimized) == 0;
      const std::uint32_t own =
          open(in_class ? ScopeKind::Class : ScopeKind::Function, around, root);
      for (const Slot& slot : module_[root].slots.first(
               std::min<std::size_t>(module_[root].slots.size(), module_[root].parameter_count())))
        add(own, slot.name.index, kParameter);
      statements(ast_.bodies[root.index].stmts, own);
    }
    while (!bodies_.empty()) {
      const Nested next = bodies_.back();
      bodies_.pop_back();
      statements(next.body, next.scope);
    }
    return std::move(tree_);
  }

 private:
  struct Work {
    ExprId expr;
    std::uint32_t scope;
  };
  struct Nested {
    std::span<const StmtId> body;
    std::uint32_t scope;
  };

  std::uint32_t open(ScopeKind kind, std::uint32_t around, CodeId code) {
    Scope scope;
    scope.kind = kind;
    scope.around = around;
    scope.code = code;
    if (code && code.index < module_.codes.size()) scope.name = module_[code].name;
    if (around != UINT32_MAX) {
      scope.mangles = tree_.scopes[around].mangles;
      scope.header = tree_.scopes[around].header;
    }
    tree_.scopes.push_back(std::move(scope));
    return static_cast<std::uint32_t>(tree_.scopes.size() - 1);
  }

  /// `__x` in class C is `_C__x`. In the header of a generic class its type parameters alone are.
  std::uint32_t mangled(std::uint32_t scope, std::uint32_t name) {
    const StrId within = tree_.scopes[scope].mangles;
    if (!within) return name;
    const std::string_view text = module_[StrId(name)];
    if (text.size() < 2 || text[0] != '_' || text[1] != '_' || text.ends_with("__") ||
        text.find('.') != text.npos)
      return name;
    std::string_view prefix = module_[within];
    while (prefix.starts_with('_')) prefix.remove_prefix(1);
    if (prefix.empty()) return name;
    const std::uint32_t full = module_.intern("_" + std::string(prefix) + std::string(text)).index;
    const std::uint32_t header = tree_.scopes[scope].header;
    return header == UINT32_MAX || tree_.scopes[header].symbols.at(full) ? full : name;
  }

  void add(std::uint32_t scope, std::uint32_t name, std::uint16_t flags) {
    tree_.scopes[scope].symbols[name].flags |= flags;
  }
  void note(std::uint32_t scope, std::uint32_t name, std::uint16_t flags) {
    const std::uint32_t full = mangled(scope, name);
    add(scope, full, flags);
    if (flags & kDeclaredGlobal) add(0, full, kDeclaredGlobal);
  }
  void use_global(std::uint32_t scope, std::string_view name) {
    note(scope, module_.intern(name).index, kUsed | kMeantGlobal);
  }
  void visit(ExprId id, std::uint32_t scope) {
    if (id && ast_[id].kind != ExprKind::Constant) work_.push_back({id, scope});
  }
  /// Scopes are opened in the order of the text.
  void visit_all() {
    while (!work_.empty()) {
      const Work next = work_.back();
      work_.pop_back();
      expression(next.expr, next.scope);
    }
  }

  /// Binds the names of a target; what stands inside it is evaluated.
  void bind(ExprId target, std::uint32_t scope) {
    SmallVector<ExprId, 16> open{target};
    while (!open.empty()) {
      const ExprId id = open.back();
      open.pop_back();
      if (!id) continue;
      const Expr& e = ast_[id];
      if (e.kind == ExprKind::Name) {
        note(scope, e.a, kBound);
      } else if (e.kind == ExprKind::Tuple || e.kind == ExprKind::List ||
                 e.kind == ExprKind::Starred) {
        for (std::size_t i = e.kids.size(); i-- > 0;) open.push_back(e.kids[i]);
      } else {
        visit(id, scope);
      }
    }
  }

  /// The walrus of a comprehension binds in the first scope around it that is none.
  void bind_walrus(std::uint32_t name, std::uint32_t scope) {
    std::uint32_t at = scope;
    while (tree_.scopes[at].kind == ScopeKind::Comprehension) at = tree_.scopes[at].around;
    const std::uint32_t full = mangled(scope, name);
    if (at == scope) {
      add(scope, full, kBound);
      return;
    }
    const Symbol* known = tree_.scopes[at].symbols.at(full);
    const bool global =
        tree_.scopes[at].kind == ScopeKind::Module || (known && (known->flags & kDeclaredGlobal));
    if (global) {
      add(0, full, kDeclaredGlobal);
    } else {
      add(at, full, kBound);
    }
    add(scope, full, global ? kDeclaredGlobal : kDeclaredNonlocal);
  }

  // --- statements

  void statements(std::span<const StmtId> body, std::uint32_t scope) {
    StmtIds all;
    collect_statements(ast_, body, all);
    // Declarations first: a walrus in a comprehension asks for them.
    for (StmtId id : all) {
      const Stmt& s = ast_[id];
      if (s.kind != StmtKind::Global && s.kind != StmtKind::Nonlocal) continue;
      for (std::uint32_t name : s.extra)
        note(scope, name, s.kind == StmtKind::Global ? kDeclaredGlobal : kDeclaredNonlocal);
    }
    for (StmtId id : all) {
      statement(ast_[id], scope);
      visit_all();
    }
  }

  void statement(const Stmt& s, std::uint32_t scope) {
    switch (s.kind) {
      case StmtKind::FunctionDef:
        function(s, scope);
        return;
      case StmtKind::ClassDef:
        class_(s, scope);
        return;
      case StmtKind::TypeAlias: {
        bind(s.e[0], scope);
        const std::uint32_t own = type_parameters(s.type_params, scope);
        visit(s.e[1], open(ScopeKind::Annotation, own, CodeId::none()));
        return;
      }
      case StmtKind::Assign:
      case StmtKind::Delete:
        for (ExprId target : s.list) bind(target, scope);
        visit(s.e[0], scope);
        return;
      case StmtKind::AugAssign:
      case StmtKind::For:
        bind(s.e[0], scope);
        visit(s.e[1], scope);
        return;
      case StmtKind::AnnAssign:
        // `(x): int` binds nothing.
        if (!(s.flag & 1) || s.e[2] || ast_[s.e[0]].kind != ExprKind::Name) bind(s.e[0], scope);
        visit(s.e[2], scope);
        annotation(s.e[1], scope);
        return;
      case StmtKind::With:
        for (std::size_t i = 0; i < s.list.size(); ++i)
          i % 2 ? bind(s.list[i], scope) : visit(s.list[i], scope);
        return;
      case StmtKind::Handler:
        if (s.a != UINT32_MAX) note(scope, s.a, kBound);
        visit(s.e[0], scope);
        return;
      case StmtKind::Import:
      case StmtKind::ImportFrom:
        for (std::size_t i = 0; i + 1 < s.extra.size(); i += 2) {
          std::uint32_t name = s.extra[i + 1] != UINT32_MAX ? s.extra[i + 1] : s.extra[i];
          if (s.kind == StmtKind::Import && s.extra[i + 1] == UINT32_MAX) {
            const std::string_view dotted = module_[StrId(name)];
            if (const auto dot = dotted.find('.'); dot != dotted.npos)
              name = module_.intern(dotted.substr(0, dot)).index;
          }
          if (module_[StrId(name)] != "*") note(scope, name, kBound);
        }
        return;
      case StmtKind::Append:
      case StmtKind::ImportStar:
      case StmtKind::Return:
      case StmtKind::While:
      case StmtKind::If:
      case StmtKind::Match:
      case StmtKind::Case:
      case StmtKind::Raise:
      case StmtKind::Assert:
      case StmtKind::Expr:
        for (ExprId e : s.e) visit(e, scope);
        for (ExprId e : s.list) visit(e, scope);
        return;
      case StmtKind::Global:
      case StmtKind::Nonlocal:
      case StmtKind::Try:
      case StmtKind::Pass:
      case StmtKind::Break:
      case StmtKind::Continue:
      case StmtKind::Comment:
        return;
    }
  }

  /// Up to 3.13 an annotation is evaluated where it stands; later in a scope of its own, and in
  /// functions never.
  void annotation(ExprId id, std::uint32_t scope) {
    if (!id || texts_annotations(scope)) return;
    if (!defers_annotations(module_)) {
      visit(id, scope);
    } else if (!is_function_like(tree_.scopes[scope].kind)) {
      visit(id, open(ScopeKind::Annotation, scope, CodeId::none()));
      // One scope of CPython has all annotations of a body.
      std::uint32_t& first = tree_.scopes[scope].annotations;
      first = std::min(first, static_cast<std::uint32_t>(tree_.scopes.size() - 1));
      tree_.scopes.back().seen_from = first;
    }
  }

  /// Annotations are texts: `from __future__ import annotations`.
  bool texts_annotations(std::uint32_t scope) const {
    const CodeId code = tree_.scopes[scope].code;
    return code && future_annotations(module_[code]);
  }

  /// `class_name`: of the class that has them.
  std::uint32_t type_parameters(const std::vector<TypeParam>& list, std::uint32_t scope,
                                StrId class_name = StrId::none()) {
    if (list.empty()) return scope;
    const std::uint32_t own = open(ScopeKind::TypeParameters, scope, CodeId::none());
    if (class_name) {
      tree_.scopes[own].mangles = class_name;
      tree_.scopes[own].header = UINT32_MAX;
    }
    for (const TypeParam& p : list) note(own, p.name.index, kBound);
    if (class_name) tree_.scopes[own].header = own;
    for (const TypeParam& p : list) {
      for (ExprId value : {p.bound, p.default_value})
        if (value) visit(value, open(ScopeKind::Annotation, own, CodeId::none()));
    }
    return own;
  }
  std::uint32_t type_parameters(std::uint32_t list, std::uint32_t scope,
                                StrId class_name = StrId::none()) {
    return list < ast_.type_param_lists.size()
               ? type_parameters(ast_.type_param_lists[list], scope, class_name)
               : scope;
  }

  void parameters(const Function& f, std::uint32_t defaults, std::uint32_t annotations,
                  std::uint32_t own) {
    for (const Parameter& p : f.parameters) {
      note(own, p.name.index, kParameter);
      visit(p.default_value, defaults);
      if (p.annotation) visit(p.annotation, annotations);
    }
  }

  void function(const Stmt& s, std::uint32_t scope) {
    const Function& f = ast_.functions[s.function];
    note(scope, s.a, kBound);
    for (ExprId decorator : s.list) visit(decorator, scope);
    for (const Parameter& p : f.parameters) visit(p.default_value, scope);
    visit_all();
    const std::uint32_t around = type_parameters(f.type_params, scope);
    const std::uint32_t own = open(ScopeKind::Function, around, f.code);
    tree_.scopes[own].name = StrId(s.a);
    const bool annotated =
        s.e[0] || std::any_of(f.parameters.begin(), f.parameters.end(),
                              [](const Parameter& p) { return p.annotation.valid(); });
    const bool shown = annotated && !(f.code && future_annotations(module_[f.code]));
    std::uint32_t annotations = around;
    if (shown && defers_annotations(module_))
      annotations = open(ScopeKind::Annotation, around, CodeId::none());
    for (const Parameter& p : f.parameters) {
      note(own, p.name.index, kParameter);
      if (shown) visit(p.annotation, annotations);
    }
    if (shown) visit(s.e[0], annotations);
    bodies_.push_back({s.body, own});
    tree_.scopes[own].checked = !is_rebuilt(f.code);
  }

  bool is_rebuilt(CodeId code) const { return code && ast_.bodies[code.index].rebuilt; }

  void class_(const Stmt& s, std::uint32_t scope) {
    note(scope, s.a, kBound);
    for (std::uint32_t decorator : s.extra) visit(ExprId(decorator), scope);
    visit_all();
    const std::uint32_t around = type_parameters(s.type_params, scope, StrId(s.a));
    for (ExprId base : s.list) visit(base, around);
    const CodeId code =
        s.function < ast_.functions.size() ? ast_.functions[s.function].code : CodeId::none();
    const std::uint32_t own = open(ScopeKind::Class, around, code);
    tree_.scopes[own].name = tree_.scopes[own].mangles = StrId(s.a);
    tree_.scopes[own].header = UINT32_MAX;
    tree_.scopes[own].checked = !is_rebuilt(code);
    bodies_.push_back({s.body, own});
  }

  // --- expressions

  void expression(ExprId id, std::uint32_t scope) {
    const Expr& e = ast_[id];
    switch (e.kind) {
      case ExprKind::Name:
        name(e, scope);
        return;
      case ExprKind::NamedExpr:
        bind_walrus(ast_[e.kids[0]].a, scope);
        visit(e.kids[1], scope);
        return;
      case ExprKind::Lambda: {
        const Function& f = ast_.functions[e.a];
        const std::uint32_t own = open(ScopeKind::Lambda, scope, f.code);
        tree_.scopes[own].checked = !is_rebuilt(f.code);
        parameters(f, scope, scope, own);
        visit(e.kids[0], own);
        return;
      }
      case ExprKind::ListComp:
      case ExprKind::SetComp:
      case ExprKind::DictComp:
      case ExprKind::GeneratorExp:
        comprehension(e, scope);
        return;
      case ExprKind::CellRef:
        note(open(ScopeKind::Lambda, scope, CodeId::none()), e.a, kUsed);
        return;
      case ExprKind::MatchAs:
      case ExprKind::MatchStar:
      case ExprKind::MatchMapping:
        if (e.a != UINT32_MAX) note(scope, e.a, kBound);
        break;
      case ExprKind::ImportModule:
        use_global(scope, "__import__");
        break;
      case ExprKind::LocalsDict:
        use_global(scope, "locals");
        break;
      case ExprKind::ClassBuilder:
        use_global(scope, "__build_class__");
        break;
      case ExprKind::Super:
        super(scope);
        if (!(e.op & 2)) return;  // the arguments are implied
        break;
      case ExprKind::Common:
        use_global(scope, common_name(static_cast<CommonConstant>(e.op)));
        break;
      case ExprKind::Constant:
      case ExprKind::Attribute:
      case ExprKind::Subscript:
      case ExprKind::Slice:
      case ExprKind::Starred:
      case ExprKind::Call:
      case ExprKind::Keyword:
      case ExprKind::Binary:
      case ExprKind::Unary:
      case ExprKind::BoolOp:
      case ExprKind::Compare:
      case ExprKind::IfExp:
      case ExprKind::Tuple:
      case ExprKind::List:
      case ExprKind::Set:
      case ExprKind::Dict:
      case ExprKind::Comprehension:
      case ExprKind::Await:
      case ExprKind::Yield:
      case ExprKind::YieldFrom:
      case ExprKind::JoinedStr:
      case ExprKind::FormattedValue:
      case ExprKind::TemplateStr:
      case ExprKind::Interpolation:
      case ExprKind::FunctionValue:
      case ExprKind::Intrinsic:
      case ExprKind::ImportedName:
      case ExprKind::Raw:
      case ExprKind::MatchValue:
      case ExprKind::MatchSingleton:
      case ExprKind::MatchSequence:
      case ExprKind::MatchClass:
      case ExprKind::MatchOr:
        break;
    }
    for (std::size_t i = e.kids.size(); i-- > 0;) visit(e.kids[i], scope);
  }

  /// The builtin that the text of a constant names; of those that are written otherwise, none.
  static std::string_view common_name(CommonConstant which) {
    return which > CommonConstant::BuiltinFrozenset ? "AssertionError"
                                                    : common_constant_text(which);
  }

  void name(const Expr& e, std::uint32_t scope) {
    const bool global = static_cast<NameScope>(e.op) == NameScope::Global;
    // Most names have just been met in the same scope.
    if (last_use_.size() <= e.a) last_use_.resize(module_.strings.size());
    const std::uint32_t use = 2 * scope + global + 1;
    if (last_use_[e.a] == use) return;
    last_use_[e.a] = use;
    note(scope, e.a, static_cast<std::uint16_t>(kUsed | (global ? kMeantGlobal : 0)));
    if (is_function_like(tree_.scopes[scope].kind) && module_[StrId(e.a)] == "super")
      add(scope, module_.intern("__class__").index, kUsed);
  }

  void super(std::uint32_t scope) {
    note(scope, module_.intern("super").index, kUsed);
    if (is_function_like(tree_.scopes[scope].kind))
      add(scope, module_.intern("__class__").index, kUsed);
  }

  void comprehension(const Expr& e, std::uint32_t scope) {
    // Without a code object of its own it is part of the code around it.
    const bool inlined = e.a == UINT32_MAX;
    const CodeId code = inlined ? tree_.scopes[scope].code : CodeId(e.a);
    const std::uint32_t own = open(ScopeKind::Comprehension, scope, code);
    tree_.scopes[own].generator = e.kind == ExprKind::GeneratorExp;
    tree_.scopes[own].inlined = inlined;
    tree_.scopes[own].checked = inlined ? tree_.scopes[scope].checked : !is_rebuilt(code);
    bool first = true;
    for (ExprId kid : e.kids) {
      if (!kid) continue;
      if (ast_[kid].kind != ExprKind::Comprehension) {
        visit(kid, own);
        continue;
      }
      const auto parts = ast_[kid].kids;
      bind(parts[0], own);
      for (std::size_t i = 1; i < parts.size(); ++i) visit(parts[i], first && i == 1 ? scope : own);
      first = false;
    }
  }

  const Ast& ast_;
  Module& module_;
  ScopeTree tree_;
  std::vector<Work> work_;
  std::vector<Nested> bodies_;
  std::vector<std::uint32_t> last_use_;  // by StrId: the scope and kind of the last load, and one
};

/// Where each name is found, from what the scopes around say.
class Resolver {
 public:
  Resolver(ScopeTree& tree, const Module& module) : scopes_(tree.scopes), module_(module) {}

  void run() {
    find_brought();
    for (std::uint32_t i = 0; i < scopes_.size(); ++i)
      for (const auto& [name, symbol] : scopes_[i].symbols.entries())
        const_cast<Symbol&>(symbol).place = resolve(i, name, symbol.flags);
    add_brought();
    // What inner scopes take from outer ones passes through all in between.
    for (std::uint32_t i = static_cast<std::uint32_t>(scopes_.size()); i-- > 1;)
      for (const auto& [name, symbol] : scopes_[i].symbols.entries())
        if (symbol.place == NamePlace::Free) pass_on(scopes_[i].around, name);
  }

 private:
  NamePlace resolve(std::uint32_t scope, std::uint32_t name, std::uint16_t flags) const {
    if (flags & kDeclaredGlobal) return NamePlace::GlobalExplicit;
    if (flags & kDeclaredNonlocal) return NamePlace::Free;
    if (flags & kOwned) return NamePlace::Local;
    return outside(scope, name);
  }

  /// Annotations and type parameters see the class around them, and what it binds comes before
  /// type parameters that are nearer.
  std::optional<NamePlace> in_class(std::uint32_t scope, std::uint32_t name) const {
    std::uint32_t below = scope;
    while (scopes_[scope].kind == ScopeKind::Annotation ||
           scopes_[scope].kind == ScopeKind::TypeParameters) {
      below = scope;
      scope = scopes_[scope].around;
    }
    if (scopes_[scope].kind != ScopeKind::Class || below == scope) return std::nullopt;
    const Symbol* symbol = scopes_[scope].symbols.at(name);
    if (!symbol && brought(scope, name, below)) return NamePlace::GlobalImplicit;
    if (!symbol) return std::nullopt;
    if (symbol->flags & kDeclaredGlobal) return NamePlace::GlobalExplicit;
    if ((symbol->flags & kOwned) && !(symbol->flags & kDeclaredNonlocal))
      return NamePlace::GlobalImplicit;
    return std::nullopt;
  }

  NamePlace outside(std::uint32_t scope, std::uint32_t name) const {
    if (const auto place = in_class(scope, name)) return *place;
    for (std::uint32_t at = scopes_[scope].around; at != UINT32_MAX; at = scopes_[at].around) {
      const Scope& around = scopes_[at];
      const Symbol* symbol = around.symbols.at(name);
      if (around.kind == ScopeKind::Class) {
        if (module_[StrId(name)] == "__class__" && scope != at) return NamePlace::Free;
      } else if (around.kind != ScopeKind::Module && symbol) {
        if (symbol->flags & kDeclaredGlobal) return NamePlace::GlobalImplicit;
        if (symbol->flags & (kOwned | kDeclaredNonlocal)) return NamePlace::Free;
      }
    }
    return NamePlace::GlobalImplicit;
  }

  /// A function or class takes over the names of its inlined comprehensions that it has not itself
  /// (inline_comprehension of Python/symtable.c).
  void find_brought() {
    std::vector<std::uint32_t> host(scopes_.size(), UINT32_MAX);
    for (std::uint32_t i = 0; i < scopes_.size(); ++i) {
      const Scope& scope = scopes_[i];
      if (!scope.inlined || scope.around == UINT32_MAX) continue;
      host[i] = scopes_[scope.around].inlined ? host[scope.around] : scope.around;
      if (host[i] == UINT32_MAX || scopes_[host[i]].kind == ScopeKind::Module) continue;
      for (const auto& [name, symbol] : scope.symbols.entries()) {
        Brought& first = brought_[host[i]][name];
        if (first.by == UINT32_MAX) first = {i, (symbol.flags & kOwned) != 0};
      }
    }
  }

  /// From 3.14 on those who see a class take such a variable for one of the class.
  bool brought(std::uint32_t scope, std::uint32_t name, std::uint32_t seer) const {
    if (!defers_annotations(module_)) return false;
    const FlatMap<Brought>* names = brought_.at(scope);
    const Brought* first = names ? names->at(name) : nullptr;
    return first && first->bound && first->by < std::min(seer, scopes_[seer].seen_from);
  }

  /// In a function such a variable is what functions beside the comprehension capture, of those
  /// that look for a variable of the name further out.
  void add_brought() {
    for (const auto& [host, names] : brought_.entries()) {
      Scope& scope = scopes_[host];
      if (scope.kind == ScopeKind::Class) continue;
      for (const auto& [name, first] : names.entries())
        if (first.bound && !scope.symbols.at(name)) scope.symbols[name].place = NamePlace::Local;
    }
  }

  void pass_on(std::uint32_t to, std::uint32_t name) {
    const std::string_view text = module_[StrId(name)];
    for (; scopes_[to].kind != ScopeKind::Module; to = scopes_[to].around) {
      Scope& scope = scopes_[to];
      const Symbol* known = scope.symbols.at(name);
      const bool binds = known && known->place == NamePlace::Local;
      if (scope.kind == ScopeKind::Class) {
        if (text == "__class__" || text == "__classdict__") return;
        // What is outside is still handed on.
        if (binds || (known && known->place == NamePlace::GlobalExplicit)) continue;
      }
      if (!known || known->place != NamePlace::Cell)
        scope.symbols[name].place = binds ? NamePlace::Cell : NamePlace::Free;
      return;
    }
  }

  struct Brought {
    std::uint32_t by = UINT32_MAX;  // the comprehension that first has the name
    bool bound = false;
  };

  std::vector<Scope>& scopes_;
  const Module& module_;
  FlatMap<FlatMap<Brought>> brought_;  // by class and name
};

}  // namespace

ScopeTree find_scopes(const Ast& ast, CodeId root, bool function) {
  ScopeTree tree = Collector(ast).run(root, function);
  Resolver(tree, *ast.module).run();
  return tree;
}

std::string to_text(const ScopeTree& tree, const Module& module, CodeId code) {
  static constexpr const char* kinds[] = {"module",        "class",           "function",  "lambda",
                                          "comprehension", "type parameters", "annotation"};
  static constexpr const char* places[] = {"local", "cell", "free", "global", "implicit global"};
  std::string out;
  for (std::uint32_t i = 0; i < tree.scopes.size(); ++i) {
    const Scope& scope = tree.scopes[i];
    if (code && code != module.root && scope.code != code) continue;
    const bool outermost = scope.around == UINT32_MAX;
    out += "scope " + std::to_string(i) + " " + kinds[static_cast<std::size_t>(scope.kind)];
    if (scope.name && !outermost) out += " " + std::string(module[scope.name]);
    if (!outermost) out += " in " + std::to_string(scope.around);
    if (scope.inlined) out += " (inlined)";
    out += '\n';
    std::vector<std::pair<std::string_view, NamePlace>> names;
    for (const auto& [name, symbol] : scope.symbols.entries())
      names.emplace_back(module[StrId(name)], symbol.place);
    std::sort(names.begin(), names.end());
    for (const auto& [name, place] : names)
      out += "  " + std::string(name) + ": " + places[static_cast<std::size_t>(place)] + '\n';
  }
  return out;
}

}  // namespace depyf
