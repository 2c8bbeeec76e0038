#include "rewrite/dynamo_statements.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "ast/walk.h"
#include "rewrite/dynamo_names.h"

namespace depyf {
namespace {

constexpr std::size_t kWidth = 100, kMostTargets = 4;

class Joining {
 public:
  Joining(Ast& ast, CodeId code, const std::unordered_set<std::uint32_t>& given,
          std::uint32_t indentation)
      : ast_(ast),
        module_(*ast.module),
        code_(code),
        given_(given),
        indentation_(indentation),
        body_(ast.bodies[code.index].stmts) {}

  /// `a, b = out[0], out[1]` and `del a, b`, as far as a line goes.
  void run() {
    ListRefs refs;
    collect_lists(ast_, body_, refs);
    std::unordered_map<std::uint32_t, std::uint32_t> depth;  // of the statements of a list
    const std::uint32_t outer = declares_nonlocals(ast_, code_) ? 2 : 1;
    for (const ListRef& ref : refs) {
      const std::uint32_t level = ref.owner ? depth[ref.owner.index] + 1 : outer;
      const std::span<StmtId> old = ref.owner ? list_of(ast_, ref) : body_;
      for (StmtId id : old) depth[id.index] = level;
      if (ref.which == ListRef::Arms) continue;
      const std::size_t room = kWidth - std::min<std::size_t>(kWidth, level * indentation_);
      std::vector<StmtId> list;
      for (std::size_t i = 0; i < old.size();) {
        std::uint32_t of = 0, other = 0;
        std::size_t end = i + 1;
        if (takes_part(old[i], of)) {
          std::size_t width = 3;
          for (end = i; end < old.size() && end - i < kMostTargets && takes_part(old[end], other) &&
                        other == of;
               ++end) {
            const Stmt& s = ast_[old[end]];
            width += width_of(s.list[0]) + width_of(s.e[0]) + (end > i ? 4 : 0);
            if (width > room) break;
          }
          end = std::max(end, i + 1);
          if (end > i + 1) join_parts(old.subspan(i, end - i));
        } else if (only_names(old[i])) {
          std::size_t width = 4;
          for (end = i; end < old.size() && only_names(old[end]); ++end) {
            for (ExprId e : ast_[old[end]].list) width += width_of(e) + 2;
            if (width > room + 2) break;
          }
          end = std::max(end, i + 1);
          if (end > i + 1) join_deletes(old.subspan(i, end - i));
        }
        list.push_back(old[i]);
        i = end;
      }
      if (list.size() == old.size()) continue;
      const std::span<StmtId> shorter = ast_.arena.copy(list);
      (ref.owner ? list_of(ast_, ref) : body_) = shorter;
    }
  }

 private:
  Ast& ast_;
  Module& module_;
  const CodeId code_;
  const std::unordered_set<std::uint32_t>& given_;  // names that locals have got
  const std::uint32_t indentation_;
  std::span<StmtId>& body_;

  std::string_view text(std::uint32_t name) const { return module_[StrId(name)]; }

  bool is_fast(const Expr& e) const {
    return e.kind == ExprKind::Name && static_cast<NameScope>(e.op) == NameScope::Fast;
  }

  /// A small number that is not negative, else -1.
  std::int64_t number_of(ExprId id) const {
    if (ast_[id].kind != ExprKind::Constant) return -1;
    const Const& c = module_[ConstId(ast_[id].a)];
    return c.kind == ConstKind::Int && c.integer >= 0 && c.integer < 1000000 ? c.integer : -1;
  }

  /// Plain names and subscripts of one local by small numbers: `a = out[0]`.
  bool takes_part(StmtId id, std::uint32_t& of) const {
    const Stmt& s = ast_[id];
    if (s.kind != StmtKind::Assign || s.list.size() != 1 || !is_fast(ast_[s.list[0]])) return false;
    const Expr& value = ast_[s.e[0]];
    if (value.kind != ExprKind::Subscript || !is_fast(ast_[value.kids[0]]) ||
        number_of(value.kids[1]) < 0)
      return false;
    of = ast_[value.kids[0]].a;
    return given_.count(ast_[s.list[0]].a) != 0 && ast_[s.list[0]].a != of;
  }

  std::size_t width_of(ExprId id) const {
    const Expr& e = ast_[id];
    if (e.kind == ExprKind::Name) return text(e.a).size();
    return text(ast_[e.kids[0]].a).size() + std::to_string(number_of(e.kids[1])).size() + 2;
  }

  bool only_names(StmtId id) const {
    const Stmt& s = ast_[id];
    return s.kind == StmtKind::Delete &&
           std::all_of(s.list.begin(), s.list.end(), [&](ExprId e) { return is_fast(ast_[e]); });
  }

  void join_parts(std::span<const StmtId> run) {
    std::vector<ExprId> targets, values;
    for (StmtId id : run) {
      targets.push_back(ast_[id].list[0]);
      values.push_back(ast_[id].e[0]);
      if (id != run[0]) absorb(ast_, run[0], id);
    }
    const ExprId left[] = {ast_.expr(ExprKind::Tuple, targets)};
    const ExprId right = ast_.expr(ExprKind::Tuple, values);
    Stmt& s = ast_[run[0]];
    s.list = ast_.arena.copy(left);
    s.e[0] = right;
  }

  void join_deletes(std::span<const StmtId> run) {
    std::vector<ExprId> targets;
    for (StmtId id : run) {
      targets.insert(targets.end(), ast_[id].list.begin(), ast_[id].list.end());
      if (id != run[0]) absorb(ast_, run[0], id);
    }
    ast_[run[0]].list = ast_.arena.copy(targets);
  }
};

}  // namespace

bool declares_nonlocals(const Ast& ast, CodeId code) {
  const std::span<const StmtId> list = ast.bodies[code.index].stmts;
  return std::any_of(list.begin(), list.end(),
                     [&](StmtId id) { return ast[id].kind == StmtKind::Nonlocal; });
}

void absorb(Ast& ast, StmtId into, StmtId from) {
  Stmt& a = ast[into];
  const Stmt& b = ast[from];
  if (b.origin.offset == UINT32_MAX || b.origin.code != a.origin.code) return;
  std::vector<std::uint32_t> all(a.absorbed.begin(), a.absorbed.end());
  all.push_back(b.origin.offset);
  all.insert(all.end(), b.absorbed.begin(), b.absorbed.end());
  a.absorbed = ast.arena.copy(all);
}

void join_statements(Ast& ast, CodeId code, const std::unordered_set<std::uint32_t>& given,
                     std::uint32_t indentation) {
  Joining(ast, code, given, indentation).run();
}

}  // namespace depyf
