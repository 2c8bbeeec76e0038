// What jumps do not tell of branches: whether what follows a branch that leaves stood in an `else`,
// was an `elif`, or followed it; whether conditions were nested or joined by `and`, and which of
// nested `try` or `with` are one. Columns tell from 3.11 on. Without them, flat, as a person writes
// guards, unless it is an `elif`, or rows (3.10) fit an `else`.
#include <algorithm>
#include <optional>

#include "rewrite/rewriter.h"
#include "rewrite/source_columns.h"

namespace depyf {
namespace {

enum class Place : std::uint8_t { Unknown, Inside, Elif, Behind };

class Branches {
 public:
  explicit Branches(Rewriter& r) : r_(r), columns_(r.columns()) {}

  void restore() {
    ListRefs lists;
    collect_lists(r_.ast, r_.body, lists);
    if (columns_.known() || columns_.only_rows()) {
      mark_exits(lists);
      r_.edit_lists(lists, [&](std::vector<StmtId>& list) { return take_out(list); });
    }
    // In the place of an `elif` nothing may follow.
    for (ListRef at : lists)
      if (at.which == ListRef::Orelse && r_.ast[at.owner].kind == StmtKind::If &&
          sole_if(r_.ast[at.owner].orelse))
        elifs_.push_back(r_.ast[at.owner].orelse[0].index);
    std::sort(elifs_.begin(), elifs_.end());
    join_withs(lists);
    join_tries(lists);
    r_.edit_lists(lists, [&](std::vector<StmtId>& list) { return edit(list); });
    join_tries(lists);  // those whose `else` was restored
  }

 private:
  /// Without columns: was `else:` written between a handler's body and a `return`?
  bool skips_row(std::span<const StmtId> handler, StmtId id) const {
    if (columns_.known() || handler.empty() || r_.ast[id].kind != StmtKind::Return) return false;
    std::int32_t end = row(handler.back());
    if (handler.size() > 1)  // a jump may have the row of what comes before it
      end = std::max(end, row(handler[handler.size() - 2]) + 1);
    return r_.ast[handler.back()].body.empty() && end > 0 && row(id) >= end + 2;
  }

  SourceRows rows_of(std::span<const StmtId> list) const {
    SourceRows all;
    for (StmtId id : list) {
      const SourceRows rows = columns_.rows(id);
      all.add(rows.first);
      all.add(rows.last);
    }
    return all;
  }

  /// Marks what is in a `with` or a `try`: there a `return` of a constant may have the row of code
  /// that runs at the exit.
  void mark_exits(const ListRefs& lists) {
    in_exit_.assign(r_.ast.stmts.size(), false);
    for (ListRef at : lists) {  // a list comes before those that are in it
      if (!at.owner) continue;
      const StmtKind kind = r_.ast[at.owner].kind;
      if (kind == StmtKind::With || kind == StmtKind::Try || in_exit_[at.owner.index])
        for (StmtId id : list_of(r_.ast, at)) in_exit_[id.index] = true;
    }
  }

  bool has_row_of_another(StmtId id) const {
    return is_jump(id) || (in_exit_[id.index] && returns_constant(id));
  }

  /// `if a: b() else: raise E`, and what follows it: where the other branch leaves, the graph has
  /// that in the branch that goes on, but its rows are behind those of the other.
  bool take_out(std::vector<StmtId>& list) {
    bool changed = false;
    std::vector<StmtId> rest;  // backwards
    for (std::size_t i = list.size(); i-- > 0;) {
      changed |= take_out_of(list[i], rest);
      rest.push_back(list[i]);
    }
    if (changed) list.assign(rest.rbegin(), rest.rend());
    return changed;
  }

  /// The `else` at `column` that holds `list`: guards in it become `elif`, as columns tell. Rows
  /// alone do not: that is the more frequent form.
  std::span<StmtId> chained(std::span<const StmtId> list, std::optional<std::uint32_t> column) {
    std::size_t guards = 0;
    while (guards + 1 < list.size() && is_guard(list[guards]) &&
           (!columns_.known() || (column && place(list[guards], *column) == Place::Elif)))
      ++guards;
    std::span<StmtId> orelse = r_.ast.arena.copy(list.subspan(guards));
    for (; guards > 0; --guards) {
      Stmt& guard = r_.ast[list[guards - 1]];
      guard.orelse = orelse;
      guard.flag = kElseWritten;
      orelse = r_.one(list[guards - 1]);
    }
    return orelse;
  }

  bool take_out_of(StmtId id, std::vector<StmtId>& rest) {
    Stmt& s = r_.ast[id];
    if (s.kind != StmtKind::If || s.flag == kElseWritten || s.body.size() < 2) return false;
    const bool ends = never_ends(r_.ast, s.body), other_behind = s.orelse.empty();
    if (other_behind ? !ends || rest.empty() : ends && !rest.empty()) return false;
    if (!other_behind && !never_ends(r_.ast, s.orelse)) return false;
    const std::int32_t last = columns_.rows(s.body.back()).first;
    if (last <= columns_.rows(other_behind ? rest.back() : s.orelse[0]).first) return false;
    const std::vector<StmtId> other = other_behind
                                          ? std::vector<StmtId>(rest.rbegin(), rest.rend())
                                          : std::vector<StmtId>(s.orelse.begin(), s.orelse.end());
    if (!never_ends(r_.ast, other)) return false;
    const SourceRows between = rows_of(other);
    std::size_t stays = s.body.size();
    while (stays > 0 && columns_.rows(s.body[stays - 1]).first > between.last) --stays;
    if (stays == 0 || stays == s.body.size() || rows_of(s.body.first(stays)).last >= between.first)
      return false;
    const std::span<StmtId> behind = s.body.subspan(stays);
    if (has_row_of_another(behind[0])) return false;
    if (other_behind) {
      s.orelse = chained(other, columns_.start(behind));
      rest.clear();
    }
    s.flag = kElseWritten;
    s.body = s.body.first(stays);
    rest.insert(rest.end(), behind.rbegin(), behind.rend());
    r_.jumps_settled = false;
    return true;
  }

  void join_tries(const ListRefs& lists) {
    for (ListRef at : lists)
      if (at.owner && at.which == ListRef::Body && r_.ast[at.owner].kind == StmtKind::Try)
        join_with_inner_try(at.owner);
  }

  /// `try: try: … except … finally: …` is one statement, unless the rows of the two `try` tell that
  /// it was not. What is behind the inner one, where only its body leads, was its `else` if they
  /// tell so; where they do not, without columns, a `return` may have been.
  void join_with_inner_try(StmtId id) {
    Stmt& outer = r_.ast[id];
    if (outer.final.empty() || !outer.arms.empty() || outer.body.empty()) return;
    Stmt& inner = r_.ast[outer.body[0]];
    if (inner.kind != StmtKind::Try || !inner.final.empty()) return;
    const std::optional<bool> one =
        inner.body.empty() ? std::nullopt : columns_.begins_one_try(inner.body[0]);
    const std::span<StmtId> behind = outer.body.subspan(1);
    const bool is_else =
        !behind.empty() && inner.orelse.empty() && leaves(inner) &&
        one.value_or(behind.size() == 1 && skips_row(r_.ast[inner.arms.back()].body, behind[0]));
    if (!one.value_or(true) || (!behind.empty() && !is_else)) return;
    outer.flag = inner.flag;
    outer.arms = inner.arms;
    outer.orelse = is_else ? behind : inner.orelse;
    outer.body = inner.body;
    inner.arms = inner.orelse = inner.body = {};  // no list is edited twice
  }

  /// From the inside out, since the column of a body tells.
  void join_withs(const ListRefs& lists) {
    for (std::size_t i = lists.size(); i-- > 0;) {
      const ListRef at = lists[i];
      if (at.owner && at.which == ListRef::Body && r_.ast[at.owner].kind == StmtKind::With)
        join_with_inner_with(at.owner);
    }
  }

  /// `with a: with b:` is one statement, `with a, b:`, unless the inner one has a place of its own.
  void join_with_inner_with(StmtId id) {
    Stmt& outer = r_.ast[id];
    if (outer.body.size() != 1) return;
    Stmt& inner = r_.ast[outer.body[0]];
    if (inner.kind != StmtKind::With || inner.flag != outer.flag || stands_deeper(inner, outer))
      return;
    std::vector<ExprId> items(outer.list.begin(), outer.list.end());
    items.insert(items.end(), inner.list.begin(), inner.list.end());
    outer.list = r_.ast.arena.copy(items);
    outer.body = inner.body;
    inner.body = {};  // no list is edited twice
  }

  /// Does a `with` begin on a later row than the one around it, and further right? What enters a
  /// manager has the place of the statement, or that of the manager. Managers of one statement may
  /// stand so, too, but then not as far left of the body as behind a `with` of their own. Rows
  /// alone tell where they are those of the statement (3.8 to 3.10); where they are those of
  /// managers (3.7), nested is the more frequent form.
  bool stands_deeper(const Stmt& inner, const Stmt& outer) const {
    if (!columns_.known()) return outer.origin.line > 0 && inner.origin.line > outer.origin.line;
    const SourceSpan here = columns_.at(inner.origin), around = columns_.at(outer.origin);
    if (around.line == 0 || here.line <= around.line || here.first <= around.first) return false;
    const SourceSpan manager = columns_.of(inner.list[0]);
    if (here.line < manager.line || here.first < manager.first) return true;
    const std::uint32_t level = here.first - around.first, keyword = inner.flag != 0 ? 11 : 5;
    if (inner.body.size() == 1) {
      const Stmt& next = r_.ast[inner.body[0]];
      if (next.kind == StmtKind::With && next.flag == inner.flag &&
          columns_.at(next.origin).first == here.first + level)
        return true;
    }
    const std::optional<std::uint32_t> body = columns_.start(inner.body);
    if (!body) return level == columns_.step();
    const std::uint32_t inside = *body + keyword - here.first;
    return inside == level || inside == columns_.step();
  }

  bool sole_if(std::span<const StmtId> list) const {
    return list.size() == 1 && r_.ast[list[0]].kind == StmtKind::If;
  }

  /// How far right of the column of its list the test of an `if` or `elif` begins, with `not` or a
  /// parenthesis before it.
  static bool fits_if(std::uint32_t gap) { return gap == 3 || gap == 4 || gap == 7 || gap == 8; }
  static bool fits_elif(std::uint32_t gap) { return gap == 5 || gap == 6 || gap == 9 || gap == 10; }

  /// Where a statement stood that comes after a branch that leaves, in a list that begins at
  /// `column`.
  Place place(StmtId id, std::uint32_t column) const {
    const Stmt& s = r_.ast[id];
    const bool continues = s.kind == StmtKind::Continue && columns_.writes_jump(id);
    const std::optional<std::uint32_t> start =
        continues ? std::optional(columns_.at(s.origin).first) : columns_.start(id);
    if (start && *start > column && *start >= column + columns_.step()) return Place::Inside;
    if (s.kind == StmtKind::If) {
      const SourceSpan test = columns_.of(s.e[0]);
      if (test.line == 0 || test.first < column) return Place::Unknown;
      if (fits_elif(test.first - column)) return Place::Elif;
      return start || fits_if(test.first - column) ? Place::Behind : Place::Unknown;
    }
    return start ? Place::Behind : Place::Unknown;
  }

  /// How many of the statements that come after a branch that leaves stood in its `else`. `rest` is
  /// backwards: the first is its last.
  std::size_t in_else(std::span<const StmtId> rest, std::uint32_t column) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const Place at = place(rest[rest.size() - 1 - i], column);
      if (i == 0 && at == Place::Elif) return 1;
      if (at == Place::Behind || at == Place::Elif) break;
      if (at == Place::Inside) count = i + 1;
    }
    return count;
  }

  /// Takes the first statements from `rest`, in their order.
  static std::vector<StmtId> take(std::vector<StmtId>& rest, std::size_t count) {
    std::vector<StmtId> first(rest.rbegin(), rest.rbegin() + static_cast<std::ptrdiff_t>(count));
    rest.erase(rest.end() - static_cast<std::ptrdiff_t>(count), rest.end());
    return first;
  }

  bool begins_negated(ExprId test) const {
    const Expr& e = r_.ast[test];
    return is_not(e.kind == ExprKind::BoolOp ? r_.ast[e.kids[0]] : e);
  }

  /// The column of the list, from the statements of it that are known and from what is nested in
  /// them; from the first test, too, where its branch tells nothing: what follows may be its
  /// `else`.
  std::optional<std::uint32_t> column_of(std::span<const StmtId> list) const {
    if (!columns_.known() || list.empty()) return {};
    const Stmt& first = r_.ast[list[0]];
    const SourceSpan test = first.kind == StmtKind::If ? columns_.of(first.e[0]) : SourceSpan();
    if (std::binary_search(elifs_.begin(), elifs_.end(), list[0].index)) {
      const std::uint32_t keyword = begins_negated(first.e[0]) ? 9 : 5;  // `elif not `, `elif `
      if (test.line == 0 || test.first < keyword) return {};
      return (test.first - keyword) % columns_.step() == 0 ? std::optional(test.first - keyword)
                                                           : std::nullopt;
    }
    const std::optional<std::uint32_t> column = columns_.start(list);
    if (first.kind != StmtKind::If || (column && columns_.start(list[0]))) return column;
    for (std::uint32_t keyword : {3U, 7U})  // `if `, `if not `
      if (test.line != 0 && test.first >= keyword && (test.first - keyword) % columns_.step() == 0)
        return std::min(column.value_or(UINT32_MAX), test.first - keyword);
    return column;
  }

  bool leaves(const Stmt& s) const {
    if (s.kind == StmtKind::If) return s.flag != kElseWritten && never_ends(r_.ast, s.body);
    if (s.kind != StmtKind::Try || !s.final.empty() || s.arms.empty()) return false;
    return std::all_of(s.arms.begin(), s.arms.end(),
                       [&](StmtId arm) { return never_ends(r_.ast, r_.ast[arm].body); });
  }

  /// Where what stands in its `else` or after it may have stood in the other place, or in a
  /// handler of it.
  bool may_share(const Stmt& s, bool last) const {
    return last && s.orelse.empty() ? false : s.kind == StmtKind::Try || leaves(s);
  }

  /// A branch that leaves, without an `else`.
  bool is_guard(StmtId id) const {
    const Stmt& s = r_.ast[id];
    return s.kind == StmtKind::If && s.orelse.empty() && leaves(s);
  }

  std::int32_t row_gap(StmtId before, StmtId behind) const {
    return columns_.rows(behind).first - columns_.rows(before).last;
  }

  bool has_constant(StmtId id) const {
    const ExprId value = r_.ast[id].e[0];
    return !value || r_.ast[value].kind == ExprKind::Constant;
  }

  /// Rows without columns do not distinguish a row of `else:` from an empty one, so the form that
  /// is more frequent in source code is taken. Several branches on neighbouring rows, and an end
  /// that has a row or two without code before it, are `if`, `elif`, `else`. One branch and an end
  /// are `if` and `else` where both leave in the same way; but one of several rows, one behind an
  /// empty row and one that returns a constant before another value is returned are guards.
  bool is_chain(std::span<const StmtId> before, std::span<const StmtId> guards, StmtId end) const {
    if (!end) return guards.size() > 2;
    const std::int32_t gap = row_gap(guards.back(), end);
    const StmtId leaving = r_.ast[guards[0]].body.back();
    const StmtKind first = r_.ast[leaving].kind, last = r_.ast[end].kind;
    if (first == StmtKind::Raise && last == StmtKind::Return) return false;
    if (guards.size() > 1) return gap == 2 || gap == 3;
    if (gap != 2 || first != last) return false;
    if (first == StmtKind::Raise) return true;
    const SourceRows rows = columns_.rows(r_.ast[guards[0]].body[0]);
    return rows.first == columns_.rows(leaving).last &&
           (before.empty() || row_gap(before.back(), guards[0]) == 1) &&
           (!has_constant(leaving) || has_constant(end));
  }

  /// Without columns: joins branches that leave, and the end behind them, to `if`, `elif`, `else`.
  bool chain(std::vector<StmtId>& list) {
    if (!columns_.only_rows() || list.empty()) return false;
    const StmtKind last = r_.ast[list.back()].kind;
    const std::size_t behind =
        list.size() - std::size_t{last == StmtKind::Return || last == StmtKind::Raise};
    std::size_t begin = behind;
    while (begin > 0 && is_guard(list[begin - 1]) &&
           (begin == behind || row_gap(list[begin - 1], list[begin]) == 1))
      --begin;
    const std::span<const StmtId> all = list;
    if (begin == behind || !is_chain(all.first(begin), all.subspan(begin, behind - begin),
                                     behind < list.size() ? list.back() : StmtId()))
      return false;
    for (; list.size() > begin + 1; list.pop_back()) {
      Stmt& guard = r_.ast[list[list.size() - 2]];
      guard.orelse = r_.one(list.back());
      guard.flag = kElseWritten;
    }
    return true;
  }

  bool edit(std::vector<StmtId>& list) {
    if (std::none_of(list.begin(), list.end(), [&](StmtId id) {
          return r_.ast[id].kind == StmtKind::If || r_.ast[id].kind == StmtKind::Try;
        }))
      return false;
    bool changed = columns_.known() ? order(list) : chain(list);
    const bool asks = std::any_of(list.begin(), list.end(), [&](StmtId id) {
      return nests(r_.ast[id]) || may_share(r_.ast[id], id == list.back());
    });
    const std::optional<std::uint32_t> column = asks ? column_of(list) : std::nullopt;
    if (column) nest(list, *column);
    if (changed) r_.jumps_settled = false;
    if (list.size() == 1 && std::binary_search(elifs_.begin(), elifs_.end(), list[0].index))
      return changed;
    std::vector<StmtId> rest;  // backwards
    rest.reserve(list.size());
    for (std::size_t i = list.size(); i-- > 0;) {
      Stmt& s = r_.ast[list[i]];
      changed |= give_back(s, rest);
      if (column && s.kind == StmtKind::Try) changed |= continue_arm(s, rest, *column);
      if (leaves(s)) {
        if (!s.orelse.empty()) {
          changed |= s.kind == StmtKind::If && spill(s, rest, column);
        } else if (column && fill(s, rest, *column)) {
          changed = true;
          take_back(list[i]);
        }
      }
      rest.push_back(list[i]);
    }
    if (!changed) return false;
    list.assign(rest.rbegin(), rest.rend());
    r_.jumps_settled = false;
    return true;
  }

  /// Branches in the order of the source.
  bool order(std::vector<StmtId>& list) {
    bool changed = false;
    std::vector<StmtId> rest;  // backwards
    rest.reserve(list.size());
    for (std::size_t i = list.size(); i-- > 0;) {
      swap_branches(list[i]);
      changed |= come_first(list[i], rest);
      take_back(list[i]);
      rest.push_back(list[i]);
    }
    if (changed) list.assign(rest.rbegin(), rest.rend());
    return changed;
  }

  bool returns_constant(StmtId id) const {
    const Stmt& s = r_.ast[id];
    return s.kind == StmtKind::Return && (!s.e[0] || r_.ast[s.e[0]].kind == ExprKind::Constant);
  }

  /// `try: a() except E: b() else: return 1`, or the `return` behind the statement: no row tells
  /// that it is not protected, since it cannot raise, but its line is behind the handlers. What
  /// a handler has a copy of is written behind that.
  bool give_back(Stmt& s, std::vector<StmtId>& rest) {
    if (s.kind != StmtKind::Try || s.arms.empty() || s.flag != 0 || !s.orelse.empty() ||
        s.body.size() < 2 || !returns_constant(s.body.back()))
      return false;
    const std::int32_t here = row(s.body.back());
    const std::span<const StmtId> handler = r_.ast[s.arms.back()].body;
    const std::int32_t handlers = row(handler.empty() ? s.arms.back() : handler[0]);
    if (handlers == 0 || here <= handlers) return false;
    if (rest.empty()) {
      StmtId behind;
      for (StmtId arm : s.arms) {
        std::span<StmtId>& body = r_.ast[arm].body;
        if (body.size() < 2 || !returns_constant(body.back()) || row(body.back()) <= here) continue;
        behind = body.back();
        body = body.first(body.size() - 1);
      }
      if (behind) rest.push_back(behind);
    }
    if (rest.empty() && leaves(s))
      rest.push_back(s.body.back());
    else
      s.orelse = s.body.last(1);
    s.body = s.body.first(s.body.size() - 1);
    return true;
  }

  std::int32_t row(StmtId id) const {
    if (columns_.known()) return columns_.line(id);
    const Stmt& s = r_.ast[id];
    // a `return` out of a `finally` has the row where that ends, its value has its own
    const std::int32_t value = s.e[0] ? r_.ast[s.e[0]].origin.line : 0;
    return value > 0 && value < s.origin.line ? value : s.origin.line;
  }

  bool is_jump(StmtId id) const {
    const Stmt& s = r_.ast[id];
    return s.kind == StmtKind::Break || s.kind == StmtKind::Continue || r_.returns_none(id);
  }

  /// Where a branch begins; 0: unknown. A jump that nobody wrote has the line of something else.
  std::int32_t line_of(std::span<const StmtId> list) const {
    return is_jump(list[0]) && !columns_.writes_jump(list[0]) ? 0 : columns_.line(list[0]);
  }

  void swap_branches(StmtId id) {
    const Stmt& s = r_.ast[id];
    if (s.kind != StmtKind::If || s.flag == kElseWritten || s.level == kBodyKnown ||
        s.body.empty() || s.orelse.empty() || !negation_is_free(r_.ast, s.e[0]))
      return;
    const std::int32_t body = line_of(s.body), orelse = line_of(s.orelse);
    // A jump of unknown place is taken for a guard.
    const bool guard =
        orelse == 0 && s.orelse.size() == 1 && is_jump(s.orelse[0]) && !never_ends(r_.ast, s.body);
    if (!guard && (orelse == 0 || body <= orelse)) return;
    const ExprId test = negate(r_.ast, s.e[0]);
    Stmt& swapped = r_.ast[id];
    swapped.e[0] = test;
    std::swap(swapped.body, swapped.orelse);
    r_.jumps_settled = false;
  }

  /// What comes after a branch that leaves, but was written before it, becomes the branch.
  bool come_first(StmtId id, std::vector<StmtId>& rest) {
    const Stmt& s = r_.ast[id];
    if (s.kind != StmtKind::If || s.flag == kElseWritten || s.level == kBodyKnown ||
        !s.orelse.empty() || rest.empty() || !never_ends(r_.ast, s.body))
      return false;
    const std::int32_t body = line_of(s.body), behind = line_of(std::span(rest).last(1));
    if (behind == 0 || body <= behind || !negation_is_free(r_.ast, s.e[0])) return false;
    const std::vector<StmtId> forwards(rest.rbegin(), rest.rend());
    if (!never_ends(r_.ast, forwards)) return false;
    const ExprId test = negate(r_.ast, s.e[0]);
    rest.assign(s.body.rbegin(), s.body.rend());
    Stmt& swapped = r_.ast[id];
    swapped.e[0] = test;
    swapped.body = r_.ast.arena.copy(forwards);
    return true;
  }

  /// `try: a() except E: b() else: return 1`, where the return was written before the handlers: it
  /// cannot raise, so no row protects it.
  void take_back(StmtId id) {
    Stmt& s = r_.ast[id];
    if (s.kind != StmtKind::Try || s.orelse.size() != 1 || s.arms.empty() || s.flag != 0) return;
    const Stmt& last = r_.ast[s.orelse[0]];
    if (!last.e[0] || !returns_constant(s.orelse[0])) return;
    const std::int32_t here = columns_.line(s.orelse[0]), handlers = columns_.line(s.arms[0]);
    if (here == 0 || handlers == 0 || here >= handlers) return;
    std::vector<StmtId> body(s.body.begin(), s.body.end());
    body.push_back(s.orelse[0]);
    s.body = r_.ast.arena.copy(body);
    s.orelse = {};
    r_.jumps_settled = false;
  }

  /// `try: return a() except E: b()` and then the `return` that stood in the handler, the only part
  /// that goes on. Nothing else follows a handler's end and stood in it: there the exception is
  /// handled no more.
  bool continue_arm(Stmt& s, std::vector<StmtId>& rest, std::uint32_t column) {
    if (rest.empty() || !s.final.empty() ||
        !never_ends(r_.ast, s.orelse.empty() ? s.body : s.orelse))
      return false;
    StmtId going;
    for (StmtId arm : s.arms) {
      if (never_ends(r_.ast, r_.ast[arm].body)) continue;
      if (going) return false;
      going = arm;
    }
    if (!going || place(rest.back(), column) != Place::Inside) return false;
    const std::size_t count = in_else(rest, column);
    for (std::size_t i = rest.size() - count; i < rest.size(); ++i) {
      const Stmt& end = r_.ast[rest[i]];
      if (!is_jump(rest[i]) &&
          !(end.kind == StmtKind::Return && r_.ast[end.e[0]].kind == ExprKind::Constant))
        return false;
    }
    std::vector<StmtId> body;
    for (StmtId id : r_.ast[going].body)
      if (r_.ast[id].kind != StmtKind::Pass) body.push_back(id);
    const std::vector<StmtId> taken = take(rest, count);
    body.insert(body.end(), taken.begin(), taken.end());
    r_.ast[going].body = r_.ast.arena.copy(body);
    return true;
  }

  /// Takes into `else` what stood there.
  bool fill(Stmt& s, std::vector<StmtId>& rest, std::uint32_t column) {
    const std::size_t count = in_else(rest, column);
    const auto continues = [&](StmtId id) { return r_.ast[id].kind == StmtKind::Continue; };
    if (count == 1 && continues(rest.back()) && s.kind == StmtKind::If && continues(s.body.back()))
      return false;  // copies of one
    if (count == 0 || (s.kind == StmtKind::Try && place(rest.back(), column) != Place::Inside))
      return false;
    s.orelse = r_.ast.arena.copy(take(rest, count));
    return true;
  }

  /// Puts after the branch what stood there; then also what stands in the `else` of that.
  bool spill(Stmt& s, std::vector<StmtId>& rest, std::optional<std::uint32_t> column) {
    if (!spill_one(s, rest, column)) return false;
    std::vector<StmtId> spilt;
    while (!rest.empty()) {
      Stmt& next = r_.ast[rest.back()];
      if (next.kind != StmtKind::If || next.orelse.empty() || !leaves(next)) break;
      spilt.push_back(rest.back());
      rest.pop_back();
      if (!spill_one(next, rest, column)) break;
    }
    rest.insert(rest.end(), spilt.rbegin(), spilt.rend());
    return true;
  }

  bool spill_one(Stmt& s, std::vector<StmtId>& rest, std::optional<std::uint32_t> column) {
    std::size_t keep = sole_if(s.orelse) ? 1 : 0;
    if (column && place(s.orelse[0], *column) != Place::Unknown) {
      const std::vector<StmtId> backwards(s.orelse.rbegin(), s.orelse.rend());
      keep = in_else(backwards, *column);
    }
    if (keep == s.orelse.size()) return false;
    rest.insert(rest.end(), s.orelse.rbegin(), s.orelse.rend() - static_cast<std::ptrdiff_t>(keep));
    s.orelse = s.orelse.first(keep);
    return true;
  }

  /// May it have been one `if` in another?
  bool nests(const Stmt& s) const {
    return s.kind == StmtKind::If && s.flag != kElseWritten && s.orelse.empty() &&
           r_.ast[s.e[0]].kind == ExprKind::BoolOp && r_.ast[s.e[0]].op == 0;
  }

  /// `if a and b:` as `if a:` around `if b:` where the body lies that deep.
  void nest(std::span<const StmtId> list, std::uint32_t column) {
    for (StmtId id : list) {
      for (std::uint32_t depth = 1;; ++depth) {
        if (!nests(r_.ast[id])) break;
        const Stmt s = r_.ast[id];
        const std::optional<std::uint32_t> body = columns_.start(s.body);
        const std::uint32_t inner = column + depth * columns_.step();
        if (!body || *body <= inner) break;
        const Expr test = r_.ast[s.e[0]];
        std::size_t split = 1;
        for (std::int32_t line = columns_.of(test.kids[0]).line; split < test.kids.size();
             ++split) {
          const SourceSpan span = columns_.of(test.kids[split]);
          if (line != 0 && span.line > line && span.first >= inner && fits_if(span.first - inner))
            break;
          line = span.line;
        }
        if (split == test.kids.size()) break;
        Stmt nested = s;
        nested.e[0] = joined(test, test.kids.subspan(split));
        const StmtId inside = r_.ast.add(nested);
        Stmt& outer = r_.ast[id];
        outer.e[0] = joined(test, test.kids.first(split));
        outer.body = r_.one(inside);
        id = inside;
        r_.jumps_settled = false;
      }
    }
  }

  ExprId joined(const Expr& all, std::span<ExprId> kids) {
    if (kids.size() == 1) return kids[0];
    Expr e = all;
    e.kids = kids;
    return r_.ast.add(e);
  }

  Rewriter& r_;
  const SourceColumns& columns_;
  std::vector<std::uint32_t> elifs_;
  std::vector<bool> in_exit_;  // by statement
};

}  // namespace

void tidy_conditions(Rewriter& r) {
  if (r.may_hold(StmtKind::If) || r.may_hold(StmtKind::Try) || r.may_hold(StmtKind::With))
    Branches(r).restore();
}

}  // namespace depyf
