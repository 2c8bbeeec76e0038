// `global`, `nonlocal`, and what unreachable code of the source leaves behind in a code object:
// variables that nothing binds, cells that nothing captures, generators without a `yield`.
#include <algorithm>
#include <unordered_set>

#include "ast/comprehension.h"
#include "bytecode/scan.h"
#include "opcode/op_set.h"
#include "rewrite/annotations.h"
#include "rewrite/rewriter.h"
#include "support/flat_map.h"

namespace depyf {
namespace {

enum Use : std::uint32_t {
  kLoadedFast = 1,
  kStoredFast = 2,
  kLoadedDeref = 4,
  kStoredDeref = 8,
  kLoadedGlobal = 16,
  kStoredGlobal = 32,
  kLoadedName = 64,
  kStoredName = 128,
  kCaptured = 256,
  kOwn = kLoadedFast | kStoredFast | kLoadedDeref | kStoredDeref,
  kStored = kStoredFast | kStoredDeref | kStoredGlobal | kStoredName,
};

std::uint32_t use_of(NameScope scope, bool stored) {
  static constexpr std::uint32_t loaded[] = {kLoadedFast, kLoadedDeref, kLoadedGlobal, kLoadedName,
                                             kLoadedDeref};  // by NameScope
  return loaded[static_cast<std::size_t>(scope)] << stored;
}

struct Uses {
  Rewriter& r;
  FlatMap<std::uint32_t>
      by_name{};  // StrId of the name as written -> Use bits; in order of appearance
  FlatMap<std::uint32_t> beside_comprehensions{};  // the same without what comprehensions bind for
                                                   // themselves; empty where there are none
  FlatMap<std::uint32_t>* into = &by_name;
  std::vector<StrId> walruses{};  // what those in comprehensions of a class or module bind
  bool comprehensions = false, yields = false;
  const bool plain_globals = loads_plain_globals();

  void add(std::uint32_t name, std::uint32_t use) { (*into)[name] |= use; }
  /// What a function inside does with a variable of this one is outside of comprehensions.
  void add_of_nested(StrId name, std::uint32_t use) {
    by_name[name.index] |= use;
    if (comprehensions) beside_comprehensions[name.index] |= use;
  }
  std::uint32_t of(StrId name) const {
    const std::uint32_t* use = by_name.at(name.index);
    return use ? *use : 0;
  }
  std::uint32_t outside(StrId name) const {
    if (!comprehensions) return of(name);
    const std::uint32_t* use = beside_comprehensions.at(name.index);
    return use ? *use : 0;
  }
  /// Most names of a module, and most globals of a function, say nothing of a declaration.
  void add_name(const Expr& e, bool stored) {
    const auto scope = static_cast<NameScope>(e.op);
    if (scope == NameScope::Name ? r.role == Role::Module
                                 : scope == NameScope::Global && !stored && plain_globals)
      return;
    add(e.a, use_of(scope, stored));
  }
  /// Each name that a target binds, in order.
  template <class Visit>
  void each_name(ExprId target, Visit visit) const {
    SmallVector<ExprId, 16> work = {target};
    while (!work.empty()) {
      const ExprId at = work.back();
      work.pop_back();
      if (!at) continue;
      const Expr& e = r.ast[at];
      if (e.kind == ExprKind::Name) visit(at);
      if (e.kind != ExprKind::Tuple && e.kind != ExprKind::List && e.kind != ExprKind::Starred)
        continue;
      for (std::size_t i = e.kids.size(); i-- > 0;) work.push_back(e.kids[i]);
    }
  }
  void add_target(ExprId target) {
    if (!target) return;
    const Expr& e = r.ast[target];
    if (e.kind == ExprKind::Name)
      add_name(e, true);
    else if (!e.kids.empty())
      each_name(target, [&](ExprId name) { add_name(r.ast[name], true); });
  }

  void statement(StmtId id) {
    const Stmt& s = r.ast[id];
    switch (s.kind) {
      case StmtKind::Assign:
      case StmtKind::Delete:
        for (ExprId target : s.list) add_target(target);
        break;
      case StmtKind::AugAssign:
      case StmtKind::AnnAssign:
      case StmtKind::For:
        add_target(s.e[0]);
        break;
      case StmtKind::With:
        for (std::size_t i = 1; i < s.list.size(); i += 2) add_target(s.list[i]);
        break;
      case StmtKind::Handler:
        if (s.a != UINT32_MAX) add(s.a, use_of(static_cast<NameScope>(s.flag), true));
        break;
      case StmtKind::FunctionDef:
      case StmtKind::ClassDef:
      case StmtKind::Return:
      case StmtKind::TypeAlias:
      case StmtKind::While:
      case StmtKind::If:
      case StmtKind::Match:
      case StmtKind::Raise:
      case StmtKind::Try:
      case StmtKind::Assert:
      case StmtKind::Import:
      case StmtKind::ImportFrom:
      case StmtKind::Global:
      case StmtKind::Nonlocal:
      case StmtKind::Expr:
      case StmtKind::Pass:
      case StmtKind::Break:
      case StmtKind::Continue:
      case StmtKind::Comment:
      case StmtKind::Case:
      case StmtKind::Append:
      case StmtKind::ImportStar:
        break;
    }
  }

  void expression(ExprId id, const Expr& e, bool in_comprehension) {
    if (e.kind == ExprKind::Name) {
      if (!in_comprehension || r.role == Role::Module ||
          static_cast<NameScope>(e.op) != NameScope::Global)
        add_name(e, false);
    } else if (e.kind == ExprKind::CellRef) {
      add(e.a, kCaptured);
    } else if (e.kind == ExprKind::NamedExpr || e.kind == ExprKind::Comprehension) {
      add_target(e.kids[0]);
      if (in_comprehension && e.kind == ExprKind::NamedExpr)
        walruses.push_back(StrId(r.ast[e.kids[0]].a));
    } else if (e.kind == ExprKind::MatchAs || e.kind == ExprKind::MatchStar ||
               e.kind == ExprKind::MatchMapping) {
      if (e.a != UINT32_MAX) add(e.a, use_of(static_cast<NameScope>(e.op), true));
    } else if (e.kind == ExprKind::Yield || e.kind == ExprKind::YieldFrom) {
      yields = true;
    } else if (e.kind == ExprKind::FunctionValue || e.kind == ExprKind::Await ||
               (e.kind == ExprKind::Call && r.function_code(e.kids[0]))) {
      r.makers.push_back(id);
    }
  }

  bool in_function() const {
    for (CodeId at = r.object.parent; at; at = r.module[at].parent)
      if (r.module[at].flags & kOptimized) return true;
    return false;
  }

  /// Is a global that is loaded nothing else, whatever is around? `super` beside `__class__`, which
  /// is free, tells of that.
  bool loads_plain_globals() const {
    if (r.role == Role::Module || r.role == Role::Class || in_function()) return false;
    return std::none_of(r.object.slots.begin(), r.object.slots.end(),
                        [](const Slot& slot) { return slot.kind & kFree; });
  }

  void collect() {
    StmtIds statements;
    collect_statements(r.ast, r.body, statements);
    for (StmtId id : statements) statement(id);
    if (!expressions_tell()) return;
    // Inside a class a comprehension's own scope has plain globals, so those say nothing of a
    // declaration. In a module those that its walruses bind need none.
    const bool split = r.role == Role::Class || r.role == Role::Module;
    ExprIds work;
    std::vector<ExprId> inside;
    for (StmtId id : statements) append_roots(r.ast, id, work);
    for (std::size_t next = 0; next < work.size(); ++next) {
      const Expr& e = r.ast[work[next]];
      if (e.kind == ExprKind::Name) {
        add_name(e, false);
        continue;
      }
      if (e.kind == ExprKind::Constant) continue;
      expression(work[next], e, false);
      if (is_comprehension(e.kind)) {
        comprehensions = true;
        if (split) {
          append_inside(e, inside, work);
          continue;
        }
      }
      for (ExprId kid : e.kids)
        if (kid) work.push_back(kid);
    }
    if (!inside.empty()) {
      std::erase(inside, ExprId::none());
      collect_below(r.ast, inside);
      for (ExprId id : inside) expression(id, r.ast[id], true);
    }
    if (!comprehensions || (r.role != Role::Function && r.role != Role::Class)) return;
    const std::size_t makers = r.makers.size();
    collect_outside(statements);
    r.makers.resize(makers);  // met again
  }

  /// Does the body read the name outside of comprehensions that are part of it?
  bool reads_by_itself(StrId name) {
    StmtIds statements;
    collect_statements(r.ast, r.body, statements);
    ExprIds work;
    for (StmtId id : statements) {
      const Stmt& s = r.ast[id];
      if (s.kind == StmtKind::Assign && s.list.size() == 1 &&
          r.ast[s.list[0]].kind == ExprKind::Name)
        work.push_back(s.e[0]);
      else
        append_roots(r.ast, id, work);
    }
    std::vector<ExprId> inside;
    for (std::size_t next = 0; next < work.size(); ++next) {
      const Expr& e = r.ast[work[next]];
      if (e.kind == ExprKind::Name && e.a == name.index) return true;
      if (is_comprehension(e.kind)) {
        append_inside(e, inside, work);
        continue;
      }
      for (ExprId kid : e.kids)
        if (kid) work.push_back(kid);
    }
    return false;
  }

  /// The parts of a comprehension, but for its first iterable, which is evaluated `around` it.
  void append_inside(const Expr& comprehension, std::vector<ExprId>& inside, ExprIds& around) {
    bool first = true;
    for (ExprId kid : comprehension.kids) {
      if (!kid || r.ast[kid].kind != ExprKind::Comprehension) {
        inside.push_back(kid);
        continue;
      }
      expression(kid, r.ast[kid], true);
      const auto parts = r.ast[kid].kids;
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (first && i == 1)
          around.push_back(parts[i]);
        else
          inside.push_back(parts[i]);
      first = false;
    }
  }

  /// May what expressions do with names matter beside what statements store? Not in a function that
  /// captures nothing, has a statement for each of its variables and no function around it whose
  /// variables it could mean.
  bool expressions_tell() const {
    constexpr std::uint64_t telling = mask(ExprKind::FunctionValue) | mask(ExprKind::Await) |
                                      mask(ExprKind::NamedExpr) | mask(ExprKind::Comprehension) |
                                      mask(ExprKind::MatchAs) | mask(ExprKind::MatchStar) |
                                      mask(ExprKind::MatchMapping) | mask(ExprKind::CellRef);
    if (r.role != Role::Function || (r.look().exprs & telling) != 0 ||
        (r.object.flags & (kGenerator | kAsyncGenerator)))
      return true;
    if (in_function()) return true;
    const std::uint64_t parameters = r.object.parameter_count();
    for (std::size_t i = 0; i < r.object.slots.size(); ++i) {
      const Slot& slot = r.object.slots[i];
      if (slot.kind & (kCell | kFree)) return true;
      if (i >= parameters &&
          !(of(unmangled(r.module, r.code, slot.name)) & (kStoredFast | kStoredDeref)))
        return true;
    }
    return false;
  }

  struct Scope {
    std::uint32_t around;
    std::vector<std::uint32_t> names;
  };

  /// Uses outside of comprehensions that are part of their function (3.12+): their variables are
  /// their own, but not in the first iterable.
  void collect_outside(std::span<const StmtId> statements) {
    into = &beside_comprehensions;
    for (StmtId id : statements) statement(id);
    std::vector<Scope> scopes(1);  // the first is the function's
    std::vector<std::pair<ExprId, std::uint32_t>> work;
    std::vector<ExprId> roots;
    for (StmtId id : statements) append_roots(r.ast, id, roots);
    for (ExprId id : roots) work.emplace_back(id, 0);
    while (!work.empty()) {
      const auto [id, scope] = work.back();
      work.pop_back();
      const Expr& e = r.ast[id];
      if (is_comprehension(e.kind)) {
        open_scope(e, scope, scopes, work);
        continue;
      }
      const bool named = e.kind == ExprKind::Name || e.kind == ExprKind::CellRef;
      if (!named || !binds(scopes, scope, e.a)) expression(id, e, false);
      for (ExprId kid : e.kids)
        if (kid) work.emplace_back(kid, scope);
    }
    into = &by_name;
  }

  static bool binds(const std::vector<Scope>& scopes, std::uint32_t scope, std::uint32_t name) {
    for (; scope != 0; scope = scopes[scope].around)
      if (std::find(scopes[scope].names.begin(), scopes[scope].names.end(), name) !=
          scopes[scope].names.end())
        return true;
    return false;
  }

  void open_scope(const Expr& comprehension, std::uint32_t around, std::vector<Scope>& scopes,
                  std::vector<std::pair<ExprId, std::uint32_t>>& work) const {
    const std::uint32_t own = static_cast<std::uint32_t>(scopes.size());
    scopes.push_back({around, {}});
    bool first = true;
    for (ExprId kid : comprehension.kids) {
      if (!kid) continue;
      if (r.ast[kid].kind != ExprKind::Comprehension) {
        work.emplace_back(kid, own);
        continue;
      }
      const auto parts = r.ast[kid].kids;
      each_name(parts[0], [&](ExprId name) { scopes[own].names.push_back(r.ast[name].a); });
      for (std::size_t i = 0; i < parts.size(); ++i)
        work.emplace_back(parts[i], first && i == 1 ? around : own);
      first = false;
    }
  }
};

/// Finds the locals of a function that it has in inlined comprehensions alone (3.12+): nothing else
/// accesses them but what clears them before a comprehension, and gives them back behind it and in
/// its handler (codegen_push_inlined_comprehension_locals of Python/codegen.c).
class ComprehensionVariables {
 public:
  explicit ComprehensionVariables(const CodeObject& code)
      : code_(code), variables_(code.slots.size()) {}

  std::vector<StrId> find() {
    std::vector<StrId> out;
    bool any = false;
    scan_instructions(code_, [&](const RawInstr& instr) {
      if (!clears(instr)) return;
      ++variables_[instr.operand].clears;
      any = true;
    });
    if (!any) return out;
    scan_exception_rows(code_, [&](const RawExceptionRow& row) { rows_.push_back(row); });
    find_handlers();
    scan_instructions(code_, [&](const RawInstr& instr) {
      const Action action = instr.info.action;
      if (action == Action::SlotPair) {
        access(instr.operand >> 4, instr.info.op, instr.unit);
        access(instr.operand & 15, Op(instr.info.aux), instr.unit);
      } else if ((action == Action::Slot || action == Action::SlotOrCell) &&
                 instr.info.op != Op::LOAD_FAST_AND_CLEAR) {
        access(instr.operand, instr.info.op, instr.unit);
      }
    });
    for (std::size_t i = code_.parameter_count(); i < variables_.size(); ++i) {
      const Variable& variable = variables_[i];
      // Each comprehension gives it back once.
      if (variable.clears != 0 && !variable.own && variable.stores <= variable.clears &&
          code_.slots[i].kind == kLocal)
        out.push_back(code_.slots[i].name);
    }
    return out;
  }

 private:
  struct Handler {
    std::uint32_t begin, end;  // it ends with a RERAISE
  };
  struct Variable {
    std::vector<std::uint32_t> handlers;  // of the comprehensions that clear it, in order
    std::size_t clears = 0;
    std::size_t stores = 0;  // outside of the comprehensions
    bool own = false;
  };
  /// A comprehension stands in no more regions than the parser would take.
  static constexpr int kMostRegions = 256;

  bool clears(const RawInstr& instr) const {
    return instr.info.op == Op::LOAD_FAST_AND_CLEAR && instr.operand < variables_.size();
  }

  /// The handler of a comprehension is that of what follows the loads and their SWAP.
  void find_handlers() {
    std::vector<std::uint32_t> fresh;
    scan_instructions(code_, [&](const RawInstr& instr) {
      if (clears(instr)) {
        fresh.push_back(instr.operand);
      } else if (instr.info.op != Op::SWAP && !fresh.empty()) {
        const std::uint32_t handler = handler_of(instr.unit);
        handlers_.push_back({handler, handler});
        for (std::uint32_t slot : fresh) variables_[slot].handlers.push_back(handler);
        fresh.clear();
      }
    });
    for (Variable& variable : variables_)
      std::sort(variable.handlers.begin(), variable.handlers.end());
    std::sort(handlers_.begin(), handlers_.end(),
              [](const Handler& a, const Handler& b) { return a.begin < b.begin; });
    auto next = handlers_.begin();
    scan_instructions(code_, [&](const RawInstr& instr) {
      if (instr.info.op != Op::RERAISE) return;
      for (; next != handlers_.end() && next->begin <= instr.unit; ++next) next->end = instr.unit;
    });
  }

  /// Where an exception at this code unit goes to.
  std::uint32_t handler_of(std::uint32_t unit) const {
    const auto after = std::upper_bound(
        rows_.begin(), rows_.end(), unit,
        [](std::uint32_t at, const RawExceptionRow& row) { return at < row.begin; });
    return after == rows_.begin() || unit >= (after - 1)->end
               ? UINT32_MAX
               : static_cast<std::uint32_t>((after - 1)->target);
  }

  bool in_handler(const Variable& variable, std::uint32_t unit) const {
    const auto after = std::upper_bound(
        handlers_.begin(), handlers_.end(), unit,
        [](std::uint32_t at, const Handler& handler) { return at < handler.begin; });
    return after != handlers_.begin() && unit < (after - 1)->end &&
           is_of(variable, (after - 1)->begin);
  }

  bool in_comprehension(const Variable& variable, std::uint32_t unit) const {
    for (int i = 0; i < kMostRegions && (unit = handler_of(unit)) != UINT32_MAX; ++i)
      if (is_of(variable, unit)) return true;
    return false;
  }

  static bool is_of(const Variable& variable, std::uint32_t handler) {
    return std::binary_search(variable.handlers.begin(), variable.handlers.end(), handler);
  }

  void access(std::uint32_t slot, Op op, std::uint32_t unit) {
    if (slot >= variables_.size() || variables_[slot].clears == 0) return;
    Variable& variable = variables_[slot];
    if (in_handler(variable, unit) || in_comprehension(variable, unit)) return;
    if (op == Op::STORE_FAST)
      ++variable.stores;
    else
      variable.own = true;
  }

  const CodeObject& code_;
  std::vector<Variable> variables_;
  std::vector<Handler> handlers_;  // of comprehensions, in order
  std::vector<RawExceptionRow> rows_;
};

/// Does the module's own code bind the name as one that nothing declares global? It would be
/// declared for the module, too, if anything inside declared it (see declared_inside). Loads say
/// less: from 3.13 on those in inlined comprehensions are as if nothing declared it.
bool undeclared_in_module(Rewriter& r, StrId name) {
  const CodeObject& root = r.module[r.module.root];
  if ((root.flags & kOptimized) || r.text(name).starts_with("__")) return false;  // mangled, maybe
  const auto before = [](StrId a, StrId b) { return a.index < b.index; };
  // Kept where functions keep theirs: a module has no variables.
  auto& names = r.ast.bodies[r.module.root.index].in_comprehensions;
  if (!names) {
    names.emplace();
    static constexpr OpSet kStores{Op::STORE_NAME, Op::DELETE_NAME};
    scan_instructions(root, [&](const RawInstr& instr) {
      if (kStores[instr.info.op] && instr.name() < root.names.size())
        names->push_back(root.names[instr.name()]);
    });
    std::sort(names->begin(), names->end(), before);
  }
  return std::binary_search(names->begin(), names->end(), name, before);
}

/// Does a function around the code have a variable of this name, which functions inside can mean?
bool enclosing_function_has(Rewriter& r, StrId name) {
  for (CodeId at = r.object.parent; at; at = r.module[at].parent) {
    const CodeObject& object = r.module[at];
    if (!(object.flags & kOptimized)) continue;
    const auto has = [&](const Slot& slot) { return slot.name == name; };
    if (std::none_of(object.slots.begin(), object.slots.end(), has)) continue;
    auto& own = r.ast.bodies[at.index].in_comprehensions;
    if (!own) own = ComprehensionVariables(object).find();
    if (std::find(own->begin(), own->end(), name) == own->end()) return true;
  }
  return false;
}

/// Is a free variable of `code` a type parameter? No `nonlocal` may name one.
bool is_type_parameter(const Module& module, CodeId code, StrId name) {
  for (CodeId at = module[code].parent; at; at = module[at].parent)
    for (const Slot& slot : module[at].slots)
      if (slot.name == name && (slot.kind & kCell))
        return role_of(module, at) == Role::GenericScope;
  return false;
}

/// A variable that the compiler makes. Of `__class__` those are the cell of a class and what its
/// methods see of it; a source may bind that name too.
bool compiler_name(std::string_view name, bool cell_of_class) {
  if (name.starts_with('.')) return true;
  if (!name.starts_with('_')) return false;
  return (name == "__class__" && cell_of_class) || name == "__classdict__" ||
         name == "__conditional_annotations__";
}

void add_once(std::vector<StrId>& list, StrId name) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

/// What functions and classes inside declare global: the compiler then takes the name for a
/// declared one at module level too (CPython, Python/symtable.c, symtable_add_def). Names that a
/// class may mangle are left out.
std::unordered_set<std::uint32_t> declared_inside(const Rewriter& r) {
  std::unordered_set<std::uint32_t> names;
  std::unordered_set<const StmtId*> seen;  // definitions may share a body
  std::vector<std::span<const StmtId>> bodies{r.body};
  while (!bodies.empty()) {
    const std::span<const StmtId> body = bodies.back();
    bodies.pop_back();
    if (body.empty() || !seen.insert(body.data()).second) continue;
    StmtIds statements;
    collect_statements(r.ast, body, statements);
    for (StmtId id : statements) {
      const Stmt& s = r.ast[id];
      if (s.kind == StmtKind::FunctionDef || s.kind == StmtKind::ClassDef) bodies.push_back(s.body);
      if (s.kind != StmtKind::Global) continue;
      for (std::uint32_t name : s.extra)
        if (!r.text(StrId(name)).starts_with("__")) names.insert(name);
    }
  }
  return names;
}

/// Does the code look names up in the class around it (3.12+)?
bool sees_class(const Module& module, CodeId code) {
  return std::any_of(module[code].slots.begin(), module[code].slots.end(), [&](const Slot& slot) {
    return (slot.kind & kFree) && module[slot.name] == "__classdict__";
  });
}

bool has_cell(const Rewriter& r, std::string_view name) {
  return std::any_of(r.object.slots.begin(), r.object.slots.end(), [&](const Slot& slot) {
    return (slot.kind & kCell) && r.text(slot.name) == name;
  });
}

/// What scopes of annotations and type parameters in a class take from the globals, though they see
/// the class: it declares these global.
std::vector<StrId> globals_of_annotations(const Rewriter& r) {
  std::vector<StrId> names;
  const bool seen =
      std::any_of(r.object.slots.begin(), r.object.slots.end(),
                  [&](const Slot& slot) { return r.text(slot.name) == "__classdict__"; });
  if (!seen) return names;
  // Code objects directly follow those in them.
  std::vector<bool> inside = {true};  // by the distance from the class
  for (std::uint32_t id = r.code.index; id-- > 0;) {
    const CodeObject& code = r.module[CodeId(id)];
    if (!code.parent || code.parent.index <= id || code.parent.index > r.code.index) break;
    inside.push_back(inside[r.code.index - code.parent.index] && sees_class(r.module, CodeId(id)));
  }
  for (std::size_t distance = inside.size(); distance-- > 1;) {
    if (!inside[distance]) continue;
    const CodeId id(r.code.index - static_cast<std::uint32_t>(distance));
    const CodeObject& code = r.module[id];
    scan_instructions(code, [&](const RawInstr& instr) {
      if (instr.info.op == Op::LOAD_GLOBAL && instr.name() < code.names.size())
        add_once(names, unmangled(r.module, id, code.names[instr.name()]));
    });
  }
  std::erase_if(names, [&](StrId name) { return r.text(name) == "AssertionError"; });
  return names;
}

/// Is the variable that the instruction loads last spelt `self`?
bool loads_self(const Module& module, const CodeObject& code, const RawInstr& raw) {
  const auto slot = [&](std::uint32_t index) {
    return index < code.slots.size() && module[code.slots[index].name] == "self";
  };
  const Action action = raw.info.action;
  if (action == Action::Slot || action == Action::SlotOrCell || action == Action::Deref)
    return slot(raw.operand);
  if (action == Action::SlotPair) return slot(raw.operand & 15);
  return action == Action::LoadGlobal && raw.name() < code.names.size() &&
         module[code.names[raw.name()]] == "self";
}

/// Where `self.x = …` sets an attribute that the class lists as `self._C__x`, `_C__x` was written.
void spell_as_listed(Rewriter& r, std::span<const StmtId> body, StrId name, StrId listed) {
  for (ExprId id : collect_expressions(r.ast, body)) {
    Expr& e = r.ast[id];
    if (e.kind == ExprKind::Attribute && e.a == name.index && r.is_name(e.kids[0], "self"))
      e.a = listed.index;
  }
}

/// The attributes that a class lists in `__static_attributes__` (3.13 on) and that none of its
/// functions sets: the statement that does was removed. The compiler adds the target of each
/// `self.x = …` that it meets (_PyCompile_MaybeAddStaticAttributeToClass of Python/compile.c).
std::vector<StrId> removed_attributes(Rewriter& r) {
  std::vector<StrId> names;
  std::unordered_set<std::uint32_t> missing;
  for (StmtId id : r.body) {
    const Stmt& s = r.ast[id];
    if (!lists_attributes(r, s) || !r.is_constant(s.e[0], ConstKind::Tuple)) continue;
    for (ConstId item : r.constant(s.e[0])->items)
      if (r.module[item].kind == ConstKind::Str) {
        const StrId name = r.module.intern(r.module[item].text);
        if (missing.insert(name.index).second) names.push_back(name);
      }
  }
  const std::unordered_set<std::uint32_t> listed = missing;
  // The functions inside stand before the class, without a gap. Of one that is rebuilt from its
  // bytes the text has no statements.
  for (std::uint32_t at = r.code.index; at-- > 0 && !missing.empty();) {
    CodeId owner = r.module[CodeId(at)].parent;
    bool own = !r.ast.bodies[at].rebuilt;
    for (; owner && owner != r.code; owner = r.module[owner].parent)
      own &= role_of(r.module, owner) != Role::Class && !r.ast.bodies[owner.index].rebuilt;
    if (!owner) break;
    const CodeId inner(at);
    if (!own || role_of(r.module, inner) == Role::Class) continue;
    const CodeObject& code = r.module[inner];
    bool self = false;
    scan_instructions(code, [&](const RawInstr& raw) {
      if (self && raw.info.op == Op::STORE_ATTR && raw.operand < code.names.size()) {
        const StrId compiled = code.names[raw.operand];
        const StrId name = unmangled(r.module, inner, compiled);
        const bool as_compiled = !listed.contains(name.index) && listed.contains(compiled.index);
        if (as_compiled) spell_as_listed(r, r.ast.bodies[at].stmts, name, compiled);
        missing.erase((as_compiled ? compiled : name).index);
      }
      self = loads_self(r.module, code, raw);
    });
  }
  std::erase_if(names, [&](StrId name) { return !missing.contains(name.index); });
  return names;
}

/// What find_declarations() learns, one kind of scope after the other.
class DeclarationFinder {
 public:
  explicit DeclarationFinder(Rewriter& r)
      : r_(r),
        own_(r.ast.bodies[r.code.index]),
        statements_(r.role != Role::Lambda && r.role != Role::Comprehension),
        globals_(statements_ ? r.globals : own_.outer_globals),
        nonlocals_(statements_ ? r.nonlocals : own_.outer_nonlocals),
        any_free_(std::any_of(r.object.slots.begin(), r.object.slots.end(),
                              [](const Slot& slot) { return slot.kind & kFree; })),
        uses_{r} {
    uses_.collect();
    // Only names that are spelt the same as in the table of variables can be looked up there. What
    // is asked is of use only beside free variables.
    if (!any_free_) return;
    for (const Slot& slot : r.object.slots) slot_kinds_[name_of(slot).index] |= slot.kind;
  }

  void find() {
    for (const auto& [name, use] : uses_.by_name.entries()) declare(StrId(name), use);
    declare_for_nested();
    if (!statements_ && any_free_) {
      for (const Slot& slot : r_.object.slots)
        if ((slot.kind & kFree) && is_unread(name_of(slot))) own_.unread.push_back(name_of(slot));
    }
    if (r_.role == Role::Class) find_of_class();
    if (r_.role == Role::Function) find_of_function();
    r_.lacks_yield = r_.role == Role::Function && !uses_.yields &&
                     (r_.object.flags & (kGenerator | kAsyncGenerator));
  }

 private:
  /// What the uses of a name in this body ask for.
  void declare(StrId name, std::uint32_t use) {
    const bool in_class = r_.role == Role::Class;
    const bool looked_up = in_class || r_.role == Role::Module;
    const bool global =
        (use & kStoredGlobal) ||
        ((use & kLoadedGlobal) &&
         (looked_up || (enclosing_function_has(r_, name) && !undeclared_in_module(r_, name))));
    const std::uint8_t kind = (use & kStoredDeref) ? kind_of(name) : std::uint8_t{0};
    // In a type parameter of that name the compiler stores the class's `__module__` and the like.
    const bool nonlocal = (kind & kFree) && (in_class || !(kind & kCell)) &&
                          !(in_class && is_type_parameter(r_.module, r_.code, name));
    const bool unbound = in_class && (use & kLoadedName) && !(use & kStoredName);
    if (!global && !nonlocal && !unbound) return;
    const std::string_view text = r_.module[name];
    // The compiler stores its own in the namespace or in a cell of this scope.
    const bool bound_outside = (use & kStoredGlobal) || (nonlocal && !(kind & kCell));
    if (!bound_outside && compiler_name(text, in_class && !(use & kStored))) return;
    // What an `assert` loads up to 3.8, whatever the name is otherwise (compile.c,
    // compiler_assert).
    const bool asserts = text == "AssertionError" && !(use & kStoredGlobal) && looked_up &&
                         !has_assertion_constant(r_.module);
    if (asserts) return;
    if (global) add_once(globals_, name);
    if (nonlocal) add_once(nonlocals_, name);
    if (unbound && !(text.starts_with("__") && text.ends_with("__")) &&
        enclosing_function_has(r_, name))
      add_once(r_.unbound, name);
  }

  /// What lambdas and comprehensions inside cannot declare themselves. The walrus of a
  /// comprehension declares what it binds for a module.
  void declare_for_nested() {
    if (r_.role == Role::Module) {
      for (ExprId maker : r_.makers)
        if (const Body* inner = body_of(maker))
          for (StrId name : inner->outer_globals) uses_.walruses.push_back(name);
      for (StrId name : uses_.walruses) std::erase(globals_, name);
    }
    for (ExprId maker : r_.makers) {
      const Body* inner = body_of(maker);
      if (!inner) continue;
      if (!statements_ || r_.role == Role::Function)
        for (StrId name : inner->outer_globals) add_once(globals_, name);
      const bool binds = !inner->outer_nonlocals.empty() &&
                         role_of(r_.module, inner->code) == Role::Comprehension;  // `:=` in it
      for (StrId name : inner->outer_nonlocals) {
        if (binds) uses_.add_of_nested(name, kStoredDeref);
        if (!statements_ || (kind_of(name) & kFree)) add_once(nonlocals_, name);
      }
    }
  }

  void find_of_class() {
    for (StrId name : globals_of_annotations(r_)) add_once(globals_, name);
    // What took these was removed, such as the methods under `if __debug__:` with -O.
    const bool class_left = has_cell(r_, "__class__") && !is_taken_inside(r_, "__class__");
    if (!declare_beside_own_cell("__class__") && class_left)
      add_once(r_.unused_cells, r_.module.intern("__class__"));
    const bool namespace_left =
        has_cell(r_, "__classdict__") && !is_taken_inside(r_, "__classdict__");
    r_.unused_namespace = !declare_beside_own_cell("__classdict__") && namespace_left &&
                          !defers_annotations(r_.module);
    for (const Slot& slot : r_.object.slots) {
      const StrId name = name_of(slot);
      std::uint32_t use = uses_.outside(name);
      if (r_.module[name] == "__class__") use &= kOwn;  // what is taken inside is another one
      if (!(slot.kind & kFree) || (use & (kOwn | kCaptured)) ||
          compiler_name(r_.module[name], false))
        continue;
      // A function inside takes it from outside, whatever the class has.
      add_once(use == 0 ? r_.unread : r_.unused_cells, name);
    }
    r_.unset = removed_attributes(r_);
  }

  /// A comprehension that is part of the class (3.12+) reads the class's own cell by a name that
  /// the class has from outside, too. Where the class does not read it, it declares it.
  bool declare_beside_own_cell(std::string_view text) {
    const StrId name = r_.module.intern(text);
    if (!(kind_of(name) & kFree) || !(uses_.of(name) & kOwn) || uses_.reads_by_itself(name))
      return false;
    add_once(r_.nonlocals, name);
    return true;
  }

  void find_of_function() {
    const std::uint64_t arguments = r_.object.parameter_count();
    for (std::size_t i = 0; i < r_.object.slots.size(); ++i) {
      const Slot& slot = r_.object.slots[i];
      if (slot.kind & kFree)
        find_of_free(slot);
      else if (i >= arguments || (slot.kind & kCell))
        find_of_local(slot, i < arguments);
    }
  }

  void find_of_free(const Slot& slot) {
    const StrId name = name_of(slot);
    if (is_unread(name))
      add_once(is_type_parameter(r_.module, r_.code, slot.name) ? r_.unread : r_.nonlocals, name);
    else if ((kind_of(name) & (kLocal | kHidden)) && uses_.outside(name) == kCaptured)
      add_once(r_.unread, name);  // else the comprehension's variable is what is captured
  }

  void find_of_local(const Slot& slot, bool argument) {
    const StrId name = name_of(slot);
    // Dynamo keeps a name among the locals of a resume function for which it became a free
    // variable.
    if ((kind_of(name) & kFree) || compiler_name(r_.module[name], false)) return;
    const std::uint32_t outside = uses_.outside(name) & (kOwn | kCaptured);
    // What a function beside a comprehension captures may be the comprehension's variable: the
    // compiler looks for the name in the functions around both, and finds it on the way.
    if (outside == kCaptured && (uses_.of(name) & kStored) && enclosing_function_has(r_, name))
      return;
    const bool unused_cell = (slot.kind & kCell) && !(uses_.of(name) & kCaptured);
    if (!argument && (outside != 0 || unused_cell) && !(outside & (kStoredFast | kStoredDeref)))
      add_once(r_.unbound, name);
    if (unused_cell) add_once(r_.unused_cells, name);
  }

  /// Is a free variable read nowhere in this body?
  bool is_unread(StrId name) {
    const std::string_view text = r_.module[name];
    const bool by_super = text == "__class__" &&
                          (uses_.of(r_.module.intern("super")) & (kLoadedGlobal | kLoadedDeref));
    // A comprehension may have a variable of that name.
    const std::uint32_t use = r_.role == Role::Function ? uses_.outside(name) : uses_.of(name);
    return use == 0 && !compiler_name(text, false) && !by_super;
  }

  StrId name_of(const Slot& slot) const { return unmangled(r_.module, r_.code, slot.name); }

  std::uint8_t kind_of(StrId name) const {
    const std::uint8_t* kind = slot_kinds_.at(name.index);
    return kind ? *kind : std::uint8_t{0};
  }

  /// The body of what an expression makes a function of; null where it is not there.
  const Body* body_of(ExprId maker) const {
    const CodeId code = r_.function_code(maker);
    return code && code.index < r_.ast.bodies.size() ? &r_.ast.bodies[code.index] : nullptr;
  }

  Rewriter& r_;
  Body& own_;
  const bool statements_;  // the text has statements of its own, so that it can declare
  std::vector<StrId>&globals_, &nonlocals_;
  const bool any_free_;
  Uses uses_;
  FlatMap<std::uint8_t> slot_kinds_;  // by name, as it is spelt
};

}  // namespace

bool is_taken_inside(const Rewriter& r, std::string_view name) {
  return std::any_of(r.makers.begin(), r.makers.end(), [&](ExprId id) {
    const CodeId inner = r.function_code(id);
    if (!inner) return false;
    const auto& slots = r.module[inner].slots;
    return std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) {
      return (slot.kind & kFree) && r.text(slot.name) == name;
    });
  });
}

void find_declarations(Rewriter& r) {
  if (r.role != Role::GenericScope) DeclarationFinder(r).find();
}

namespace {

/// `if False:`
StmtId never(Rewriter& r, std::span<const StmtId> body) {
  const StmtId id = r.add_statement(StmtKind::If);
  r.ast[id].e[0] = r.ast.constant(r.make_constant(ConstKind::False));
  r.ast[id].body = r.ast.arena.copy(body);
  return id;
}

/// What a module annotates cannot be declared global above that: a function that control never
/// makes does it, after it.
std::vector<StrId> take_annotated_globals(Rewriter& r) {
  std::vector<StrId> taken;
  StmtIds statements;
  collect_statements(r.ast, r.body, statements);
  for (StmtId id : statements) {
    const Stmt& s = r.ast[id];
    if (s.kind != StmtKind::AnnAssign || r.ast[s.e[0]].kind != ExprKind::Name) continue;
    if (std::erase(r.globals, StrId(r.ast[s.e[0]].a)) != 0) taken.push_back(StrId(r.ast[s.e[0]].a));
  }
  return taken;
}

/// `def _`
StmtId function_of(Rewriter& r, std::span<const StmtId> body, std::vector<Parameter> parameters) {
  r.ast.functions.push_back({});
  r.ast.functions.back().parameters = std::move(parameters);
  const StmtId function = r.add_statement(StmtKind::FunctionDef);
  r.ast[function].a = r.module.intern("_").index;
  r.ast[function].function = static_cast<std::uint32_t>(r.ast.functions.size() - 1);
  r.ast[function].body = r.ast.arena.copy(body);
  return function;
}

StmtId declaring_function(Rewriter& r, const std::vector<StrId>& names) {
  std::vector<std::uint32_t> ids;
  for (StrId name : names) ids.push_back(name.index);
  const StmtId declaration = r.add_statement(StmtKind::Global);
  r.ast[declaration].extra = r.ast.arena.copy(ids);
  return function_of(r, r.one(declaration), {});
}

StmtId assign_none(Rewriter& r, ExprId target) {
  const StmtId id = r.add_statement(StmtKind::Assign);
  const ExprId targets[] = {target};
  r.ast[id].list = r.ast.arena.copy(targets);
  r.ast[id].e[0] = r.ast.constant(r.make_constant(ConstKind::None));
  return id;
}

/// A method that sets `names` of its `self`.
StmtId assigning_function(Rewriter& r, const std::vector<StrId>& names) {
  const StrId self = r.module.intern("self");
  std::vector<StmtId> body;
  for (StrId name : names)
    body.push_back(assign_none(r, r.ast.expr(ExprKind::Attribute, {r.ast.name(self)}, name.index)));
  Parameter parameter;
  parameter.name = self;
  return function_of(r, body, {parameter});
}

}  // namespace

StmtId never_yields(Rewriter& r) {
  const StmtId id = r.add_statement(StmtKind::Expr);
  const ExprId value = r.ast.expr(ExprKind::Yield, {ExprId::none()});
  r.ast[id].e[0] = value;
  const StmtId ids[] = {id};
  return never(r, ids);
}

StmtId never_reads(Rewriter& r, std::span<const StrId> names) {
  std::vector<StmtId> reads;
  for (StrId name : names) {
    reads.push_back(r.add_statement(StmtKind::Expr));
    r.ast[reads.back()].e[0] = r.ast.name(name);
  }
  return never(r, reads);
}

bool declares(const Rewriter& r, const Stmt& s, std::vector<StrId>& unread) {
  if (s.kind == StmtKind::Global) return true;
  if (s.kind == StmtKind::Nonlocal) {
    for (std::uint32_t name : s.extra) unread.push_back(StrId(name));
    return true;
  }
  if (s.kind != StmtKind::If || !s.orelse.empty() || !r.is_constant(s.e[0], ConstKind::False))
    return false;
  for (StmtId id : s.body) {
    const Stmt& read = r.ast[id];
    if (read.kind != StmtKind::Expr || r.ast[read.e[0]].kind != ExprKind::Name) return false;
    unread.push_back(StrId(r.ast[read.e[0]].a));
  }
  return true;
}

ExprId with_unread(Rewriter& r, ExprId value, std::span<const StrId> names) {
  if (names.empty()) return value;
  std::vector<ExprId> reads;
  for (StrId name : names) reads.push_back(r.ast.name(name));
  const ExprId test = r.ast.constant(r.make_constant(ConstKind::True));
  const ExprId other = reads.size() == 1 ? reads[0] : r.ast.expr(ExprKind::Tuple, reads);
  return r.ast.expr(ExprKind::IfExp, {test, value, other}, UINT32_MAX, 0, r.ast[value].origin);
}

void insert_declarations(Rewriter& r) {
  if (r.globals.empty() && r.nonlocals.empty() && r.unbound.empty() && r.unused_cells.empty() &&
      r.unread.empty() && r.unset.empty() && !r.empty_annotations && !r.unused_namespace &&
      !r.lacks_yield)
    return;
  std::vector<StmtId> head, tail;
  auto declare = [&](StmtKind kind, const std::vector<StrId>& names) {
    if (names.empty()) return;
    std::vector<std::uint32_t> ids;
    for (StrId name : names) ids.push_back(name.index);
    const StmtId id = r.add_statement(kind);
    r.ast[id].extra = r.ast.arena.copy(ids);
    head.push_back(id);
  };
  if (r.role == Role::Module && !r.globals.empty()) {
    const std::unordered_set<std::uint32_t> inside = declared_inside(r);
    std::erase_if(r.globals, [&](StrId name) { return inside.contains(name.index); });
  }
  std::vector<StrId> annotated;
  if (r.role == Role::Module && !r.globals.empty()) annotated = take_annotated_globals(r);
  declare(StmtKind::Global, r.globals);
  declare(StmtKind::Nonlocal, r.nonlocals);

  // Code that is compiled to nothing, but seen by the compiler's symbol table.
  std::vector<StmtId> unreachable;
  auto name_expr = [&](StrId name) { return r.ast.name(name); };
  for (StrId name : r.unbound) unreachable.push_back(assign_none(r, name_expr(name)));
  for (StrId name : r.unread) {
    const StmtId id = r.add_statement(StmtKind::Expr);
    r.ast[id].e[0] = name_expr(name);
    unreachable.push_back(id);
  }
  if (!r.unused_cells.empty()) {
    std::vector<ExprId> names;
    for (StrId name : r.unused_cells) names.push_back(name_expr(name));
    const ExprId value = names.size() == 1 ? names[0] : r.ast.expr(ExprKind::Tuple, names);
    r.ast.functions.push_back({});
    const StmtId id = r.add_statement(StmtKind::Expr);
    r.ast[id].e[0] = r.ast.expr(ExprKind::Lambda, {value},
                                static_cast<std::uint32_t>(r.ast.functions.size() - 1));
    unreachable.push_back(id);
  }
  if (r.empty_annotations) {
    const StmtId id = r.add_statement(StmtKind::AnnAssign);
    r.ast[id].e = {name_expr(r.module.intern("_")),
                   r.ast.constant(r.make_constant(ConstKind::None)), ExprId::none()};
    unreachable.push_back(id);
  }
  if (r.unused_namespace) {
    const StmtId id = r.add_statement(StmtKind::TypeAlias);
    r.ast[id].e = {name_expr(unused_name(r)), r.ast.constant(r.make_constant(ConstKind::None)),
                   ExprId::none()};
    unreachable.push_back(id);
  }
  if (!unreachable.empty()) head.push_back(never(r, unreachable));
  if (r.lacks_yield) tail.push_back(never_yields(r));
  if (!r.unset.empty()) {
    const StmtId ids[] = {assigning_function(r, r.unset)};
    tail.push_back(never(r, ids));
  }
  if (!annotated.empty()) {
    const StmtId ids[] = {declaring_function(r, annotated)};
    tail.push_back(never(r, ids));
  }
  if (head.empty() && tail.empty()) return;
  // Nothing but the docstring may precede `from __future__`.
  std::size_t at = 0;
  while (at < r.body.size() && r.ast[r.body[at]].kind == StmtKind::ImportFrom &&
         r.text(StrId(r.ast[r.body[at]].a)) == "__future__")
    ++at;
  std::vector<StmtId> all(r.body.begin(), r.body.end());
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), head.begin(), head.end());
  all.insert(all.end(), tail.begin(), tail.end());
  r.body = r.ast.arena.copy(all);
}

}  // namespace depyf
