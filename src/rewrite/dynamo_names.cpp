#include "rewrite/dynamo_names.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ast/walk.h"
#include "rewrite/dynamo_parameters.h"
#include "rewrite/dynamo_statements.h"
#include "rewrite/dynamo_words.h"
#include "simplify/simplify.h"

namespace depyf {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::string_view kContext = "___context_manager_";  // locals that hold one

/// A local that gets another name.
struct Local {
  StrId name;
  std::vector<StmtId> stores;  // that assign it by an assignment
  std::uint32_t bindings = 0;  // all: assignments, loops, `with` ...
  std::uint32_t reads = 0;
  bool made_up = false;    // by Dynamo; else a temporary of the source
  Words words;             // of which the last ones are its name
  std::size_t length = 0;  // how many of them
  bool holder = false;     // its last word is that of a holder, see is_holder
  bool is_class = false;
  bool is_module = false;  // that torch installed, which says little of what is in it
  std::string given;
};

/// What a local is used as, the best of them.
struct Use {
  int rank = 100;
  Words words;
};

class Naming {
 public:
  Naming(Ast& ast, CodeId code, const DynamoNaming& naming)
      : ast_(ast), module_(*ast.module), code_(code), object_(module_[code]), naming_(naming) {}

  void run() {
    find_locals();
    if (!locals_.empty()) {
      join_stores();
      count();
      if (drop_copies()) find_locals();
      if (fold_values()) find_locals();
    }
    name_globals();
    name_parameters();
    if (!locals_.empty()) {
      find_uses();
      for (std::size_t i = 0; i < locals_.size(); ++i) describe(locals_[i]);
      tell_apart();
      rename();
    }
    std::unordered_set<std::uint32_t> given;
    for (const Local& local : locals_) given.insert(module_.intern(local.given).index);
    join_statements(ast_, code_, given, naming_.indentation);
    rename_globals();
  }

 private:
  Ast& ast_;
  Module& module_;
  const CodeId code_;
  const CodeObject& object_;
  const DynamoNaming& naming_;
  std::vector<Local> locals_;  // in the order in which they are first seen
  std::unordered_map<std::uint32_t, std::size_t> index_;  // by name
  std::unordered_map<std::uint32_t, Use> uses_;           // by name
  std::unordered_map<std::uint32_t, StrId> globals_;      // real name -> what stands for it

  std::span<StmtId>& body() { return ast_.bodies[code_.index].stmts; }
  std::string_view text(std::uint32_t name) const { return module_[StrId(name)]; }

  // ---------------------------------------------------------------- the locals

  std::uint32_t arguments() const { return static_cast<std::uint32_t>(object_.parameter_count()); }

  bool is_name(ExprId id) const { return ast_[id].kind == ExprKind::Name && !local_of(id); }

  bool is_fast(const Expr& e) const {
    return e.kind == ExprKind::Name && static_cast<NameScope>(e.op) == NameScope::Fast;
  }

  const Local* local_of(ExprId id) const {
    if (!id || !is_fast(ast_[id])) return nullptr;
    const auto found = index_.find(ast_[id].a);
    return found == index_.end() ? nullptr : &locals_[found->second];
  }
  Local* local_of(ExprId id) { return const_cast<Local*>(std::as_const(*this).local_of(id)); }

  void find_locals() {
    locals_.clear();
    index_.clear();
    std::unordered_set<std::uint32_t> slots, made_up;
    for (std::uint32_t i = 0; i < object_.slots.size(); ++i) {
      const Slot& slot = object_.slots[i];
      slots.insert(slot.name.index);
      const std::string_view name = module_[slot.name];
      const bool own = std::find(naming_.own_locals.begin(), naming_.own_locals.end(), name) !=
                       naming_.own_locals.end();
      if (naming_.renames && i >= arguments() && slot.kind == kLocal && !own &&
          (named_like_dynamos(name) || name.starts_with(kContext)))
        made_up.insert(slot.name.index);
    }
    // Comprehensions that are code objects of their own bind variables of the program. What a code
    // object holds stands before it.
    for (std::uint32_t id = code_.index; id-- > 0;) {
      const CodeObject& inner = module_[CodeId(id)];
      if (!inner.parent || inner.parent.index > code_.index) break;
      for (const Slot& slot : inner.slots) slots.insert(slot.name.index);
    }
    // What `except` and patterns bind has its name outside of expressions that are names.
    StmtIds statements;
    collect_statements(ast_, body(), statements);
    for (StmtId id : statements)
      if (ast_[id].kind == StmtKind::Handler) slots.insert(ast_[id].a);
    for (ExprId id : collect_expressions(ast_, body()))
      if (ast_[id].kind == ExprKind::MatchAs) slots.insert(ast_[id].a);
    for (ExprId e : by_statement()) {
      if (!is_fast(ast_[e]) || index_.count(ast_[e].a)) continue;
      const bool temporary = !slots.count(ast_[e].a);
      if (!temporary && !made_up.count(ast_[e].a)) continue;
      index_.emplace(ast_[e].a, locals_.size());
      locals_.emplace_back();
      locals_.back().name = StrId(ast_[e].a);
      locals_.back().made_up = !temporary;
    }
    count();
  }

  /// The expressions of the body, those of each statement before those of the next.
  std::vector<ExprId> by_statement() {
    StmtIds statements;
    collect_statements(ast_, body(), statements);
    std::vector<ExprId> all;
    for (StmtId id : statements) {
      ExprIds inside;
      append_roots(ast_, id, inside);
      collect_below(ast_, inside);
      all.insert(all.end(), inside.begin(), inside.end());
    }
    return all;
  }

  void bind(ExprId target, StmtId statement) {
    std::vector<ExprId> work{target};
    while (!work.empty()) {
      const ExprId id = work.back();
      work.pop_back();
      if (!id) continue;
      if (Local* local = local_of(id)) {
        ++local->bindings;
        --local->reads;  // count() takes every name for a read
        if (statement) local->stores.push_back(statement);
      }
      const Expr& e = ast_[id];
      if (e.kind == ExprKind::Tuple || e.kind == ExprKind::List || e.kind == ExprKind::Starred)
        work.insert(work.end(), e.kids.begin(), e.kids.end());
    }
  }

  void count() {
    for (Local& local : locals_) {
      local.stores.clear();
      local.bindings = local.reads = 0;
    }
    const ExprIds all = collect_expressions(ast_, body());
    for (ExprId id : all)
      if (Local* local = local_of(id)) ++local->reads;
    for (ExprId id : all)
      if (ast_[id].kind == ExprKind::NamedExpr || ast_[id].kind == ExprKind::Comprehension)
        bind(ast_[id].kids[0], {});
    StmtIds statements;
    collect_statements(ast_, body(), statements);
    for (StmtId id : statements) {
      const Stmt& s = ast_[id];
      if (s.kind == StmtKind::Assign)
        for (ExprId target : s.list) bind(target, s.list.size() == 1 ? id : StmtId());
      else if (s.kind == StmtKind::For)
        bind(s.e[0], {});
      else if (s.kind == StmtKind::Delete)
        for (ExprId target : s.list)
          if (Local* local = local_of(target)) --local->reads;
      if (s.kind == StmtKind::AugAssign) {
        bind(s.e[0], {});
        if (Local* local = local_of(s.e[0])) ++local->reads;
      }
      if (s.kind == StmtKind::With)
        for (std::size_t i = 1; i < s.list.size(); i += 2) bind(s.list[i], {});
    }
  }

  /// The one assignment that gives it its value, as `name = value`.
  StmtId definition(const Local& local) const {
    if (local.bindings != 1 || local.stores.size() != 1) return {};
    const Stmt& s = ast_[local.stores[0]];
    return ast_[s.list[0]].kind == ExprKind::Name ? local.stores[0] : StmtId();
  }

  // ---------------------------------------------------------------- one name a value

  bool mentions(StmtId statement, std::uint32_t name) {
    const ExprIds inside = collect_expressions(ast_, {&statement, 1});
    return std::any_of(inside.begin(), inside.end(), [&](ExprId id) {
      return ast_[id].kind == ExprKind::Name && ast_[id].a == name;
    });
  }

  /// `t = value; ...; g = t`, where nothing else reads t and the statements between do not know g:
  /// `g = value; ...`. Only a frame that is looked at from outside tells the two apart, and g is
  /// Dynamo's.
  void join_stores() {
    ListRefs refs;
    collect_lists(ast_, body(), refs);
    for (const ListRef& ref : refs) {
      if (ref.which == ListRef::Arms) continue;
      const std::span<StmtId> old = ref.owner ? list_of(ast_, ref) : body();
      std::vector<StmtId> list(old.begin(), old.end());
      std::unordered_map<std::uint32_t, std::size_t> made;  // temporary -> where
      for (std::size_t i = 0; i < list.size(); ++i) {
        const Stmt& s = ast_[list[i]];
        if (s.kind != StmtKind::Assign || s.list.size() != 1) continue;
        const Local* target = local_of(s.list[0]);
        if (!target) continue;
        const Local* from = local_of(s.e[0]);
        if (target->made_up && from && !from->made_up && from->reads == 1) {
          const auto found = made.find(from->name.index);
          if (found != made.end() && passes(list, found->second, i, target->name.index)) {
            Stmt& first = ast_[list[found->second]];
            first.list = s.list;
            absorb(ast_, list[found->second], list[i]);
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(i--));
            continue;
          }
        }
        if (definition(*target) == list[i]) made[target->name.index] = i;
      }
      if (list.size() == old.size()) continue;
      const std::span<StmtId> shorter = ast_.arena.copy(list);
      (ref.owner ? list_of(ast_, ref) : body()) = shorter;
    }
  }

  // ---------------------------------------------------------------- copies of a local

  bool is_kept(const Local& local) const {
    const std::string_view name = module_[local.name];
    return std::any_of(naming_.kept_locals.begin(), naming_.kept_locals.end(),
                       [&](const std::string& kept) { return kept == name; });
  }

  /// Names made up here that are bound once, in the body itself, and never deleted. The bytecode
  /// has such a value on the stack, as often as it is used.
  std::unordered_set<std::uint32_t> bound_once() {
    std::unordered_set<std::uint32_t> top, deleted, found;
    for (StmtId id : body()) top.insert(id.index);
    StmtIds statements;
    collect_statements(ast_, body(), statements);
    for (StmtId id : statements)
      if (ast_[id].kind == StmtKind::Delete)
        for (ExprId target : ast_[id].list) add_bound_names(ast_, target, deleted);
    for (const Local& local : locals_) {
      const StmtId made = definition(local);
      if (made && top.count(made.index) && !deleted.count(local.name.index))
        found.insert(local.name.index);
    }
    return found;
  }

  /// Dynamo copies a parameter where it uses it twice. `t = p; f(t); del t` is `f(p)`: the caller's
  /// argument is there for as long as the call takes. Copies of what is bound once are no others.
  bool drop_copies() {
    const std::unordered_set<std::uint32_t> settled = settled_parameters(ast_, code_);
    const std::unordered_set<std::uint32_t> once = bound_once();
    std::unordered_map<std::uint32_t, std::uint32_t> copies;
    std::unordered_set<std::uint32_t> copying;  // statements
    for (const Local& local : locals_) {
      const StmtId made = definition(local);
      if (!made || !is_fast(ast_[ast_[made].e[0]])) continue;
      const std::uint32_t of = ast_[ast_[made].e[0]].a;
      const auto through = copies.find(of);
      const std::uint32_t root = through == copies.end() ? of : through->second;
      const bool same = once.count(root) && once.count(local.name.index);
      if (is_kept(local)) {  // of two names of a value, the one that keeps it stays
        if (!same || settled.count(root) || is_kept(locals_[index_.at(root)])) continue;
        for (auto& [name, to] : copies)
          if (to == root) to = local.name.index;
        copies.emplace(root, local.name.index);
        copying.insert(made.index);
        continue;
      }
      if (!settled.count(root) && !same) continue;
      copies.emplace(local.name.index, root);
      copying.insert(made.index);
    }
    if (copies.empty()) return false;
    for (ExprId id : collect_expressions(ast_, body())) {
      Expr& e = ast_[id];
      if (!is_fast(e)) continue;
      if (const auto found = copies.find(e.a); found != copies.end()) e.a = found->second;
    }
    bool dropped = false;
    ListRefs refs;
    collect_lists(ast_, body(), refs);
    for (const ListRef& ref : refs) {
      if (ref.which == ListRef::Arms) continue;
      const std::span<StmtId> old = ref.owner ? list_of(ast_, ref) : body();
      std::vector<StmtId> list;
      for (StmtId id : old) {
        Stmt& s = ast_[id];
        const auto is_settled = [&](ExprId e) {
          return is_fast(ast_[e]) && settled.count(ast_[e].a);
        };
        bool goes = copying.count(id.index) != 0;
        if (s.kind == StmtKind::Delete) {  // of copies: nothing deletes the parameter itself
          std::vector<ExprId> left;
          for (ExprId e : s.list)
            if (!is_settled(e)) left.push_back(e);
          goes = left.empty();
          if (!goes && left.size() < s.list.size()) s.list = ast_.arena.copy(left);
        }
        if (!goes) {
          list.push_back(id);
        } else if (!list.empty()) {
          absorb(ast_, list.back(), id);
        }
      }
      if (list.size() == old.size()) continue;
      dropped = true;
      if (list.empty()) {
        Stmt pass;
        pass.kind = StmtKind::Pass;
        list.push_back(ast_.add(pass));
      }
      const std::span<StmtId> shorter = ast_.arena.copy(list);
      (ref.owner ? list_of(ast_, ref) : body()) = shorter;
    }
    return dropped;
  }

  // ---------------------------------------------------------------- values that need no name

  static bool is_global(const Expr& e) {
    return e.kind == ExprKind::Name && static_cast<NameScope>(e.op) == NameScope::Global;
  }

  /// What says as much as a name for it would: a global, an attribute of one, an empty list.
  bool needs_no_name(ExprId id) const {
    const Expr& e = ast_[id];
    if (e.kind == ExprKind::List) return e.kids.empty();
    return is_global(e) || (e.kind == ExprKind::Attribute && is_global(ast_[e.kids[0]]));
  }

  /// Where an expression reads a local, if nothing but names and constants is read before it.
  ExprId read_first(ExprId id, std::uint32_t name, bool& computed) const {
    const Expr& e = ast_[id];
    if (is_fast(e)) return e.a == name ? id : ExprId();
    if (is_global(e) || e.kind == ExprKind::Constant) return {};
    if (e.kind == ExprKind::Call || e.kind == ExprKind::Tuple || e.kind == ExprKind::Attribute ||
        e.kind == ExprKind::Subscript)
      for (ExprId kid : e.kids)
        if (const ExprId found = read_first(kid, name, computed); found || computed) return found;
    computed = true;
    return {};
  }

  /// `t = torch.f` or `t = []` and then `x = t(y)`, where nothing else reads t: `x = torch.f(y)`.
  /// The bytecode has such a value on the stack.
  bool fold_values() {
    bool folded = false;
    ListRefs refs;
    collect_lists(ast_, body(), refs);
    for (const ListRef& ref : refs) {
      if (ref.which == ListRef::Arms) continue;
      const std::span<StmtId> old = ref.owner ? list_of(ast_, ref) : body();
      std::vector<StmtId> list(old.begin(), old.end());
      for (std::size_t i = list.size(); i-- > 1;) {
        const Stmt& made = ast_[list[i - 1]];
        const Stmt& next = ast_[list[i]];
        if (made.kind != StmtKind::Assign || made.list.size() != 1) continue;
        if (next.kind != StmtKind::Assign && next.kind != StmtKind::Return) continue;
        const Local* local = local_of(made.list[0]);
        if (!local || local->made_up || local->reads != 1 || definition(*local) != list[i - 1] ||
            !needs_no_name(made.e[0]) || !next.e[0])
          continue;
        bool computed = false;
        const ExprId place = read_first(next.e[0], local->name.index, computed);
        if (!place) continue;
        ast_[place] = ast_[made.e[0]];
        absorb(ast_, list[i], list[i - 1]);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i - 1));
      }
      if (list.size() == old.size()) continue;
      folded = true;
      const std::span<StmtId> shorter = ast_.arena.copy(list);
      (ref.owner ? list_of(ast_, ref) : body()) = shorter;
    }
    return folded;
  }

  static constexpr std::size_t kFar = 64;
  static constexpr int kLongestPath = 200;

  bool passes(const std::vector<StmtId>& list, std::size_t from, std::size_t to,
              std::uint32_t name) {
    if (to - from > kFar) return false;
    for (std::size_t i = from + 1; i < to; ++i) {
      const StmtKind kind = ast_[list[i]].kind;
      if ((kind != StmtKind::Assign && kind != StmtKind::Delete && kind != StmtKind::Expr) ||
          mentions(list[i], name))
        return false;
    }
    return true;
  }

  // ---------------------------------------------------------------- what a value is

  std::string_view last_name(ExprId id) const {
    const Expr& e = ast_[id];
    if (e.kind == ExprKind::Attribute) return text(e.a);
    if (e.kind != ExprKind::Name) return {};
    const auto given = globals_.find(e.a);
    return given == globals_.end() ? text(e.a) : module_[given->second];
  }

  /// What a name stands for, where Dynamo made a local of it: `tmp_13` is `setattr`.
  std::string_view function_name(ExprId id) {
    if (Local* local = local_of(id))
      if (const StmtId made = definition(*local)) return last_name(ast_[made].e[0]);
    return last_name(id);
  }

  /// Also of a local that holds one.
  const Const* constant(ExprId id) const {
    const auto found = id && is_fast(ast_[id]) ? index_.find(ast_[id].a) : index_.end();
    if (found != index_.end())
      if (const StmtId made = definition(locals_[found->second])) id = ast_[made].e[0];
    return id && ast_[id].kind == ExprKind::Constant ? &module_[ConstId(ast_[id].a)] : nullptr;
  }

  std::string_view string_of(ExprId id) const {
    const Const* c = constant(id);
    return c && c->kind == ConstKind::Str ? std::string_view(c->text) : std::string_view();
  }

  /// A small number that is not negative, else -1.
  std::int64_t number_of(ExprId id) const {
    const Const* c = constant(id);
    return c && c->kind == ConstKind::Int && c->integer >= 0 && c->integer < 1000000 ? c->integer
                                                                                     : -1;
  }

  bool is_graph(ExprId id) const {
    return ast_[id].kind == ExprKind::Name && text(ast_[id].a).starts_with("__compiled_fn_") &&
           !is_own(ast_[id].a);
  }

  bool has_varargs(std::uint32_t name) const {
    const std::uint32_t fixed = object_.argcount + object_.kwonlyargcount;
    const std::uint32_t count =
        ((object_.flags & kVarArgs) != 0) + ((object_.flags & kVarKeywords) != 0);
    for (std::uint32_t i = fixed; i < fixed + count && i < object_.slots.size(); ++i)
      if (object_.slots[i].name.index == name) return true;
    return false;
  }

  static void push(Words& back, std::string_view word) {
    if (std::string plain = plain_word(word); !plain.empty()) back.push_back(std::move(plain));
  }

  /// Which key of its dict `dict_keys_getitem(d, 3)` is; -1 for all else.
  std::int64_t place_of_key(ExprId id) {
    const Expr& e = ast_[settled(id)];
    const bool is = e.kind == ExprKind::Call && e.kids.size() == 3 &&
                    function_name(e.kids[0]) == "dict_keys_getitem";
    return is ? number_of(e.kids[2]) : -1;
  }

  /// A key, the place of one or a small number, as a word; false for any other index.
  bool push_index(Words& back, ExprId index) {
    const std::string_view key = string_of(index);
    if (!key.empty() && key.size() < 7 && key.find_first_not_of("0123456789") == key.npos)
      back.emplace_back(key);  // nn.Sequential's
    else if (!key.empty())
      push(back, key);
    else if (number_of(index) >= 0)
      back.push_back(std::to_string(number_of(index)));
    else if (const std::int64_t place = place_of_key(index); place >= 0)
      back.push_back(std::to_string(place));
    else
      return false;
    return true;
  }

  /// The words of the path that leads to a value: of `self._modules['model']._parameters['weight']`
  /// model and weight. Empty where there is no path.
  Words path(ExprId id) {
    Words back;  // from the end
    for (int steps = 0; id && steps < kLongestPath; ++steps) {
      const Expr& e = ast_[id];
      if (e.kind == ExprKind::Name) return begins(id, back) ? joined(back) : Words();
      if (e.kind == ExprKind::Attribute) {
        if (!is_holder(text(e.a)) || back.empty()) push(back, text(e.a));
        id = e.kids[0];
      } else if (e.kind == ExprKind::Subscript) {
        std::string word = handed_word(id);
        if (word.empty() && is_of_mro(e)) word = "base_class";
        if (word.empty() && back.empty()) word = builtin_word(e);
        if (word.empty() && !back.empty()) word = output_name(id);
        if (!word.empty()) {
          push(back, word);
          return joined(back);
        }
        if (!push_index(back, e.kids[1])) return {};
        id = e.kids[0];
      } else if (e.kind == ExprKind::Call) {
        if (!called(id, back)) return {};
        if (!id) return joined(back);
      } else {
        return {};
      }
    }
    return {};
  }

  /// Of `builtins_dict['bool']`, builtin_bool; "" for all else.
  std::string builtin_word(const Expr& subscript) {
    const ExprId holder = settled(subscript.kids[0]);
    const bool known = globals_.count(ast_[holder].a) != 0 && is_global(ast_[holder]);
    const std::string_view key = string_of(subscript.kids[1]);
    const bool builtin = known && last_name(holder).starts_with("builtins_dict") && !key.empty();
    return builtin ? "builtin_" + plain_word(key) : std::string();
  }

  /// `type(x).__mro__[2]`
  bool is_of_mro(const Expr& e) {
    const Expr& classes = ast_[settled(e.kids[0])];
    if (classes.kind != ExprKind::Attribute || text(classes.a) != "__mro__") return false;
    const Expr& of = ast_[settled(classes.kids[0])];
    return of.kind == ExprKind::Call && function_name(of.kids[0]) == "type";
  }

  /// What a local is assigned, where that is all; else the expression itself.
  ExprId settled(ExprId id) {
    const Local* local = local_of(id);
    const StmtId made = local ? definition(*local) : StmtId();
    return made ? ast_[made].e[0] : id;
  }

  /// The variable of a caller that `__nested_frame_values[0][1]` is, or of this function that
  /// `__resume_frame_values[1]` is; "" for all else.
  std::string handed_word(ExprId id) {
    const std::int64_t place = number_of(ast_[id].kids[1]);
    const Expr& list = ast_[settled(ast_[id].kids[0])];
    std::string key;
    if (list.kind == ExprKind::Name) {
      key = text(list.a);
    } else if (list.kind == ExprKind::Subscript && number_of(list.kids[1]) >= 0) {
      const Expr& lists = ast_[settled(list.kids[0])];
      if (lists.kind != ExprKind::Name) return {};
      key = std::string(text(lists.a)) + "[" + std::to_string(number_of(list.kids[1])) + "]";
    }
    if (place < 0 || key.find("_frame_values") == key.npos) return {};
    const std::vector<std::string>* names = row_of(naming_.parameters, key);
    return names && static_cast<std::size_t>(place) < names->size()
               ? (*names)[static_cast<std::size_t>(place)]
               : std::string();
  }

  /// Where a path begins: a name.
  bool begins(ExprId id, Words& back) {
    const std::uint32_t name = ast_[id].a;
    if (const Local* local = local_of(id)) {
      if (local->words.empty() || (back.empty() && local->words == Words{"value"})) return false;
      if (local->is_module && !back.empty()) return true;
      const bool through = local->holder && !back.empty() && local->words.size() > 1;
      for (std::size_t i = local->words.size() - (through ? 1 : 0); i-- > 0;)
        back.push_back(local->words[i]);
    } else if (const auto found = globals_.find(name); found != globals_.end()) {
      const std::string_view given = module_[found->second];  // a module says little of its things
      if (back.empty()) push(back, given.starts_with("builtins_dict") ? "builtins" : given);
    } else if (text(name).starts_with("__import_") && !is_own(name)) {
      if (back.empty()) push(back, module_word(text(name)));
    } else if (back.empty() || !is_shell(name, back.back())) {
      push(back, text(name));
    }
    return true;
  }

  /// A call: goes on with what the result is a part of; none where the name of the function is all.
  bool called(ExprId& id, Words& back) {
    const Expr& e = ast_[id];
    const std::size_t n = e.kids.size();
    const ExprId callee = e.kids[0];
    id = {};
    if (is_graph(callee)) {
      back.emplace_back("graph_out");
      return true;
    }
    const std::string_view name = function_name(callee);
    if (name.empty()) {  // `self._modules['encoder'](x)`, or of a local that holds it
      back.emplace_back("result");
      id = callee;
      return true;
    }
    if (name == "call_size" && n == 3 && number_of(e.kids[2]) >= 0) {
      back.push_back(std::to_string(number_of(e.kids[2])));
      back.emplace_back("size");
      id = e.kids[1];
    } else if (name == "__new__" && n >= 2) {
      push_instance(back, path(e.kids[1]));
    } else if (name == "_create_nested_fn" && n >= 4 && !string_of(e.kids[3]).empty()) {
      const std::string_view made = string_of(e.kids[3]);
      push(back, made == "<lambda>" ? "lambda_function" : made);
    } else if (name == "_as_tensor_fullprec" && n >= 2) {
      id = e.kids[1];
    } else if ((name == "type" || name == "iter") && n == 2) {
      back.emplace_back(name == "type" ? "class" : "iterator");
      const ExprKind kind = ast_[e.kids[1]].kind;
      if (kind != ExprKind::Tuple && kind != ExprKind::List) id = e.kids[1];
    } else if (name == "dict_getitem" && n == 3) {
      if (!push_index(back, e.kids[2])) return false;
      id = e.kids[1];
    } else if (name == "dict_keys_getitem" && n == 3 && number_of(e.kids[2]) >= 0) {
      back.push_back(std::to_string(number_of(e.kids[2])));
      back.emplace_back("key");
      id = e.kids[1];
    } else if ((name == "__getitem__" || name == "getattr") && n >= 2) {
      if (!push_index(back, e.kids[n - 1])) return false;
      if (n == 3) id = e.kids[1];
    } else {
      // A function's name is no name for what it returns: the two would differ by a number.
      const bool is_function = ast_[e.kids[0]].kind == ExprKind::Name && name[0] >= 'a';
      if (is_function && name != "record_pregraph_bytecode_enter") back.emplace_back("result");
      push(back, name == "record_pregraph_bytecode_enter" ? "pregraph_record" : name);
      if (ast_[e.kids[0]].kind == ExprKind::Attribute) id = ast_[e.kids[0]].kids[0];
    }
    return true;
  }

  /// Whether a name is spelt as that of a class: `Linear`, and no constant such as `VOCAB`.
  static bool is_class_name(std::string_view name) {
    const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
    return !name.empty() && name[0] >= 'A' && name[0] <= 'Z' &&
           std::any_of(name.begin(), name.end(), is_lower);
  }

  /// An instance of a class, by the words of the class: of `output_class` it is a `new_output`.
  static void push_instance(Words& back, Words words) {
    if (words.size() > 1 && words.back() == "class") {
      words.pop_back();
      words.back() = "new_" + words.back();
    }
    back.insert(back.end(), words.rbegin(), words.rend());
  }

  /// `self`, `args`, `kwargs`: what is in them says enough.
  bool is_shell(std::uint32_t name, const std::string& next) const {
    const bool number = !next.empty() && next[0] >= '0' && next[0] <= '9';
    return text(name) == "self" || (has_varargs(name) && !number);
  }

  static Words joined(Words& back) {
    Words out;
    for (std::size_t i = back.size(); i-- > 0;) {
      const bool number = back[i][0] >= '0' && back[i][0] <= '9';
      if (number && !out.empty())
        out.back() += "_" + back[i];
      else
        out.push_back(number ? "item_" + back[i] : back[i]);
    }
    return out;
  }

  // ---------------------------------------------------------------- what a value becomes

  void want(ExprId id, int rank, Words words) {
    if (!local_of(id) || words.empty()) return;
    for (std::string& word : words) word = plain_word(word);
    if (words.back().empty()) return;
    Use& use = uses_[ast_[id].a];
    if (rank < use.rank) use = {rank, std::move(words)};
  }

  static const std::vector<std::string>* row_of(const DynamoNaming::Table* table,
                                                std::string_view name) {
    if (!table) return nullptr;
    for (const auto& [function, names] : *table)
      if (function == name) return &names;
    return nullptr;
  }

  /// Of a function that a global holds, or that a call of one returns: `__resume_at_8_4(cells)(x)`.
  const std::vector<std::string>* parameters_of(ExprId function, const char* what = "") {
    const Expr& e = ast_[settled(function)];
    if (e.kind == ExprKind::Name) return row_of(naming_.parameters, std::string(text(e.a)) + what);
    if (e.kind != ExprKind::Call || ast_[e.kids[0]].kind != ExprKind::Name) return nullptr;
    return row_of(naming_.parameters, std::string(text(ast_[e.kids[0]].a)) + "()" + what);
  }

  /// The values in a list are what the resume function `function` goes on with.
  void want_each(ExprId list, ExprId function) {
    const Expr e = ast_[settled(list)];
    const std::vector<std::string>* names = parameters_of(function, "[]");
    if (!names || e.kind != ExprKind::List) return;
    for (std::size_t k = 0; k < e.kids.size() && k < names->size(); ++k)
      want(e.kids[k], kParameter, {(*names)[k]});
  }

  /// `__resume_at_8_4([of a caller], [[its values]], ...)`
  void want_handed(const Expr& call) {
    if (call.kids.size() < 3) return;
    const Expr functions = ast_[settled(call.kids[1])], values = ast_[settled(call.kids[2])];
    if (functions.kind != ExprKind::List || values.kind != ExprKind::List) return;
    for (std::size_t k = 0; k < functions.kids.size() && k < values.kids.size(); ++k)
      want_each(values.kids[k], functions.kids[k]);
    if (call.kids.size() == 4 && ast_[settled(call.kids[3])].kind == ExprKind::List)
      want_each(call.kids[3], call.kids[0]);
  }

  enum Rank : int { kParameter, kAttribute, kKeyword, kCondition, kResult };

  Words under(ExprId object, std::string_view name) {
    Words out = path(object);
    out.emplace_back(name);
    return out;
  }

  /// A keyword as the name of its value, cut where a line has no place for `keyword=name,`.
  static std::string beside(std::string_view keyword) {
    constexpr std::size_t kLeast = 12, kIndented = 10;
    const std::size_t taken = keyword.size() + kIndented;
    const std::size_t room = taken < kWidth ? kWidth - taken : 0;
    return keyword.size() <= room ? std::string(keyword)
                                  : plain_word(keyword, std::clamp(room, kLeast, kLongestWord));
  }

  /// `kwargs.update(t)`: t are new entries of it.
  void want_entries(const Expr& call) {
    const Expr& method = ast_[settled(call.kids[0])];
    if (method.kind != ExprKind::Attribute || text(method.a) != "update") return;
    const std::string_view owner = last_name(method.kids[0]);
    if (!owner.empty() && !local_of(method.kids[0]))
      want(call.kids[1], kKeyword, {"new_" + plain_word(owner)});
    else if (local_of(call.kids[1]))
      entries_.emplace(ast_[call.kids[1]].a, method.kids[0]);
  }

  void find_uses() {
    for (ExprId id : collect_expressions(ast_, body())) {
      const Expr e = ast_[id];
      if (e.kind == ExprKind::Call) {
        const std::vector<std::string>* parameters = parameters_of(e.kids[0]);
        if (parameters) want_handed(e);
        bool positional = true;
        for (std::size_t k = 1; k < e.kids.size(); ++k) {
          const Expr& argument = ast_[e.kids[k]];
          positional &= argument.kind != ExprKind::Starred && argument.kind != ExprKind::Keyword;
          if (argument.kind == ExprKind::Keyword && argument.a == UINT32_MAX)
            want(argument.kids[0], kResult, {"keywords"});
          else if (argument.kind == ExprKind::Keyword)
            want(argument.kids[0], kKeyword, {beside(text(argument.a))});
          else if (positional && parameters && k <= parameters->size() &&
                   !(*parameters)[k - 1].starts_with("___stack"))
            want(e.kids[k], kParameter, {(*parameters)[k - 1]});
        }
        const std::string_view name = function_name(e.kids[0]);
        if (e.kids.size() == 2) want_entries(e);
        if (e.kids.size() == 4 && !string_of(e.kids[2]).empty() &&
            (name.ends_with("setattr") || name.starts_with("object_setattr") ||
             name == "__setattr__" || name == "__setitem__"))
          setters_.push_back(id);
      } else if (e.kind == ExprKind::Dict) {
        for (std::size_t k = 0; k + 1 < e.kids.size(); k += 2)
          if (e.kids[k] && !string_of(e.kids[k]).empty())
            want(e.kids[k + 1], kKeyword, {std::string(string_of(e.kids[k]))});
      }
    }
    StmtIds statements;
    collect_statements(ast_, body(), statements);
    for (StmtId id : statements) {
      const Stmt s = ast_[id];
      if (s.kind == StmtKind::If) {
        ExprId test = s.e[0];
        if (test && ast_[test].kind == ExprKind::Unary) test = ast_[test].kids[0];
        want(test, kCondition, {"cond"});
      } else if (s.kind == StmtKind::Return && s.e[0]) {
        want(s.e[0], kResult, {"result"});
      } else if (s.kind == StmtKind::Assign && s.list.size() == 1) {
        const Expr& target = ast_[s.list[0]];
        if (target.kind == ExprKind::Name && !local_of(s.list[0]))
          want(s.e[0], kAttribute, {std::string(text(target.a))});
        else if (target.kind == ExprKind::Subscript && is_name(target.kids[0]) &&
                 ast_[target.kids[1]].kind == ExprKind::Slice)  // `log[:] = t`
          want(s.e[0], kAttribute, {std::string(text(ast_[target.kids[0]].a)) + "_items"});
        else if (target.kind == ExprKind::Attribute ||
                 (target.kind == ExprKind::Subscript && !string_of(target.kids[1]).empty()))
          stored_.push_back(id);
        if (const Local* object =
                target.kind == ExprKind::Attribute ? local_of(target.kids[0]) : nullptr) {
          std::size_t& longest = attributes_[object->name.index];
          longest = std::max(longest, text(target.a).size());
        }
      }
    }
  }

  /// The name of a local, cut where a line has no place for `local.attribute = (`, which cannot be
  /// broken.
  std::string beside_attributes(const Local& local, std::string name) const {
    constexpr std::size_t kLeast = 12, kIndented = 8, kRest = std::string_view(". = (").size();
    const auto found = attributes_.find(local.name.index);
    if (found == attributes_.end()) return name;
    const std::size_t taken = found->second + kIndented + kRest;
    const std::size_t room = std::max(taken < kWidth ? kWidth - taken : 0, kLeast);
    return name.size() <= room ? name : plain_word(name, room);
  }

  std::unordered_map<std::uint32_t, std::size_t> attributes_;  // the longest that is set, by object
  std::unordered_map<std::uint32_t, ExprId> entries_;  // what is put into which dict, by name
  std::vector<ExprId> setters_;  // calls that set an attribute: (object, name, value)
  std::vector<StmtId> stored_;   // assignments to attributes and keys

  /// What an attribute or key is set to is named so; the words of the object tell two apart. Asked
  /// for when the objects' own words are known.
  Use use_of(const Local& local) {
    const auto found = uses_.find(local.name.index);
    Use use = found == uses_.end() ? Use() : found->second;
    if (use.rank <= kAttribute) return use;
    for (ExprId id : setters_) {
      const Expr& e = ast_[id];
      if (local_of(e.kids[3]) != &local) continue;
      use = {kAttribute, under(e.kids[1], plain_word(string_of(e.kids[2])))};
    }
    for (StmtId id : stored_) {
      const Stmt& s = ast_[id];
      if (local_of(s.e[0]) != &local) continue;
      const Expr& target = ast_[s.list[0]];
      const std::string_view name =
          target.kind == ExprKind::Attribute ? text(target.a) : string_of(target.kids[1]);
      use = {kAttribute, under(target.kids[0], plain_word(name))};
    }
    if (use.words.empty() || use.words.back().empty())
      use = found == uses_.end() ? Use() : found->second;
    const auto entry = entries_.find(local.name.index);
    if (use.words.empty() && entry != entries_.end())
      if (Words words = path(entry->second); !words.empty())
        use = {kKeyword, {"new_" + words.back()}};
    return use;
  }

  // ---------------------------------------------------------------- words

  /// Of a local that is `graph_out[2]`: which graph, by its global name, and which of its outputs.
  std::pair<std::string_view, std::int64_t> output_of(ExprId value) const {
    const Expr& e = ast_[value];
    if (e.kind != ExprKind::Subscript) return {};
    const Local* tuple = local_of(e.kids[0]);
    const StmtId made = tuple ? definition(*tuple) : StmtId();
    if (!made) return {};
    const Expr& call = ast_[ast_[made].e[0]];
    if (call.kind != ExprKind::Call || !is_graph(call.kids[0])) return {};
    return {text(ast_[call.kids[0]].a), number_of(e.kids[1])};
  }

  /// What the graph calls the output that `graph_out[2]` is; "" where it has no name for it.
  std::string output_name(ExprId value) const {
    const auto [graph, output] = output_of(value);
    const std::vector<std::string>* names =
        graph.empty() || output < 0 ? nullptr : row_of(naming_.results, graph);
    const auto place = static_cast<std::size_t>(output);
    return names && place < names->size() ? (*names)[place] : std::string();
  }

  void describe(Local& local) {
    const StmtId made = definition(local);
    const Use use = use_of(local);
    const auto is = [&](Words words, std::size_t length) {
      local.words = std::move(words);
      local.length = std::min(length, local.words.size());
    };
    if (made) {
      const ExprId value = ast_[made].e[0];
      const auto [graph, output] = output_of(value);
      if (!graph.empty() && output >= 0) {
        const std::string name = output_name(value);
        // that it is returned says less than what the graph calls it: `linear`, `softmax`
        if (!use.words.empty() && (name.empty() || use.rank != kResult)) return is(use.words, 1);
        if (!name.empty()) return is({plain_word(name)}, 1);
        return is({"output_" + std::to_string(output)}, 1);
      }
      Words words = path(value);
      if (text(local.name.index).starts_with(kContext) && !words.empty() &&
          !words.back().ends_with("context"))
        words.back() += "_context";
      const std::string_view last = last_name(value);  // a class and one of it need two names
      local.is_class = is_class_name(last);
      local.holder = is_holder(last);
      local.is_module = globals_.count(ast_[value].a) != 0 && ast_[value].kind == ExprKind::Name;
      const bool call = ast_[value].kind == ExprKind::Call;
      // what the program itself calls it, where it goes on behind a graph break
      if (use.rank == kParameter && !is_parameter(use.words[0])) return is(use.words, 1);
      const bool rest = module_[object_.name].starts_with("torch_dynamo_resume_in_");
      if (!rest && is_free(ast_[value])) words.back() = "outer_" + words.back();
      if (use.rank >= kResult)
        if (std::string both = joined_words(value); !both.empty()) return is({both}, 1);
      if (!words.empty() && !(call && use.rank <= kKeyword)) return is(std::move(words), 2);
      if (use.words.empty()) {
        if (const std::string word = kind_word(value); !word.empty()) return is({word}, 1);
      }
    }
    if (!use.words.empty()) return is(use.words, 1);
    if (Words words = bound_word(local); !words.empty()) return is(std::move(words), 2);
    for (StmtId store : local.stores)  // several: by the first that says something
      if (ast_[ast_[store].list[0]].kind == ExprKind::Name)
        if (Words words = path(ast_[store].e[0]); !words.empty()) return is(std::move(words), 2);
    is({"value"}, 1);
  }

  bool is_parameter(std::string_view name) const {
    return std::any_of(object_.slots.begin(), object_.slots.begin() + arguments(),
                       [&](const Slot& slot) { return module_[slot.name] == name; });
  }

  /// A variable of a function around this one.
  bool is_free(const Expr& e) const {
    return e.kind == ExprKind::Name && static_cast<NameScope>(e.op) == NameScope::Deref &&
           std::any_of(object_.slots.begin(), object_.slots.end(), [&](const Slot& slot) {
             return slot.kind == kFree && slot.name.index == e.a;
           });
  }

  /// Of a tuple of few values that have names, `cos_and_sin`; "" for all else.
  std::string joined_words(ExprId value) {
    constexpr std::size_t kMost = 3;
    const Expr e = ast_[value];
    if (e.kind != ExprKind::Tuple || e.kids.size() < 2 || e.kids.size() > kMost) return {};
    std::string out;
    for (ExprId kid : e.kids) {
      const Words words = path(kid);
      std::string word = output_name(kid);
      if (word.empty() && !words.empty()) word = name_of(words, 1);
      if (word.empty() || word == "value" || std::isdigit(word.back())) return {};
      out += (out.empty() ? "" : "_and_") + plain_word(word);
    }
    return out.size() <= kLongestWord ? out : std::string();
  }

  /// A tuple of cells, each written as `(lambda: x).__closure__[0]`.
  bool is_of_cells(ExprId value) const {
    const Expr& e = ast_[value];
    return e.kind == ExprKind::Tuple && !e.kids.empty() &&
           std::all_of(e.kids.begin(), e.kids.end(),
                       [&](ExprId kid) { return ast_[kid].kind == ExprKind::CellRef; });
  }

  /// What a value without a path is, by its expression.
  std::string kind_word(ExprId value) {
    static constexpr std::pair<ExprKind, std::string_view> kWords[] = {
        {ExprKind::Dict, "mapping"},
        {ExprKind::DictComp, "mapping"},
        {ExprKind::List, "items"},
        {ExprKind::ListComp, "items"},
        {ExprKind::Tuple, "group"},
        {ExprKind::Compare, "cond"},
        {ExprKind::BoolOp, "cond"},
        {ExprKind::Lambda, "function"},
        {ExprKind::FunctionValue, "function"},
        {ExprKind::Slice, "part"}};
    if (is_of_cells(value)) {
      const ExprId first = ast_[value].kids[0];
      return ast_[value].kids.size() == 1 ? plain_word(text(ast_[first].a)) + "_cell" : "cells";
    }
    for (const auto& [kind, word] : kWords)
      if (ast_[value].kind == kind) return std::string(word);
    const std::string_view word = string_of(value);
    if (!word.empty()) return plain_word(word) + "_text";
    const std::int64_t number = number_of(value);
    return number >= 0 ? "number_" + std::to_string(number) : "";
  }

  /// What a loop or a `with` binds.
  Words bound_word(const Local& local) {
    StmtIds statements;
    if (local.bindings == 0 || local.bindings == local.stores.size()) return {};
    collect_statements(ast_, body(), statements);
    for (StmtId id : statements) {
      const Stmt& s = ast_[id];
      if (s.kind == StmtKind::For) {
        Words words = path(s.e[1]);
        const Expr& target = ast_[s.e[0]];
        if (local_of(s.e[0]) == &local) {
          words.emplace_back("entry");
          return words;
        }
        if (target.kind != ExprKind::Tuple) continue;
        for (std::size_t k = 0; k < target.kids.size(); ++k) {
          if (local_of(target.kids[k]) != &local) continue;
          const bool items = !words.empty() && words.back() == "items" && target.kids.size() == 2;
          if (items) words.pop_back();
          words.push_back(items ? (k == 0 ? "key" : "entry") : "part_" + std::to_string(k));
          return words;
        }
      } else if (s.kind == StmtKind::With) {
        for (std::size_t k = 1; k < s.list.size(); k += 2)
          if (local_of(s.list[k]) == &local) {
            Words words = path(s.list[k - 1]);
            words.emplace_back("entered");
            return words;
          }
      }
    }
    return {};
  }

  // ---------------------------------------------------------------- names

  std::unordered_set<std::string> taken() {
    std::unordered_set<std::string> out = keywords();
    for (std::uint32_t id = 0; id < module_.codes.size(); ++id) {
      const CodeObject& code = module_[CodeId(id)];
      if (CodeId(id) != code_)
        for (StrId name : code.names) out.emplace(module_[name]);
      for (std::uint32_t i = 0; i < code.slots.size(); ++i)  // a local that nobody uses is free
        if (CodeId(id) != code_ || i < arguments() || code.slots[i].kind != kLocal)
          out.emplace(module_[code.slots[i].name]);
    }
    for (ExprId id : collect_expressions(ast_, body()))
      if (ast_[id].kind == ExprKind::Name && !local_of(id)) out.emplace(text(ast_[id].a));
    for (const auto& [real, given] : globals_) out.emplace(module_[given]);
    return out;
  }

  void tell_apart() {
    constexpr int kRounds = 12;
    for (int round = 0; round < kRounds; ++round) {
      std::unordered_map<std::string, std::vector<Local*>> same;
      for (Local& local : locals_) {
        local.given = name_of(local.words, local.length) + (local.is_class ? "_class" : "");
        local.given = beside_attributes(local, std::move(local.given));
        same[local.given].push_back(&local);
      }
      bool longer = false;
      for (auto& [name, list] : same)
        if (list.size() > 1)
          for (Local* local : list)
            if (local->length < local->words.size() && list[0]->words != list[1]->words) {
              ++local->length;
              longer = true;
            }
      if (!longer) break;
    }
    std::unordered_set<std::string> known = taken();
    add_builtins(known);                           // a reader takes them for Python's
    std::unordered_map<std::string, int> numbers;  // the last one that was given, by stem
    for (Local& local : locals_) {
      const auto free = [&] {
        return !known.count(local.given) && !named_like_dynamos(local.given);
      };
      if (!free()) {
        std::string stem = local.given;
        if (named_like_dynamos(stem + "_1")) local.given = stem += "_value";  // numbers do not help
        int& n = numbers[stem];
        while (!free()) local.given = stem + "_" + std::to_string(++n);
      }
      known.insert(local.given);
    }
  }

  void rename() {
    std::unordered_map<std::uint32_t, std::uint32_t> names;
    for (const Local& local : locals_) {
      const StrId given = module_.intern(local.given);
      names.emplace(local.name.index, given.index);
      if (local.made_up) ast_.readable.push_back({given, local.name, false});
    }
    for (ExprId id : collect_expressions(ast_, body())) {
      Expr& e = ast_[id];
      if (!is_fast(e)) continue;
      if (const auto found = names.find(e.a); found != names.end()) e.a = found->second;
    }
  }

  /// Whether a global is the program's, whatever it is named.
  bool is_own(std::uint32_t global) const {
    const std::vector<std::string>& own = module_.own_globals;
    return std::find(own.begin(), own.end(), text(global)) != own.end();
  }

  /// Parameters that stand for what was on the stack, by the words that are given for them.
  void name_parameters() {
    const std::vector<std::string>* words = row_of(naming_.parameters, "");
    if (!naming_.renames || !words) return;
    std::unordered_set<std::string> known = taken();
    add_builtins(known);
    std::unordered_map<std::uint32_t, std::uint32_t> names;
    std::vector<Slot> slots(object_.slots.begin(), object_.slots.end());
    for (std::size_t i = 0; i < arguments() && i < words->size() && i < slots.size(); ++i) {
      if ((*words)[i].empty() || slots[i].kind != kLocal) continue;
      const std::string& stem = (*words)[i];
      std::string name = stem;
      for (int n = 1; known.count(name) || named_like_dynamos(name); ++n)
        name = stem + (named_like_dynamos(stem + "_1") ? "_value_" : "_") + std::to_string(n);
      known.insert(name);
      const StrId given = module_.intern(name);
      names.emplace(slots[i].name.index, given.index);
      ast_.readable.push_back({given, slots[i].name, false});
      slots[i].name = given;
    }
    if (names.empty()) return;
    module_[code_].slots = module_.arena.copy(slots);
    for (ExprId id : collect_expressions(ast_, body())) {
      Expr& e = ast_[id];
      if (!is_fast(e)) continue;
      if (const auto found = names.find(e.a); found != names.end()) e.a = found->second;
    }
  }

  void name_globals() {
    if (!naming_.renames) return;
    std::unordered_set<std::string> known;
    for (std::uint32_t id = 0; id < module_.codes.size(); ++id) {
      const CodeObject& code = module_[CodeId(id)];
      for (StrId name : code.names) known.emplace(module_[name]);
      for (const Slot& slot : code.slots) known.emplace(module_[slot.name]);
    }
    for (ExprId e : by_statement()) {
      if (!is_global(ast_[e]) || globals_.count(ast_[e].a)) continue;
      const std::string stem = global_word(text(ast_[e].a));
      if (stem.empty() || stem == text(ast_[e].a) || is_own(ast_[e].a)) continue;
      std::string name = stem;
      for (int n = 1; known.count(name); ++n) name = stem + "_" + std::to_string(n);
      known.insert(name);
      const StrId given = module_.intern(name);
      globals_.emplace(ast_[e].a, given);
      ast_.readable.push_back({given, StrId(ast_[e].a), true});
    }
  }

  /// Last, as the names of globals tell what they are.
  void rename_globals() {
    for (ExprId id : collect_expressions(ast_, body())) {
      Expr& e = ast_[id];
      if (!is_global(e)) continue;
      if (const auto found = globals_.find(e.a); found != globals_.end()) e.a = found->second.index;
    }
  }
};

}  // namespace

void name_values(Ast& ast, CodeId code, const DynamoNaming& naming) {
  Naming(ast, code, naming).run();
}

}  // namespace depyf
