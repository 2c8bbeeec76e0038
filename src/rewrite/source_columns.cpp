#include "rewrite/source_columns.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "bytecode/lines.h"
#include "bytecode/scan.h"
#include "support/small_vector.h"

namespace depyf {
namespace {

constexpr std::uint32_t kReturnWidth = 6, kNoneWidth = 4, kContinueWidth = 8, kBreakWidth = 5;
constexpr std::uint32_t kBeforeValue = 7, kBeforeTarget = 4;   // `return `, `del `
constexpr std::uint32_t kBeforeTest = 3, kBeforeIterated = 4;  // `if `, `for `

bool before(const SourceSpan& a, const SourceSpan& b) {
  return std::tie(a.line, a.first, a.end) < std::tie(b.line, b.first, b.end);
}

}  // namespace

SourceColumns::SourceColumns(const Rewriter& r) : r_(r) {
  const LineCursor lines(r.object);
  known_ = lines.has_columns();
  copies_ends_ = lines.exact();
}

void SourceColumns::find_jumps() const {
  if (jumps_found_) return;
  jumps_found_ = true;
  StmtIds all;
  collect_statements(r_.ast, r_.body, all);
  for (StmtId id : all)
    if (r_.ast[id].kind == StmtKind::Continue || r_.returns_none(id))
      jumps_.push_back(place_of_jump(id));
  std::sort(jumps_.begin(), jumps_.end(), before);
}

void SourceColumns::find_others() const {
  if (others_found_) return;
  others_found_ = true;
  for (ExprId id : collect_expressions(r_.ast, r_.body)) {
    const SourceSpan span = at(r_.ast[id].origin);
    const std::uint32_t width = span.end - span.first;
    if ((width == kReturnWidth || width == kNoneWidth) && !r_.is_none(id)) others_.push_back(span);
  }
  std::sort(others_.begin(), others_.end(), before);
}

/// What the compiler puts before a `return` that leaves a handler, and for exceptions behind it, on
/// the row of the `return`.
constexpr Op kLeaving[] = {Op::POP_BLOCK,    Op::POP_EXCEPT,    Op::POP_TOP,      Op::STORE_FAST,
                           Op::DELETE_FAST,  Op::STORE_DEREF,   Op::DELETE_DEREF, Op::RERAISE,
                           Op::CALL_FINALLY, Op::BEGIN_FINALLY, Op::POP_FINALLY,  Op::END_FINALLY};

void SourceColumns::find_rows() const {
  if (rows_found_) return;
  rows_found_ = true;
  LineCursor lines(r_.object);
  scan_instructions(r_.object, [&](const RawInstr& instr) {
    const std::int32_t row = lines.at(instr.unit);
    const Op op = instr.info.op;
    const bool none = op == Op::LOAD_CONST && instr.operand < r_.object.consts.size() &&
                      r_.module[r_.object.consts[instr.operand]].kind == ConstKind::None;
    if (none || op == Op::RETURN_VALUE) return;
    const bool leaves = std::ranges::find(kLeaving, op) != std::end(kLeaving) ||
                        instr.info.action == Action::Drop || instr.info.action == Action::Nop;
    (leaves ? leaving_rows_ : busy_rows_).push_back(row);
  });
  std::sort(busy_rows_.begin(), busy_rows_.end());
  std::sort(leaving_rows_.begin(), leaving_rows_.end());
}

bool SourceColumns::has_own_row(StmtId id, bool leaves) const {
  const Origin& origin = r_.ast[id].origin;
  if (known_ || origin.code != r_.code || origin.line <= 0 || r_.role != Role::Function)
    return false;
  find_rows();
  const auto holds = [&](const std::vector<std::int32_t>& rows) {
    return std::binary_search(rows.begin(), rows.end(), origin.line);
  };
  return !holds(busy_rows_) && (leaves || !holds(leaving_rows_));
}

void SourceColumns::find_tries() const {
  if (tries_found_) return;
  tries_found_ = true;
  LineCursor lines(r_.object);
  SmallVector<std::int32_t, 8> open;  // the rows of the `try` right before
  scan_instructions(r_.object, [&](const RawInstr& instr) {
    const std::int32_t row = lines.at(instr.unit);
    if (instr.info.op == Op::SETUP_FINALLY) {
      open.push_back(row);
      return;
    }
    if (open.size() == 2) tries_.emplace_back(row, open[0] == open[1]);
    open.clear();
  });
  std::sort(tries_.begin(), tries_.end());
}

std::optional<bool> SourceColumns::begins_one_try(StmtId first) const {
  if (known_) return {};
  find_tries();
  const auto at_row = [](const auto& found) { return found.first; };
  const auto found = std::ranges::equal_range(tries_, rows(first).first, {}, at_row);
  if (found.empty() || found.front() != found.back()) return {};  // none, or on one row
  return found.front().second;
}

void SourceRows::add(std::int32_t row) {
  if (row <= 0) return;
  first = first == 0 ? row : std::min(first, row);
  last = std::max(last, row);
}

SourceRows SourceColumns::rows(StmtId id) const {
  SourceRows found;
  const auto add = [&](const Origin& origin) {
    if (origin.code == r_.code) found.add(origin.line);
  };
  const StmtId list[] = {id};
  for (ExprId e : collect_expressions(r_.ast, list)) add(r_.ast[e].origin);
  if (found.first != 0 && is_jump(r_.ast[id].kind)) return found;  // it may leave a `with` first
  StmtIds all;
  collect_statements(r_.ast, list, all);
  for (StmtId s : all) add(r_.ast[s].origin);
  return found;
}

/// In how many definitions the body stands, with its own: a method is two levels deep.
std::uint32_t SourceColumns::depth() const {
  std::uint32_t levels = 1;
  for (CodeId at = r_.object.parent; at; at = r_.module[at].parent)
    levels += role_of(r_.module, at) == Role::Class || role_of(r_.module, at) == Role::Function;
  return levels;
}

/// Where a `continue` stands, or where `if` or `for` does, if no `not` or parenthesis follows it.
std::optional<std::uint32_t> SourceColumns::keyword_at(StmtId id) const {
  const Stmt& s = r_.ast[id];
  const SourceSpan own = at(s.origin);
  if (s.kind == StmtKind::Continue)
    return own.width() == kContinueWidth ? std::optional(own.first) : std::nullopt;
  if ((s.kind != StmtKind::If && s.kind != StmtKind::For) || !s.e[0]) return {};
  const bool loop = s.kind == StmtKind::For;
  const Expr& head = r_.ast[s.e[0]];
  if (!loop && head.kind == ExprKind::Unary) return {};
  const SourceSpan span = of(s.e[0]);
  const std::uint32_t before = loop ? kBeforeIterated : kBeforeTest;
  return span.line != 0 && span.first >= before ? std::optional(span.first - before) : std::nullopt;
}

/// `if a: b()`, and then `else: c()`, too: what stands behind a head lies at no level.
std::vector<std::uint32_t> SourceColumns::on_rows_of_heads(std::span<const StmtId> all) const {
  std::vector<std::uint32_t> found;
  for (StmtId id : all) {
    const Stmt& s = r_.ast[id];
    if (s.kind != StmtKind::If || s.body.empty()) continue;
    const SourceSpan head = of(s.e[0]), first = of_or_at(s.body[0]);
    if (head.line == 0 || first.line != head.line) continue;
    found.push_back(s.body[0].index);
    if (!s.orelse.empty() && r_.ast[s.orelse[0]].kind != StmtKind::If)
      found.push_back(s.orelse[0].index);
  }
  std::ranges::sort(found);
  return found;
}

/// Of the parts; of the statement where it has none. A `return` out of a `with` has the row of
/// that.
SourceSpan SourceColumns::of_or_at(StmtId id) const {
  const SourceSpan parts = of(id);
  return parts.line != 0 ? parts : at(r_.ast[id].origin);
}

/// The widest step with which the levels in which a body stands fit before its first statement.
/// `least`: the first column that is known of a statement.
std::uint32_t SourceColumns::widest_step(std::span<const StmtId> all, std::uint32_t least) const {
  for (StmtId id : all) least = std::min(least, keyword_at(id).value_or(least));
  if (r_.role == Role::Function || r_.role == Role::Class)
    return std::max(least / depth(), std::uint32_t{1});
  return least == 0 ? 4 : 8;
}

std::uint32_t SourceColumns::step() const {
  constexpr std::uint32_t kUsual = 4;
  if (step_ != 0) return step_;
  step_ = kUsual;
  StmtIds all;
  collect_statements(r_.ast, r_.body, all);
  std::vector<std::uint32_t> starts;
  const std::vector<std::uint32_t> behind_heads = on_rows_of_heads(all);
  for (StmtId id : all)
    if (const std::optional<std::uint32_t> column = simple_start(id);
        column && !std::ranges::binary_search(behind_heads, id.index))
      starts.push_back(*column);
  if (starts.empty()) return step_;
  const std::uint32_t least = *std::min_element(starts.begin(), starts.end());
  first_ = least;
  const std::uint32_t most = widest_step(all, least);
  step_ = std::min(step_, most);
  if (starts.size() < 2) return step_;
  if (*std::max_element(starts.begin(), starts.end()) == least) return step_;
  // The widest step that fits most: a parenthesis or `if a:` may stand before a statement. Twice
  // the usual one has to fit all, from the first column on: 4 and 12 may be two levels apart.
  const bool wide = std::ranges::none_of(
      all, [&](StmtId id) { return keyword_at(id).value_or(0) % 8 == kUsual; });  // between
  for (std::uint32_t step : {8U, kUsual, 2U, 3U, 1U}) {
    if (step > most || (step == 8 && !wide)) continue;
    const std::uint32_t base = step == 8 ? 0 : least;
    const auto fitting = static_cast<std::size_t>(
        std::count_if(starts.begin(), starts.end(),
                      [&](std::uint32_t column) { return (column - base) % step == 0; }));
    step_ = step;
    if (fitting == starts.size() || (step != 8 && fitting * 4 >= starts.size() * 3)) break;
  }
  return step_;
}

SourceSpan SourceColumns::of_roots() const {
  SourceSpan found;
  const auto add = [&](const Origin& origin) {
    if (origin.code != r_.code || origin.columns == 0 || origin.line <= 0 ||
        (found.line != 0 && origin.line > found.line))
      return;
    const SourceSpan span = at(origin);
    if (span.line != found.line) {
      found = span;
    } else {
      found.first = std::min(found.first, span.first);
      found.end = std::max(found.end, span.end);
    }
  };
  while (!work_.empty()) {
    const Expr& e = r_.ast[work_.back()];
    work_.pop_back();
    add(e.origin);
    for (ExprId id : e.kids) {
      if (!id) continue;
      const Expr& kid = r_.ast[id];
      if (kid.kids.empty())
        add(kid.origin);
      else
        work_.push_back(id);
    }
  }
  return found;
}

SourceSpan SourceColumns::of(ExprId expression) const {
  if (!expression) return {};
  work_.push_back(expression);
  return of_roots();
}

SourceSpan SourceColumns::of(StmtId statement) const {
  append_roots(r_.ast, statement, work_);
  return of_roots();
}

std::int32_t SourceColumns::line(StmtId id) const {
  const SourceSpan own = at(r_.ast[id].origin), span = of(id);
  return own.line == 0 || (span.line != 0 && span.line < own.line) ? span.line : own.line;
}

std::optional<std::uint32_t> SourceColumns::simple_start(StmtId id) const {
  const Stmt& s = r_.ast[id];
  const SourceSpan own = at(s.origin);
  switch (s.kind) {
    case StmtKind::Return: {
      // Where a `with` or `finally` is left first, the return itself has the place of that; one of
      // a constant lies where the constant does.
      const bool none = !s.e[0] || r_.is_none(s.e[0]);
      if (none && own.width() == kReturnWidth) return own.first;
      const SourceSpan value = s.e[0] ? of(s.e[0]) : own;
      if (none && value.width() != kNoneWidth) return {};  // a copy of the function's end
      const bool constant = s.e[0] && r_.ast[s.e[0]].kind == ExprKind::Constant;
      // Statements begin at even columns but for those indented by tabs.
      if (value.line == 0 || value.first < kBeforeValue || (constant && value.first % 2 == 0))
        return {};
      return !constant && own.line == value.line && own.first < value.first
                 ? own.first
                 : value.first - kBeforeValue;
    }
    case StmtKind::Break:
      return own.width() == kBreakWidth ? std::optional(own.first) : std::nullopt;
    case StmtKind::Continue:
      return own.width() == kContinueWidth ? std::optional(own.first) : std::nullopt;
    case StmtKind::Raise:
    case StmtKind::Import:
    case StmtKind::ImportFrom:
      return own.line != 0 ? std::optional(own.first) : std::nullopt;
    case StmtKind::Delete:
    case StmtKind::Assign:
    case StmtKind::AugAssign:
    case StmtKind::Expr: {
      const std::uint32_t first = r_.ast.bodies[r_.code.index].first_stmt;
      if (starts_.empty()) starts_.resize(r_.own_stmts()[0].size());
      const std::size_t place = std::size_t{id.index} - first;
      if (place >= starts_.size()) return start_of_roots(s);  // of a nested body, or made later
      Start& known = starts_[place];
      if (!known.looked) known = {true, start_of_roots(s)};
      return known.column;
    }
    case StmtKind::FunctionDef:
    case StmtKind::ClassDef:
    case StmtKind::AnnAssign:
    case StmtKind::TypeAlias:
    case StmtKind::For:
    case StmtKind::While:
    case StmtKind::If:
    case StmtKind::With:
    case StmtKind::Match:
    case StmtKind::Try:
    case StmtKind::Assert:
    case StmtKind::Global:
    case StmtKind::Nonlocal:
    case StmtKind::Pass:
    case StmtKind::Comment:
    case StmtKind::Handler:
    case StmtKind::Case:
    case StmtKind::Append:
    case StmtKind::ImportStar:
      break;
  }
  return {};
}

std::optional<std::uint32_t> SourceColumns::start_of_roots(const Stmt& s) const {
  for (ExprId id : s.list) work_.push_back(id);
  for (ExprId id : s.e)
    if (id) work_.push_back(id);
  SourceSpan span = of_roots();
  const SourceSpan own = at(s.origin);
  if (own.line != 0 && own.line == span.line) span.first = std::min(span.first, own.first);
  if (span.line == 0) return {};
  if (s.kind != StmtKind::Delete) return span.first;
  return span.first >= kBeforeTarget ? std::optional(span.first - kBeforeTarget) : std::nullopt;
}

std::optional<std::uint32_t> SourceColumns::start(StmtId id) const {
  // A test stands right of its `if`: where two were joined, the body lies a level deeper than one.
  std::uint32_t most = UINT32_MAX;
  for (std::uint32_t depth = 0;; ++depth) {
    const Stmt& s = r_.ast[id];
    const std::optional<std::uint32_t> own = simple_start(id);
    if (own && depth == 0) return own;
    if (own)
      return *own >= depth * step() ? std::optional(std::min(*own - depth * step(), most))
                                    : std::nullopt;
    if (s.body.empty() || s.kind == StmtKind::FunctionDef || s.kind == StmtKind::ClassDef)
      return {};
    // `if a: return` says nothing of indentation.
    const SourceSpan head = of(id);
    if (s.kind == StmtKind::If && head.line != 0 && head.first >= kBeforeTest + depth * step())
      most = std::min(most, head.first - kBeforeTest - depth * step());
    id = s.body[0];
    if (head.line != 0 && of_or_at(id).line <= head.line) return {};
  }
}

std::optional<std::uint32_t> SourceColumns::start(std::span<const StmtId> list) const {
  std::optional<std::uint32_t> least;
  for (StmtId id : list)
    if (const std::optional<std::uint32_t> column = start(id);
        column && (!least || *column < *least))
      least = column;
  return least;
}

/// Does `return ` fit before a None, or is that a `pass`? On the row of `def` a level of
/// indentation comes before the header, whose width is known where it has no annotations or
/// defaults; `pass` is what most people write there.
bool SourceColumns::begins_return(const SourceSpan& none) const {
  const std::uint32_t width = step();
  std::uint32_t before = 0;
  if (static_cast<std::uint32_t>(none.line) == r_.object.firstlineno) {
    before = header_width();
    if (none.first < before || (none.first - before) % width == 0) return false;
  }
  const std::uint32_t least = before + kBeforeValue + (before == 0 ? first_ % width : 0);
  return none.first >= least && (none.first - least) % width == 0;
}

/// Of `def name(a, *b): `, without annotations and defaults.
std::uint32_t SourceColumns::header_width() const {
  const CodeObject& code = r_.object;
  const bool rest = code.flags & kVarArgs, keywords = code.flags & kVarKeywords;
  const std::uint32_t named = code.argcount + code.kwonlyargcount;
  std::size_t width = std::string_view("def (): ").size() + r_.text(code.name).size();
  if (code.flags & (kCoroutine | kAsyncGenerator)) width += std::string_view("async ").size();
  const std::uint32_t count = named + std::uint32_t{rest} + std::uint32_t{keywords};
  for (std::uint32_t i = 0; i < count && i < code.slots.size(); ++i)
    width += r_.text(code.slots[i].name).size();
  const bool star = rest || code.kwonlyargcount != 0, slash = code.posonlyargcount != 0;
  const std::uint32_t parts =
      count + std::uint32_t{slash} + std::uint32_t{star && !rest};  // with separators between
  width += std::size_t{star} + (keywords ? 2 : 0) + std::size_t{slash};
  if (parts > 1) width += (parts - 1) * std::string_view(", ").size();
  return static_cast<std::uint32_t>(width);
}

SourceSpan SourceColumns::place_of_jump(StmtId id) const {
  const Origin& origin = r_.ast[id].origin;
  if (known_ || origin.code != r_.code) return at(origin);
  return {origin.line, 0, 0};
}

bool SourceColumns::is_single(StmtId id) const {
  find_jumps();
  const auto [low, high] =
      std::equal_range(jumps_.begin(), jumps_.end(), place_of_jump(id), before);
  return high - low == 1;
}

bool SourceColumns::writes_jump(StmtId id) const {
  const Stmt& s = r_.ast[id];
  const SourceSpan own = at(s.origin);
  if (own.line == 0 || !is_single(id)) return false;
  const std::uint32_t width = own.width();
  if (s.kind == StmtKind::Continue) return width == kContinueWidth;
  if (r_.role != Role::Function) return false;  // the end of a module or class
  if (width != kReturnWidth && width != kNoneWidth) return false;
  if (width == kNoneWidth && !begins_return(own)) return false;
  // The end of a function has the place of what came before it.
  find_others();
  return !std::binary_search(others_.begin(), others_.end(), own, before);
}

bool SourceColumns::writes_break(StmtId id) const {
  return r_.returns_none(id) && at(r_.ast[id].origin).width() == kBreakWidth;
}

std::optional<bool> SourceColumns::bare_return(StmtId id) const {
  const std::uint32_t width = at(r_.ast[id].origin).width();
  if (width == kReturnWidth) return true;
  if (width == kNoneWidth) return false;
  return {};
}

}  // namespace depyf
