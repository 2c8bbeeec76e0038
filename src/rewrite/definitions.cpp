// Functions, lambdas, comprehensions, classes, type parameters and type aliases from the calls and
// function values that make them.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "ast/comprehension.h"
#include "bytecode/lines.h"
#include "opcode/tables.h"
#include "rewrite/annotations.h"
#include "rewrite/rewriter.h"
#include "support/error.h"
#include "support/flat_map.h"

namespace depyf {
namespace {

constexpr std::uint8_t intrinsic(Intrinsic1 i) { return static_cast<std::uint8_t>(i); }
constexpr std::uint8_t intrinsic(Intrinsic2 i) {
  return static_cast<std::uint8_t>(64 + static_cast<std::uint8_t>(i));
}

enum Part : std::size_t { kDefaults, kKeywordDefaults, kAnnotations, kClosure, kAnnotate };

struct Definition {
  enum Kind : std::uint8_t { None, Function, Class, Alias } kind = None;
  ExprId value;  // FunctionValue, class call, or the tuple of a type alias
  SmallVector<ExprId, 4> decorators;
  std::vector<TypeParam> type_params;
  FlatMap<ExprId> arguments;  // of the scope of type parameters: StrId of `.defaults` … -> value
};

class Definer {
 public:
  explicit Definer(Rewriter& r) : r_(r), ast_(r.ast) {}

  void run() {
    bool moved = false;
    if (r_.role == Role::GenericScope || is_annotation_scope()) {
      variables_ = variables_of(r_.code);
      r_.body = inline_temporaries(r_.body, variables_);
      moved = true;
    } else {
      if (!r_.may_hold(ExprKind::FunctionValue) && !r_.may_hold(ExprKind::ClassBuilder) &&
          !r_.may_hold(ExprKind::Await))
        return;
      variables_ = variables_of(r_.code);
      moved = join_makers();
      r_.edit_lists([&](std::vector<StmtId>& list) {
        const bool joined = join_definitions(list);
        moved = moved || joined;
        return joined;
      });
    }
    if (moved) {
      const ExprIds all = collect_expressions(ast_, r_.body);
      r_.makers.assign(all.begin(), all.end());
    }
    for (std::size_t i = r_.makers.size(); i-- > 0;) expression(r_.makers[i]);
    if (r_.role == Role::GenericScope) return;
    r_.edit_lists([&](std::vector<StmtId>& list) {
      bool changed = false;
      for (StmtId& id : list) {
        const StmtId made = statement(id);
        changed = changed || made != id;
        id = made;
      }
      return changed;
    });
    hoist_rest();
  }

 private:
  // --- temporaries: what makes a definition does not always lie on the stack in the order that one
  // expression needs

  /// Functions that compute annotations, bounds and values of type parameters.
  bool is_annotation_scope() const {
    if (r_.role != Role::Function || r_.object.argcount != 1 || r_.object.slots.empty())
      return false;
    return r_.text(r_.object.slots[0].name) == ".format" ||
           r_.text(r_.object.name) == "__annotate__";
  }

  using Names = FlatMap<bool>;

  Names variables_of(CodeId code) const {
    Names names;
    for (const Slot& slot : r_.module[code].slots)
      names[unmangled(r_.module, code, slot.name).index] = true;
    return names;
  }

  bool is_temporary(ExprId id, const Names& variables) const {
    const Expr& e = ast_[id];
    return e.kind == ExprKind::Name && static_cast<NameScope>(e.op) == NameScope::Fast &&
           !variables.at(e.a);
  }

  /// The temporary that a statement assigns, and its value: `t = value`, or `[t] = value` for the
  /// value of `*value`.
  bool temporary(StmtId id, const Names& variables, std::uint32_t& name, ExprId& value) {
    if (!assigns_temporary(id, variables)) return false;
    const Stmt s = ast_[id];
    const Expr target = ast_[s.list[0]];
    if (target.kind == ExprKind::Name) {
      name = target.a;
      value = s.e[0];
      return true;
    }
    name = ast_[target.kids[0]].a;
    value = ast_.expr(ExprKind::Starred, {s.e[0]}, UINT32_MAX, 0, s.origin);
    return true;
  }
  bool assigns_temporary(StmtId id, const Names& variables) const {
    const Stmt& s = ast_[id];
    if (s.kind != StmtKind::Assign || s.list.size() != 1) return false;
    const Expr& target = ast_[s.list[0]];
    if (target.kind == ExprKind::Name) return is_temporary(s.list[0], variables);
    return (target.kind == ExprKind::Tuple || target.kind == ExprKind::List) &&
           target.kids.size() == 1 && is_temporary(target.kids[0], variables);
  }

  std::span<StmtId> inline_temporaries(std::span<const StmtId> list, const Names& variables) {
    std::unordered_map<std::uint32_t, ExprId> values;
    std::vector<StmtId> rest;
    for (StmtId id : list) {
      ExprIds order;
      append_roots(ast_, id, order);
      std::uint32_t name = 0;
      ExprId value;
      const bool assigns = temporary(id, variables, name, value);
      collect_below(ast_, order);
      for (ExprId at : order)
        if (ast_[at].kind == ExprKind::Name)
          if (const auto found = values.find(ast_[at].a); found != values.end())
            ast_[at] = Expr(ast_[found->second]);
      if (assigns)
        values[name] = value;
      else
        rest.push_back(id);
    }
    return ast_.arena.copy(rest);
  }

  /// What makes a class or a generic definition is made right where it is called: nothing can tell
  /// when it was made before, in another block.
  bool join_makers() {
    if (!r_.may_hold(ExprKind::FunctionValue)) return false;
    const auto joins = [&](ExprId value) {
      const Expr& e = ast_[value];
      if (e.kind == ExprKind::ClassBuilder) return true;
      const CodeId code = r_.function_code(value);
      if (!code || !is_scope(code)) return false;
      for (std::size_t part = 0; part < e.kids.size(); ++part)
        if (part != kClosure && e.kids[part]) return false;
      return true;
    };
    struct Maker {
      std::uint32_t stores = 0, uses = 0;
      StmtId statement;
      ExprId use;
      bool joins = false;
    };
    std::unordered_map<std::uint32_t, Maker> makers;
    StmtIds statements;
    collect_statements(ast_, r_.body, statements);
    bool any = false;
    for (StmtId id : statements) {
      if (!assigns_temporary(id, variables_)) continue;
      const Expr& target = ast_[ast_[id].list[0]];
      Maker& maker = makers[target.kind == ExprKind::Name ? target.a : ast_[target.kids[0]].a];
      ++maker.stores;
      maker.statement = id;
      maker.joins = target.kind == ExprKind::Name && joins(ast_[id].e[0]);
      any |= maker.joins;
    }
    if (!any) return false;
    const ExprIds all = collect_expressions(ast_, r_.body);
    for (ExprId id : all)
      if (ast_[id].kind == ExprKind::Name)
        if (const auto at = makers.find(ast_[id].a); at != makers.end()) ++at->second.uses;
    for (ExprId id : all) {
      if (ast_[id].kind != ExprKind::Call) continue;
      for (ExprId kid : ast_[id].kids.first(std::min<std::size_t>(2, ast_[id].kids.size())))
        if (ast_[kid].kind == ExprKind::Name)
          if (const auto at = makers.find(ast_[kid].a); at != makers.end()) at->second.use = kid;
    }
    std::vector<StmtId> gone;
    for (const auto& [name, maker] : makers) {
      // The target of the assignment is a use, too.
      if (!maker.joins || maker.stores != 1 || maker.uses != 2 || !maker.use) continue;
      ast_[maker.use] = Expr(ast_[ast_[maker.statement].e[0]]);
      ast_[maker.statement].kind = StmtKind::Pass;
      gone.push_back(maker.statement);
    }
    if (gone.empty()) return false;
    std::sort(gone.begin(), gone.end(), [](StmtId a, StmtId b) { return a.index < b.index; });
    r_.edit_lists([&](std::vector<StmtId>& list) {
      if (list.size() < 2) return false;
      return std::erase_if(list, [&](StmtId id) {
               return std::binary_search(gone.begin(), gone.end(), id,
                                         [](StmtId a, StmtId b) { return a.index < b.index; });
             }) > 0;
    });
    return true;
  }

  /// The body of a class, or the scope of type parameters.
  bool is_scope(CodeId code) const {
    const Role role = role_of(r_.module, code);
    return role == Role::Class || role == Role::GenericScope;
  }

  bool makes_definition(ExprId id) const {
    if (ast_[id].kind == ExprKind::ClassBuilder) return true;
    const CodeId code = r_.function_code(id);
    if (!code) return false;
    const Role role = role_of(r_.module, code);
    return role == Role::Function || role == Role::GenericScope;
  }

  /// Temporaries right before an assignment that uses each of them once go into it, when together
  /// they make a definition.
  bool join_definitions(std::vector<StmtId>& list) {
    if (std::none_of(list.begin(), list.end(),
                     [&](StmtId id) { return assigns_temporary(id, variables_); }))
      return false;
    std::vector<StmtId> out;
    bool changed = false;
    for (StmtId id : list) {
      const bool behind = !out.empty() && assigns_temporary(out.back(), variables_);
      out.push_back(id);
      if (!behind || ast_[id].kind != StmtKind::Assign) continue;
      std::unordered_map<std::uint32_t, std::vector<ExprId>> uses;
      bool makes = false;
      std::size_t begin = out.size() - 1;
      ExprId value = ast_[id].e[0];
      std::vector<std::pair<std::uint32_t, ExprId>> block;
      for (;;) {
        ExprIds order = {value};
        collect_below(ast_, order);
        for (ExprId at : order) {
          makes = makes || makes_definition(at);
          if (is_temporary(at, variables_)) uses[ast_[at].a].push_back(at);
        }
        std::uint32_t name = 0;
        if (uses.empty() || begin == 0 || !temporary(out[begin - 1], variables_, name, value))
          break;
        const auto used = uses.find(name);
        if (used == uses.end() || used->second.size() != 1) break;
        block.emplace_back(name, value);
        --begin;
      }
      if (block.empty() || !makes) continue;
      for (const auto& [name, what] : block) ast_[uses[name][0]] = Expr(ast_[what]);
      for (std::size_t i = begin; i + 1 < out.size(); ++i) r_.absorb(id, out[i]);
      out.resize(begin);
      out.push_back(id);
      changed = true;
    }
    if (changed) list.swap(out);
    return changed;
  }

  // --- expressions

  void expression(ExprId id) {
    const Expr& e = ast_[id];
    if (e.kind == ExprKind::FunctionValue) {
      ++functions_;
      if (role_of(r_.module, CodeId(e.a)) == Role::Lambda) lambda(id);
    } else if (e.kind == ExprKind::Call && e.kids.size() == 2) {
      if (const CodeId code = r_.function_code(e.kids[0]);
          code && role_of(r_.module, code) == Role::Comprehension)
        comprehension(id, code, e.kids[1]);
    } else if (e.kind == ExprKind::Await) {
      drop_await(id);
    }
  }

  /// The function of an asynchronous comprehension is a coroutine, which is awaited at once. What
  /// else awaits a comprehension was written.
  void drop_await(ExprId id) {
    const ExprId awaited = ast_[id].kids[0];
    const Expr inner = ast_[awaited];
    if ((inner.kind != ExprKind::ListComp && inner.kind != ExprKind::SetComp &&
         inner.kind != ExprKind::DictComp) ||
        inner.a == UINT32_MAX || !(r_.module[CodeId(inner.a)].flags & kCoroutine) ||
        without_await_.at(awaited.index))
      return;
    ast_[id] = inner;
    without_await_[id.index] = true;
  }

  std::span<const StmtId> body_of(CodeId code) const {
    return code.index < ast_.bodies.size() ? std::span<const StmtId>(ast_.bodies[code.index].stmts)
                                           : std::span<const StmtId>();
  }

  bool yields(const ExprIds& all) const {
    return std::any_of(all.begin(), all.end(), [&](ExprId id) {
      return ast_[id].kind == ExprKind::Yield || ast_[id].kind == ExprKind::YieldFrom;
    });
  }
  bool yields(ExprId value) const {
    ExprIds all = {value};
    collect_below(ast_, all);
    return yields(all);
  }

  bool is_tuple(ExprId value) const {
    return ast_[value].kind == ExprKind::Tuple || r_.is_constant(value, ConstKind::Tuple);
  }

  /// The same in the first item of a tuple, which stays one.
  ExprId with_unread_in_tuple(ExprId value, std::span<const StrId> names) {
    if (names.empty()) return value;
    Expr tuple = ast_[value];
    std::vector<ExprId> items(tuple.kids.begin(), tuple.kids.end());
    if (const Const* whole = r_.constant(value))
      for (ConstId item : whole->items) items.push_back(ast_.constant(item, tuple.origin));
    if (items.empty() || ast_[items[0]].kind == ExprKind::Starred)
      throw Error("rewrite: no item of the constraints can hold a name that nothing reads");
    items[0] = with_unread(r_, items[0], names);
    return ast_.expr(ExprKind::Tuple, items, UINT32_MAX, 0, tuple.origin);
  }

  void lambda(ExprId id) {
    const Expr e = ast_[id];
    ExprId value = body_as_expression(r_, body_of(CodeId(e.a)));
    if (!value) return;
    if ((r_.module[CodeId(e.a)].flags & kGenerator) &&
        !yields(value)) {  // `value if True else (yield)`
      const ExprId test = ast_.constant(r_.make_constant(ConstKind::True));
      value =
          ast_.expr(ExprKind::IfExp, {test, value, ast_.expr(ExprKind::Yield, {ExprId::none()})},
                    UINT32_MAX, 0, ast_[value].origin);
    }
    value = with_unread(r_, value, ast_.bodies[CodeId(e.a).index].unread);
    const std::uint32_t function = make_function(id, {}, {});
    Expr made{ExprKind::Lambda, 0, 0, function, {}, {}, e.origin};
    const ExprId kids[] = {value};
    made.kids = ast_.arena.copy(kids);
    ast_[id] = made;
    --functions_;
  }

  void comprehension(ExprId id, CodeId code, ExprId iter) {
    const std::string_view name = r_.text(r_.module[code].name);
    const ExprKind kind = name == "<listcomp>"   ? ExprKind::ListComp
                          : name == "<setcomp>"  ? ExprKind::SetComp
                          : name == "<dictcomp>" ? ExprKind::DictComp
                                                 : ExprKind::GeneratorExp;
    SmallVector<StmtId, 8> loop;
    for (StmtId at : body_of(code)) {
      const Stmt& s = ast_[at];
      if (s.kind == StmtKind::Return) continue;
      if (s.kind == StmtKind::Assign && loop.empty()) {  // the collection
        const Expr& value = ast_[s.e[0]];
        if (value.kids.empty() && (value.kind == ExprKind::List || value.kind == ExprKind::Set ||
                                   value.kind == ExprKind::Dict))
          continue;
      }
      loop.push_back(at);
    }
    if (loop.size() != 1 || ast_[loop[0]].kind != StmtKind::For) return;
    const ExprId made = comprehension_from_loop(ast_, kind, loop, iter);
    if (!made) return;
    const Expr copy = ast_[made];
    const Origin origin = ast_[id].origin;
    ast_[id] = copy;
    ast_[id].a = code.index;
    ast_[id].origin = origin;
    const ExprId element = with_unread(r_, copy.kids[0], ast_.bodies[code.index].unread);
    ast_[id].kids[0] = element;
    --functions_;
  }

  // --- functions

  /// The items of a tuple that is known.
  bool items(ExprId tuple, std::vector<ExprId>& out, bool annotations = false) {
    if (!tuple) return true;
    const Expr e = ast_[tuple];
    if (const Const* c = r_.constant(tuple)) {
      if (c->kind != ConstKind::Tuple) return false;
      for (ConstId item : c->items) out.push_back(ast_.constant(item, e.origin));
      return true;
    }
    if (e.kind != ExprKind::Tuple) return false;
    for (ExprId kid : e.kids)  // in annotations `*args: *Ts` is one
      if (ast_[kid].kind == ExprKind::Starred && !annotations) return false;
    out.assign(e.kids.begin(), e.kids.end());
    return true;
  }

  /// The compiler folds defaults that are constants to one tuple; from 3.10 to 3.13 each line that
  /// they were on, if it is not that of what comes next, leaves a NOP before it.
  void find_rows(Function& f, const Origin& origin) {
    const VersionTable* table = version_table(r_.object.version);
    if (origin.code != r_.code || !table || origin.offset / 2 * 2 + 2 > r_.object.code.size())
      return;
    f.default_rows = 0;
    const auto end = origin.offset / 2;
    auto begin = end;
    while (begin > 0 && table->opcodes[r_.object.code[(begin - 1) * 2]].name == "NOP") --begin;
    if (begin == end) return;
    if (lines_.empty()) {
      LineCursor cursor(r_.object);
      lines_.resize(r_.object.code.size() / 2);
      for (std::uint32_t unit = 0; unit < lines_.size(); ++unit) lines_[unit] = cursor.at(unit);
    }
    while (begin < end && lines_[begin] < lines_[end]) ++begin;  // `try:` before it
    for (auto unit = begin; unit < end; ++unit)
      f.default_rows += unit == begin || lines_[unit] != lines_[unit - 1];
    f.defaults_begin_with_def = lines_[begin] == lines_[end];
  }

  /// Parameters and their defaults and annotations; index in Ast::functions.
  std::uint32_t make_function(ExprId value, const FlatMap<ExprId>& arguments,
                              std::vector<TypeParam> type_params, ExprId* returns = nullptr) {
    const Expr e = ast_[value];
    const CodeId code(e.a);
    const CodeObject& object = r_.module[code];
    Function f;
    f.code = code;
    f.type_params = std::move(type_params);
    auto resolve = [&](ExprId id) {
      if (id && ast_[id].kind == ExprKind::Name)
        if (const ExprId* argument = arguments.at(ast_[id].a)) return *argument;
      return id;
    };

    FlatMap<std::size_t> by_name;
    const bool look_up = e.kids[kKeywordDefaults] || e.kids[kAnnotations] || e.kids[kAnnotate];
    f.parameters.reserve(
        std::min<std::size_t>(object.argcount + object.kwonlyargcount + 2, object.slots.size()));
    std::size_t slot = 0;
    auto add = [&](ParamKind kind) {
      if (slot >= object.slots.size()) return;
      if (look_up) by_name[object.slots[slot].name.index] = f.parameters.size();
      f.parameters.push_back({unmangled(r_.module, code, object.slots[slot].name), kind,
                              ExprId::none(), ExprId::none()});
      ++slot;
    };
    for (std::uint32_t i = 0; i < object.argcount; ++i)
      add(i < object.posonlyargcount ? ParamKind::PositionalOnly : ParamKind::Positional);
    const std::size_t positional = f.parameters.size();
    slot += object.kwonlyargcount;  // *args and **kwargs come last among the variables, but *args
                                    // before keyword-only ones in source
    if (object.flags & kVarArgs) add(ParamKind::VarArgs);
    const std::size_t after_varargs = slot;
    slot = object.argcount;
    for (std::uint32_t i = 0; i < object.kwonlyargcount; ++i) add(ParamKind::KeywordOnly);
    slot = after_varargs;
    if (object.flags & kVarKeywords) add(ParamKind::VarKeywords);

    std::vector<ExprId> defaults;
    const ExprId all_defaults = resolve(e.kids[kDefaults]);
    if (all_defaults && ast_[all_defaults].kind == ExprKind::Constant)
      find_rows(f, ast_[all_defaults].origin);
    if (items(all_defaults, defaults))
      for (std::size_t i = 0; i < defaults.size() && i < positional; ++i)
        f.parameters[positional - 1 - i].default_value = defaults[defaults.size() - 1 - i];

    auto for_each_pair = [&](ExprId mapping, auto&& use) {
      if (!mapping) return;
      const Expr m = ast_[mapping];
      std::vector<ExprId> pairs;
      if (m.kind == ExprKind::Dict) {
        pairs.assign(m.kids.begin(), m.kids.end());
      } else if (!items(mapping, pairs, true)) {
        return;
      }
      for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
        if (const Const* key = r_.constant(pairs[i]); key && key->kind == ConstKind::Str)
          use(r_.module.intern(key->text), pairs[i + 1]);
    };
    for_each_pair(resolve(e.kids[kKeywordDefaults]), [&](StrId name, ExprId v) {
      if (const std::size_t* at = by_name.at(name.index)) f.parameters[*at].default_value = v;
    });
    auto annotate = [&](StrId name, ExprId v) {
      if (r_.text(name) == "return") {
        if (returns) *returns = v;
      } else if (const std::size_t* at = by_name.at(name.index)) {
        f.parameters[*at].annotation = v;
      }
    };
    const bool text = future_annotations(object);
    for_each_pair(e.kids[kAnnotations], [&](StrId name, ExprId v) {
      annotate(name, annotation_expression(r_, v, text));
    });
    if (const CodeId annotations = r_.function_code(e.kids[kAnnotate]))
      for (const Annotation& a : annotations_of(r_, annotations))
        annotate(a.name, annotation_expression(r_, a.value, text));

    ast_.functions.push_back(std::move(f));
    return static_cast<std::uint32_t>(ast_.functions.size() - 1);
  }

  // --- type parameters

  /// The expression that the function of a bound, default or alias evaluates. A text that comes
  /// first among its constants was taken for its docstring, and free variables that nothing reads
  /// were declared.
  ExprId evaluated(ExprId evaluator) {
    const CodeId code = r_.function_code(evaluator);
    if (!code) return ExprId::none();
    std::span<const StmtId> body = body_of(code);
    if (body.size() > 1 && ast_[body[0]].kind == StmtKind::Expr &&
        r_.is_constant(ast_[body[0]].e[0], ConstKind::Str))
      body = body.subspan(1);
    std::vector<StrId> unread;
    while (body.size() > 1 && declares(r_, ast_[body[0]], unread)) body = body.subspan(1);
    const ExprId value = body_as_expression(r_, inline_temporaries(body, variables_of(code)));
    if (!value) return value;
    return is_tuple(value) ? with_unread_in_tuple(value, unread) : with_unread(r_, value, unread);
  }
  ExprId evaluated_or_refused(ExprId evaluator) {
    const ExprId value = evaluated(evaluator);
    if (!value)
      throw Error("rewrite: what a type parameter or an alias evaluates is no expression");
    return value;
  }

  /// A type parameter, when `id` makes one: Intrinsic TypeVar … over its name.
  bool type_param(ExprId id, TypeParam& out) {
    Expr e = ast_[id];
    if (e.kind != ExprKind::Intrinsic) return false;
    if (e.op == intrinsic(Intrinsic2::SetTypeParamDefault)) {
      out.default_value = evaluated_or_refused(e.kids[1]);
      e = ast_[e.kids[0]];
      if (e.kind != ExprKind::Intrinsic) return false;
    }
    if (e.op == intrinsic(Intrinsic1::TypeVar)) {
      out.kind = TypeParamKind::TypeVar;
    } else if (e.op == intrinsic(Intrinsic1::ParamSpec)) {
      out.kind = TypeParamKind::ParamSpec;
    } else if (e.op == intrinsic(Intrinsic1::TypeVarTuple)) {
      out.kind = TypeParamKind::TypeVarTuple;
    } else if (e.op == intrinsic(Intrinsic2::TypeVarWithBound) ||
               e.op == intrinsic(Intrinsic2::TypeVarWithConstraints)) {
      out.kind = TypeParamKind::TypeVar;
      out.bound = evaluated_or_refused(e.kids[1]);
      // A tuple that is written there is constraints, and nothing else is.
      const bool constraints = e.op == intrinsic(Intrinsic2::TypeVarWithConstraints);
      if (constraints && !is_tuple(out.bound))
        throw Error("rewrite: the constraints of a type parameter are no tuple");
      if (!constraints && is_tuple(out.bound)) {
        const ExprId test = ast_.constant(r_.make_constant(ConstKind::True)),
                     never = ast_.constant(r_.make_constant(ConstKind::None));
        out.bound = ast_.expr(ExprKind::IfExp, {test, out.bound, never}, UINT32_MAX, 0,
                              ast_[out.bound].origin);
      }
    } else {
      return false;
    }
    const Const* name = r_.constant(e.kids[0]);
    if (!name || name->kind != ConstKind::Str) return false;
    out.name = r_.module.intern(name->text);
    return true;
  }

  /// What the function `<generic parameters of X>` makes when it is called with `arguments`.
  void generic(CodeId code, std::span<const ExprId> arguments, Definition& d) {
    const CodeObject& object = r_.module[code];
    for (std::size_t i = 0; i < arguments.size() && i < object.slots.size(); ++i)
      d.arguments[object.slots[i].name.index] = arguments[i];
    std::vector<ExprId> work;
    const auto body = body_of(code);
    std::vector<StmtId> statements;
    collect_statements(ast_, body, statements);
    std::vector<ExprId> roots;
    std::unordered_map<std::uint32_t, ExprId> assigned;
    for (StmtId id : statements) {
      const StmtKind kind = ast_[id].kind;
      if (kind != StmtKind::Assign && kind != StmtKind::Return && kind != StmtKind::Pass &&
          kind != StmtKind::Expr && kind != StmtKind::Nonlocal && kind != StmtKind::Global)
        throw Error("rewrite: " + std::string(r_.text(object.name)) +
                    " do more than a definition says");
      if (const StrId name = r_.assigned_name(ast_[id])) assigned[name.index] = ast_[id].e[0];
      append_roots(ast_, id, roots);
    }
    work.assign(roots.rbegin(), roots.rend());
    while (!work.empty()) {
      const ExprId id = work.back();
      work.pop_back();
      TypeParam param;
      if (type_param(id, param)) {
        d.type_params.push_back(param);
        continue;
      }
      const Expr e = ast_[id];
      if (e.kind == ExprKind::Intrinsic && e.op == intrinsic(Intrinsic2::SetFunctionTypeParams)) {
        ExprId function = e.kids[0];
        if (ast_[function].kind == ExprKind::Name)
          if (const auto at = assigned.find(ast_[function].a); at != assigned.end())
            function = at->second;
        if (r_.function_code(function)) {
          d.kind = Definition::Function;
          d.value = function;
        }
      } else if (is_class_call(id)) {
        d.kind = Definition::Class;
        d.value = id;
      } else if (const ExprId alias = alias_tuple(id)) {
        d.kind = Definition::Alias;
        d.value = alias;
      }
      if (e.kind == ExprKind::Lambda) continue;
      for (std::size_t i = e.kids.size(); i-- > 0;)
        if (e.kids[i]) work.push_back(e.kids[i]);
    }
  }

  bool is_class_call(ExprId id) const {
    const Expr& e = ast_[id];
    return e.kind == ExprKind::Call && e.kids.size() >= 3 &&
           ast_[e.kids[0]].kind == ExprKind::ClassBuilder && r_.function_code(e.kids[1]).valid();
  }

  ExprId alias_tuple(ExprId id) const {
    const Expr& e = ast_[id];
    if (e.kind != ExprKind::Intrinsic || e.op != intrinsic(Intrinsic1::TypeAlias))
      return ExprId::none();
    const Expr& tuple = ast_[e.kids[0]];
    return tuple.kind == ExprKind::Tuple && tuple.kids.size() == 3 &&
                   r_.function_code(tuple.kids[2])
               ? e.kids[0]
               : ExprId::none();
  }

  Definition definition(ExprId value) {
    Definition d;
    while (value) {
      const Expr& e = ast_[value];
      if (const CodeId code = r_.function_code(value)) {
        if (role_of(r_.module, code) == Role::Function) {
          d.kind = Definition::Function;
          d.value = value;
        }
        break;
      }
      if (is_class_call(value)) {
        d.kind = Definition::Class;
        d.value = value;
        break;
      }
      if (const ExprId alias = alias_tuple(value)) {
        d.kind = Definition::Alias;
        d.value = alias;
        break;
      }
      if (e.kind != ExprKind::Call) break;
      if (const CodeId code = r_.function_code(e.kids[0]);
          code && role_of(r_.module, code) == Role::GenericScope) {
        generic(code, e.kids.subspan(1), d);
        break;
      }
      if (e.kids.size() != 2 || ast_[e.kids[1]].kind == ExprKind::Starred ||
          ast_[e.kids[1]].kind == ExprKind::Keyword)
        break;
      d.decorators.push_back(e.kids[0]);
      value = e.kids[1];
    }
    return d;
  }

  // --- statements

  StmtId statement(StmtId id) {
    const Stmt& s = ast_[id];
    const StrId name = r_.assigned_name(s);
    if (!name) return id;
    const ExprKind value = ast_[s.e[0]].kind;
    if (value != ExprKind::FunctionValue && value != ExprKind::Call && value != ExprKind::Intrinsic)
      return id;
    Definition d = definition(s.e[0]);
    if (d.kind == Definition::None || (d.kind == Definition::Alias && !d.decorators.empty()))
      return id;
    return define(id, s, as_defined(name, d), d);
  }

  /// The name as the definition spells it, which the code keeps.
  StrId as_defined(StrId name, const Definition& d) {
    const auto spelt = [&](StrId text) { return as_spelt(r_.module, r_.code, name, text); };
    if (d.kind == Definition::Function) return spelt(r_.module[CodeId(ast_[d.value].a)].name);
    if (d.kind == Definition::Class)
      return spelt(r_.module[r_.function_code(ast_[d.value].kids[1])].name);
    const Const* given = r_.constant(ast_[d.value].kids[0]);
    return given && given->kind == ConstKind::Str ? spelt(r_.module.intern(given->text)) : name;
  }

  StmtId define(StmtId id, const Stmt& s, StrId name, Definition& d) {
    Stmt made;
    made.origin = s.origin;
    made.absorbed = s.absorbed;
    made.a = name.index;
    if (d.kind == Definition::Function) {
      made.kind = StmtKind::FunctionDef;
      const CodeId code(ast_[d.value].a);
      const std::uint32_t asynchronous =
          ast_.bodies[code.index].rebuilt ? kCoroutine : kCoroutine | kAsyncGenerator;
      made.flag = (r_.module[code].flags & asynchronous) != 0;
      ExprId returns;
      made.function = make_function(d.value, d.arguments, std::move(d.type_params), &returns);
      made.e[0] = returns;
      made.list = ast_.arena.copy(d.decorators);
      made.body = ast_.bodies[code.index].stmts;
    } else {
      if (!d.type_params.empty()) {
        made.type_params = static_cast<std::uint32_t>(ast_.type_param_lists.size());
        ast_.type_param_lists.push_back(std::move(d.type_params));
      }
      const Expr e = ast_[d.value];
      if (d.kind == Definition::Class) {
        made.kind = StmtKind::ClassDef;
        const CodeId code = r_.function_code(e.kids[1]);
        check_class_name(name, e.kids[2], code, s);
        SmallVector<ExprId, 8> bases;
        for (ExprId base : e.kids.subspan(3))
          if (!is_generic_base(base)) bases.push_back(base);
        made.list = ast_.arena.copy(bases);
        SmallVector<std::uint32_t, 4> decorators;
        for (ExprId decorator : d.decorators) decorators.push_back(decorator.index);
        made.extra = ast_.arena.copy(decorators);
        made.body = ast_.bodies[code.index].stmts;
        Function f;
        f.code = code;
        ast_.functions.push_back(f);
        made.function = static_cast<std::uint32_t>(ast_.functions.size() - 1);
      } else {
        made.kind = StmtKind::TypeAlias;
        made.a = UINT32_MAX;
        const ExprId value = evaluated_or_refused(e.kids[2]);
        const ExprId target = ast_.add(Expr(ast_[s.list[0]]));
        ast_[target].a = name.index;
        made.e = {target, value, ExprId::none()};
      }
    }
    --functions_;
    return ast_.add(made);
  }

  /// A class statement gives the class the name that it binds.
  void check_class_name(StrId bound, ExprId called, CodeId code, const Stmt& s) {
    const Const* given = r_.constant(called);
    const std::string_view name = r_.text(r_.module[code].name);
    if (given && given->kind == ConstKind::Str && given->text == r_.text(bound) &&
        name == given->text)
      return;
    const bool variable = !s.list.empty() && !is_temporary(s.list[0], variables_);
    if (!variable)
      throw Error("rewrite: the class " + std::string(name) + " is bound to no name of its own");
    ast_.diagnostics.push_back({Diagnostic::Note, 0, r_.code, s.origin.offset,
                                "the class " + std::string(name) + " is written as class " +
                                    std::string(r_.text(bound)) + ", and so called"});
  }

  bool is_generic_base(ExprId id) const {
    const Expr& e = ast_[id];
    if (e.kind == ExprKind::NamedExpr) return r_.is_name(e.kids[0], ".generic_base");
    return r_.is_name(id, ".generic_base") ||
           (e.kind == ExprKind::Intrinsic && e.op == intrinsic(Intrinsic1::SubscriptGeneric));
  }

  // --- what no compiler makes: function values elsewhere than in a definition become definitions
  // before the statement

  void hoist_rest() {
    if (functions_ <= 0) return;
    const ExprIds all = collect_expressions(ast_, r_.body);
    if (std::none_of(all.begin(), all.end(), [&](ExprId id) { return hoistable(id); })) return;
    std::uint32_t count = 0;
    r_.edit_lists([&](std::vector<StmtId>& list) {
      std::vector<StmtId> out;
      for (StmtId id : list) {
        ExprIds order;
        append_roots(ast_, id, order);
        collect_below(ast_, order);
        std::vector<ExprId> made;
        for (std::size_t i = order.size(); i-- > 0;) {
          if (!hoistable(order[i])) continue;
          out.push_back(hoist(order[i], count++));
          made.push_back(ast_.name(StrId(ast_[order[i]].a)));
        }
        out.push_back(id);
        if (!made.empty() && forgets(ast_[id].kind)) {
          const StmtId gone = r_.add_statement(StmtKind::Delete);
          ast_[gone].list = ast_.arena.copy(made);
          out.push_back(gone);
        }
      }
      const bool changed = out.size() != list.size();
      list.swap(out);
      return changed;
    });
  }

  /// A class or module must not keep a name that only the text has.
  bool forgets(StmtKind kind) const {
    if (r_.role != Role::Module && r_.role != Role::Class) return false;
    return kind == StmtKind::Assign || kind == StmtKind::Expr || kind == StmtKind::AugAssign ||
           kind == StmtKind::Delete || kind == StmtKind::FunctionDef ||
           kind == StmtKind::ClassDef || kind == StmtKind::Import;
  }

  bool hoistable(ExprId id) const {
    return ast_[id].kind == ExprKind::FunctionValue || is_class_call(id);
  }

  StmtId hoist(ExprId id, std::uint32_t number) {
    Definition d;
    d.kind = is_class_call(id) ? Definition::Class : Definition::Function;
    const Expr e = ast_[id];
    d.value = ast_.add(e);
    const CodeId code = d.kind == Definition::Class ? r_.function_code(e.kids[1]) : CodeId(e.a);
    const Role role = role_of(r_.module, code);
    // Their names mean something else in a plain function.
    if (d.kind == Definition::Function && is_scope(code))
      throw Error("rewrite: no class or generic definition was found for the body of " +
                  std::string(r_.text(r_.module[code].name)));
    if (role == Role::Lambda || role == Role::Comprehension) declare_in(code);
    std::string spelt;
    for (char ch : r_.text(r_.module[code].name))
      if (ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
          (ch >= '0' && ch <= '9') || static_cast<unsigned char>(ch) >= 0x80)
        spelt += ch;
    const StrId name =
        r_.module.intern(ast_.function_prefix + std::to_string(number) + "_" + spelt);
    Stmt s;
    s.kind = StmtKind::Assign;
    s.origin = e.origin;
    const StmtId made = define(StmtId::none(), s, name, d);
    ast_[id] = Expr{ExprKind::Name, 0, 0, name.index, {}, {}, e.origin};
    return made;
  }

  /// A lambda or comprehension that is written as a function declares what it binds elsewhere, and
  /// stays a generator.
  void declare_in(CodeId code) {
    Body& body = ast_.bodies[code.index];
    if (body.rebuilt) return;
    std::vector<StmtId> stmts;
    const auto declare = [&](StmtKind kind, const std::vector<StrId>& names) {
      if (names.empty()) return;
      std::vector<std::uint32_t> ids;
      for (StrId name : names) ids.push_back(name.index);
      const StmtId id = r_.add_statement(kind);
      ast_[id].extra = ast_.arena.copy(ids);
      stmts.push_back(id);
    };
    declare(StmtKind::Global, body.outer_globals);
    declare(StmtKind::Nonlocal, body.outer_nonlocals);
    if (!body.unread.empty()) stmts.push_back(never_reads(r_, body.unread));
    const bool dead_yield = (r_.module[code].flags & (kGenerator | kAsyncGenerator)) &&
                            !yields(collect_expressions(ast_, body.stmts));
    if (stmts.empty() && !dead_yield) return;
    stmts.insert(stmts.end(), body.stmts.begin(), body.stmts.end());
    if (dead_yield) stmts.push_back(never_yields(r_));
    body.stmts = ast_.arena.copy(stmts);
  }

  Rewriter& r_;
  Ast& ast_;
  std::vector<std::int32_t> lines_;  // of each code unit; found when first asked for
  std::int64_t functions_ =
      0;  // function values in the body; some that are taken out of it may be counted still
  Names variables_;              // names of the code object's own variables
  FlatMap<bool> without_await_;  // asynchronous comprehensions whose `await` was dropped
};

/// `if test: pass`, and after it the return of a name or constant: `x if test else x` was it.
bool tests_for_nothing(const Rewriter& r, std::span<const StmtId> list) {
  const Stmt& test = r.ast[list[0]];
  if (list.size() != 2 || !test.orelse.empty() || test.body.size() > 1) return false;
  if (!test.body.empty() && r.ast[test.body[0]].kind != StmtKind::Pass) return false;
  const Stmt& last = r.ast[list[1]];
  if (last.kind != StmtKind::Return || !last.e[0]) return false;
  const ExprKind kind = r.ast[last.e[0]].kind;
  return kind == ExprKind::Name || kind == ExprKind::Constant;
}

}  // namespace

ExprId body_as_expression(Rewriter& r, std::span<const StmtId> body) {
  // Arms still to be read, innermost last: the test and value of an `if`, and its other arm.
  struct Arm {
    ExprId test, value;
    std::span<const StmtId> other;
    Origin origin;
  };
  std::vector<Arm> open;
  std::span<const StmtId> list = body;
  for (;;) {
    ExprId value;
    const Stmt s = list.empty() ? Stmt{} : r.ast[list[0]];
    if (s.kind == StmtKind::If && tests_for_nothing(r, list)) {
      const ExprId after = r.ast[list[1]].e[0];
      const Expr copy = r.ast[after];
      value =
          r.ast.expr(ExprKind::IfExp, {s.e[0], r.ast.add(copy), after}, UINT32_MAX, 0, s.origin);
    } else if (s.kind == StmtKind::If) {
      const auto rest = list.subspan(1);
      if (!s.orelse.empty() && !rest.empty()) return ExprId::none();
      const std::span<const StmtId> other =
          s.orelse.empty() ? rest : std::span<const StmtId>(s.orelse);
      if (s.body.size() == 1 && r.ast[s.body[0]].kind == StmtKind::Raise) {
        list = other;
        continue;
      }
      // An arm that falls through goes on after the `if`.
      if (s.orelse.empty() && !rest.empty() &&
          (s.body.empty() || r.ast[s.body.back()].kind == StmtKind::Pass))
        return ExprId::none();
      open.push_back({s.e[0], ExprId::none(), other, s.origin});
      list = s.body;
      continue;
    } else if (s.kind == StmtKind::Return && s.e[0]) {
      value = s.e[0];
    } else if (list.empty() || s.kind == StmtKind::Return ||
               (s.kind == StmtKind::Pass && list.size() == 1)) {
      value = r.ast.constant(r.make_constant(ConstKind::None), s.origin);
    } else {
      return ExprId::none();
    }
    while (!open.empty() && open.back().value) {
      value = r.ast.expr(ExprKind::IfExp, {open.back().test, open.back().value, value}, UINT32_MAX,
                         0, open.back().origin);
      open.pop_back();
    }
    if (open.empty()) return value;
    open.back().value = value;
    list = open.back().other;
  }
}

void restore_definitions(Rewriter& r) { Definer(r).run(); }

}  // namespace depyf
