// Jumps that the end of a list implies: `return None` at the end of a function, `continue` at the
// end of a loop. Those that the columns of the bytecode (3.11+) show to be written stay. The
// compiler of 3.10 and later copies the end of a function to each way that leads there.
#include <algorithm>

#include "rewrite/rewriter.h"
#include "rewrite/source_columns.h"

namespace depyf {
namespace {

/// What the end of a list means. CopiedReturn: there a `return` is implied only if it is such a
/// copy.
enum class Tail : std::uint8_t { None, Return, CopiedReturn, Continue };

/// Is the last statement of the list a jump that its end implies?
bool implied(Rewriter& r, std::span<const StmtId> list, Tail tail) {
  const StmtId id = list.back();
  const Stmt& s = r.ast[id];
  switch (tail) {
    case Tail::None:
      return false;
    case Tail::Return:
      return r.returns_none(id) && !r.columns().writes_jump(id) &&
             (list.size() == 1 || !r.columns().is_single(id) ||
              !r.columns().has_own_row(id, false));
    case Tail::CopiedReturn:
      if (!r.returns_none(id)) return false;
      if (r.columns().known()) return !r.columns().writes_jump(id);
      // A handler that does nothing else was `pass`, at the end of a function.
      return list.size() == 1 || !r.columns().has_own_row(id, true);
    case Tail::Continue:
      return s.kind == StmtKind::Continue && !r.columns().writes_jump(id) &&
             (s.flag != kJumpWritten || !r.columns().is_single(id));
  }
  return false;
}

struct Work {
  ListRef list;
  Tail tail;
  bool break_returns;  // does leaving the innermost loop end the function?
};

struct If {
  StmtId id;
  Tail tail;
};

struct Ends {
  bool falls_off = false;     // control may come to the end of the function
  bool returns_none = false;  // a `return None` stands where the end would return it, too
};

/// How the statements end that end the function. A `with` is taken to swallow no exception.
Ends ends_of(const Rewriter& r) {
  Ends found;
  SmallVector<std::span<const StmtId>, 16> work = {r.body};
  while (!work.empty()) {
    const std::span<const StmtId> list = work.back();
    work.pop_back();
    if (list.empty()) {
      found.falls_off = true;
      continue;
    }
    const Stmt& s = r.ast[list.back()];
    if (r.returns_none(list.back())) {
      found.returns_none = true;
    } else if (s.kind == StmtKind::If) {
      work.push_back(s.body);
      work.push_back(s.orelse);
    } else if (s.kind == StmtKind::With) {
      work.push_back(s.body);
    } else if (s.kind == StmtKind::Try && (s.final.empty() || !never_ends(r.ast, s.final))) {
      work.push_back(s.orelse.empty() ? s.body : s.orelse);
      for (StmtId arm : s.arms) work.push_back(r.ast[arm].body);
    } else if (!is_jump(s.kind) && s.kind != StmtKind::Try) {
      const bool endless = s.kind == StmtKind::While && r.ast[s.e[0]].kind == ExprKind::Constant;
      found.falls_off |= !endless;
    }
  }
  return found;
}

/// `return None` as `return` where it is written so. Where that is unknown, as the other `return`s
/// of the function are written; where these do not tell, as people write it: with None if another
/// `return` has a value and control does not fall off the function's end. Where that end would
/// return None, too, nobody needs a `return`, so it is there to show the None.
void shorten_returns(Rewriter& r, const SourceColumns& columns, std::span<const StmtId> returns) {
  bool values = false, with_none = false, bare = false;
  SmallVector<StmtId, 16> unknown;
  for (StmtId id : returns) {
    Stmt& s = r.ast[id];
    if (!r.returns_none(id)) {
      values = true;
    } else if (const std::optional<bool> written = columns.bare_return(id)) {
      (*written ? bare : with_none) = true;
      if (*written) s.e[0] = ExprId::none();
    } else {
      unknown.push_back(id);
    }
  }
  const auto most_show_none = [&] {
    if (r.returns_none(r.body.back())) return true;
    const Ends ends = ends_of(r);
    return values && (ends.returns_none || !ends.falls_off);
  };
  if (unknown.empty() || (with_none != bare ? with_none : most_show_none())) return;
  for (StmtId id : unknown) r.ast[id].e[0] = ExprId::none();
}

/// An `if` whose body is gone is turned round, or gets the jump that stood there.
void fill_empty_bodies(Rewriter& r, const SourceColumns& columns, std::span<const If> ifs) {
  for (const auto& [id, tail] : ifs) {
    Stmt& s = r.ast[id];
    const bool nothing =
        s.body.empty() || (s.body.size() == 1 && r.ast[s.body[0]].kind == StmtKind::Pass);
    if (!nothing || s.orelse.empty() || s.flag == kElseWritten) continue;
    r.jumps_settled = false;
    if (s.level != kBodyKnown && negation_is_free(r.ast, s.e[0])) {
      const ExprId test = negate(r.ast, s.e[0]);
      Stmt& again = r.ast[id];
      again.e[0] = test;
      again.body = again.orelse;
      again.orelse = {};
    } else {  // the jump that stood there, or none
      const StmtKind kind =
          s.level == kBodyKnown && columns.known() ? StmtKind::Pass
          : (tail == Tail::Return || tail == Tail::CopiedReturn) && r.role == Role::Function
              ? StmtKind::Return
          : tail == Tail::Continue ? StmtKind::Continue
                                   : StmtKind::Pass;
      const StmtId jump = r.add_statement(kind, r.ast[id].origin);
      r.ast[id].body = r.one(jump);
    }
  }
}

}  // namespace

void drop_implied_jumps(Rewriter& r) {
  if (r.jumps_settled) return;
  r.jumps_settled = true;
  if (r.object.flags & kAsyncGenerator) {  // may not return a value, None neither
    StmtIds all;
    collect_statements(r.ast, r.body, all);
    for (StmtId id : all)
      if (Stmt& s = r.ast[id]; s.kind == StmtKind::Return && r.is_none(s.e[0]))
        s.e[0] = ExprId::none();
  }
  const SourceColumns& columns = r.columns();
  const bool any_if = columns.copies_ends() && r.may_hold(StmtKind::If);
  const bool has_end = r.role == Role::Function || r.role == Role::Class || r.role == Role::Module;
  SmallVector<Work, 32> work = {{{}, has_end ? Tail::Return : Tail::None, false}};
  SmallVector<If, 32> ifs;
  StmtIds returns;
  while (!work.empty()) {
    const Work at = work.back();
    work.pop_back();
    std::span<StmtId> list = at.list.owner ? list_of(r.ast, at.list) : r.body;
    std::size_t size = list.size();
    while (size > 0 && implied(r, list.first(size), at.tail)) {
      --size;
      if (size > 0) r.absorb(list[size - 1], list[size]);
    }
    if (size == 0 && !list.empty() && at.list.owner && r.ast[at.list.owner].kind == StmtKind::If &&
        r.ast[at.list.owner].flag == kElseWritten)
      size = 1;  // an arm of its own
    if (size == 0 && !list.empty() && at.list.owner) r.jumps_settled = false;
    list = list.first(size);
    // `if a: b()`, a copy of the end, `c()`: the rest stood in an `else`.
    for (std::size_t i = 0; any_if && i + 1 < list.size(); ++i) {
      Stmt& s = r.ast[list[i]];
      if (s.kind != StmtKind::If || s.flag == kElseWritten || !s.orelse.empty() ||
          s.body.size() < 2)
        continue;
      if (!implied(r, s.body, at.tail)) continue;
      s.orelse = list.subspan(i + 1);
      list = list.first(i + 1);
    }
    if (at.list.owner) {
      list_of(r.ast, at.list) = list;
    } else {
      r.body = list;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (at.break_returns && columns.writes_break(list[i])) {
        r.ast[list[i]].kind = StmtKind::Break;
        r.ast[list[i]].e[0] = ExprId::none();
      }
      const Stmt& s = r.ast[list[i]];
      const Tail tail = i + 1 == list.size() ? at.tail : Tail::None;
      bool break_returns = at.break_returns;
      auto push = [&](std::span<const StmtId> inner, ListRef::Which which, Tail t) {
        if (!inner.empty()) work.push_back({{list[i], which}, t, break_returns});
      };
      switch (s.kind) {
        case StmtKind::If:
          ifs.push_back({list[i], tail});
          push(s.body, ListRef::Body, tail);
          push(s.orelse, ListRef::Orelse, tail);
          break;
        case StmtKind::For:
        case StmtKind::While:
          push(s.orelse, ListRef::Orelse, tail);
          break_returns = tail == Tail::Return && s.orelse.empty() && r.role == Role::Function;
          push(s.body, ListRef::Body, Tail::Continue);
          break;
        case StmtKind::Match:
          for (StmtId arm : s.arms) work.push_back({{arm, ListRef::Body}, tail, break_returns});
          break;
        case StmtKind::With:
          break_returns = false;  // a jump out of it has the place of the `with`
          push(s.body, ListRef::Body, Tail::None);
          break;
        case StmtKind::Try: {
          const Tail behind = s.final.empty() ? tail : Tail::None;
          const Tail copied = behind == Tail::Return && columns.copies_ends() ? Tail::CopiedReturn
                              : behind == Tail::CopiedReturn                  ? behind
                                                                              : Tail::None;
          push(s.body, ListRef::Body, s.orelse.empty() ? copied : Tail::None);
          for (StmtId arm : s.arms) work.push_back({{arm, ListRef::Body}, copied, break_returns});
          push(s.orelse, ListRef::Orelse, behind);
          push(s.final, ListRef::Final, Tail::None);
          break;
        }
#define STMT(name) case StmtKind::name:
#define STMT_GROUPS (STMT_DEFINITIONS | STMT_SIMPLE | STMT_PARTS)
#include "ast/ast.def"
          if (s.kind == StmtKind::Return) returns.push_back(list[i]);
          break;
      }
    }
  }
  fill_empty_bodies(r, columns, ifs);
  if (r.role == Role::Function) shorten_returns(r, columns, returns);
}

}  // namespace depyf
