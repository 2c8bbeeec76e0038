// Expressions and patterns of the tree to text: a stack of tasks, pushed in reverse.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "ast/comprehension.h"
#include "ast/percent_format.h"
#include "print/printer.h"
#include "pyc/singleton_text.h"

namespace depyf {

namespace {

constexpr std::uint8_t pack_literal(Quote quote, Braces braces, bool plain) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(quote) |
                                   static_cast<std::uint8_t>(braces) << 2 | (plain ? 16 : 0));
}

std::string_view conversion_text(std::uint8_t conversion) {
  constexpr std::string_view texts[] = {"", "!s", "!r", "!a"};
  return conversion < std::size(texts) ? texts[conversion] : std::string_view();
}

/// An order of the constants that a set can hold: by kind, then by value; containers stay as they
/// come.
bool constant_less(const Const& a, const Const& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.big != b.big) return b.big;
  if (a.integer != b.integer) return a.integer < b.integer;
  if (a.re < b.re || b.re < a.re) return a.re < b.re;
  return a.text < b.text;
}

/// Does a constant of this kind hold other constants?
bool holds_constants(ConstKind kind) {
  switch (kind) {
    case ConstKind::Tuple:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Dict:
    case ConstKind::Slice:
      return true;
    case ConstKind::None:
    case ConstKind::True:
    case ConstKind::False:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
    case ConstKind::Int:
    case ConstKind::Float:
    case ConstKind::Complex:
    case ConstKind::Str:
    case ConstKind::Bytes:
    case ConstKind::Code:
    case ConstKind::Object:
      break;
  }
  return false;
}

}  // namespace

void Printer::flush_sequence() {
  if (sequence_.empty()) return;
  tasks_.insert(tasks_.end(), sequence_.rbegin(), sequence_.rend());
  sequence_.clear();
}

void Printer::write_expr(ExprId id, std::uint8_t allow, bool optional) {
  const Expr& e = ast_[id];
  if (optional && options_.breaks_paths && is_path(e)) {
    open_group(e.kind == ExprKind::Call ? Group::Call : Group::Path, Row::Free);
    if (!write_simple(id, Prec::Test)) {
      visit({TaskKind::Compound, Prec::Test, allow, kPath, id.index, {}});
      if (!at_cursor()) run();
    }
    close_group();
    return;
  }
  if (write_simple(id, Prec::Test)) return;
  bool group = optional && takes_optional_group(id);
  bool tuple =
      optional && (allow & kAllowTuple) && precedence(ast_, id) == Prec::Lowest &&
      (e.kind == ExprKind::Tuple || e.kind == ExprKind::Constant) &&
      !parenthesised(Task{TaskKind::Expr, Prec::Test, allow, 0, id.index, {}}, e, Prec::Lowest);
  if (tuple) {
    std::size_t count =
        e.kind == ExprKind::Tuple ? e.kids.size() : module_[ConstId(e.a)].items.size();
    open_group(count == 1 ? Group::Optional : Group::OptionalTuple, Row::Free);
  } else if (group) {
    open_group(Group::Optional, Row::Free);
  }
  visit({TaskKind::Compound, Prec::Test, allow, 0, id.index, {}});
  if (!at_cursor()) run();
  if (tuple || group) close_group();
}

bool Printer::is_path(const Expr& e) const {
  return e.kind == ExprKind::Name || e.kind == ExprKind::Attribute ||
         e.kind == ExprKind::Subscript || e.kind == ExprKind::Call;
}

bool Printer::takes_optional_group(ExprId id) const {
  const Expr& e = ast_[id];
  if (e.kind == ExprKind::BoolOp || e.kind == ExprKind::Compare || e.kind == ExprKind::IfExp)
    return true;
  if (e.kind != ExprKind::Binary) return false;
  // A chain of operators parts between its operands; a single operator leaves the breaking to the
  // brackets of its operands.
  const Expr& left = ast_[e.kids[0]];
  return left.kind == ExprKind::Binary && binary_operator(static_cast<BinaryOp>(left.op)).prec ==
                                              binary_operator(static_cast<BinaryOp>(e.op)).prec;
}

void Printer::run() {
  flush_sequence();
  while (!tasks_.empty()) {
    Task task = tasks_.back();
    tasks_.pop_back();
    switch (task.kind) {
      case TaskKind::Text:
        out_ += task.text;
        break;
      case TaskKind::Name:
        write_name(StrId(task.a));
        break;
      case TaskKind::Expr:
        if (write_simple(ExprId(task.a), task.min)) break;
        [[fallthrough]];
      case TaskKind::Compound:
        visit(task);
        flush_sequence();
        break;
      case TaskKind::Constant:
        visit_constant(task);
        flush_sequence();
        break;
      case TaskKind::Pattern:
        visit_pattern(task);
        flush_sequence();
        break;
      case TaskKind::Literal: {
        std::string_view text = module_[ConstId(task.a)].text;
        auto braces = static_cast<Braces>(task.flag >> 2 & 3);
        if (task.flag &
            16) {  // a nested f-string before 3.12: no escapes, which plan_quotes made sure of
          for (char c : text) {
            out_ += c;
            if ((c == '{' || c == '}') && braces == Braces::Doubled) out_ += c;
          }
        } else {
          write_spelt([&](std::string& out) {
            append_escaped(out, text, static_cast<Quote>(task.flag & 3), braces);
          });
        }
        break;
      }
      case TaskKind::OpenParen:
        open_bracket(static_cast<char>(task.flag));
        break;
      case TaskKind::CloseParen:
        close_bracket(static_cast<char>(task.flag));
        break;
      case TaskKind::OpenGroup:
        open_group(static_cast<Group>(task.flag), static_cast<Row>(task.a));
        break;
      case TaskKind::Part:
        part(static_cast<Row>(task.a));
        break;
      case TaskKind::Twin:
        mark_twin(task.a);
        break;
      case TaskKind::CloseGroup:
        close_group();
        break;
      case TaskKind::EnterField:
        ++fields_;
        break;
      case TaskKind::LeaveField:
        --fields_;
        break;
    }
  }
  if (!scratch_.empty()) scratch_.clear();
}

bool Printer::has_starred(std::span<const ExprId> kids) const {
  for (ExprId kid : kids)
    if (kid && ast_[kid].kind == ExprKind::Starred) return true;
  return false;
}

bool Printer::parenthesised(const Task& task, const Expr& e, Prec prec) const {
  if (prec != Prec::Lowest) return prec < task.min;
  if (e.kind == ExprKind::Tuple)
    return !(task.allow & kAllowTuple) ||
           (!(task.allow & kAllowStarredTuple) && has_starred(e.kids));
  if (e.kind == ExprKind::Constant) return !(task.allow & kAllowTuple);
  if (e.kind == ExprKind::Yield || e.kind == ExprKind::YieldFrom)
    return !(task.allow & kAllowYield);
  if (e.kind == ExprKind::NamedExpr) return !(task.allow & kAllowWalrus);
  return true;  // Raw text of unknown structure
}

std::size_t Printer::operands_on_first_row(const Expr& e) const {
  for (std::size_t i = e.kids.size(); i-- > 0;) {
    ExprId last = e.kids[i];
    while (ast_[last].kind == ExprKind::IfExp) last = ast_[last].kids[2];
    const Expr& kid = ast_[last];
    if (kid.kind == ExprKind::BoolOp && kid.a == kOnSameRow && (i > 0 || last != e.kids[0]))
      return i + 1;
  }
  return 0;
}

bool Printer::holds_rows(const Expr& e) const {
  const Expr* first = &e;
  while (first->kind == ExprKind::BoolOp && operands_on_first_row(*first) == 0)
    first = &ast_[first->kids[0]];
  return first->kind == ExprKind::BoolOp;
}

bool Printer::is_constant_display(const Expr& e) const {
  if (e.kids.size() < 6) return false;
  for (ExprId kid : e.kids) {
    if (!kid) return false;
    const Expr& item = ast_[kid];
    if (item.kind != ExprKind::Constant) return false;
    const Const& value = module_[ConstId(item.a)];
    if (value.kind == ConstKind::Tuple || value.text.size() > 24) return false;
  }
  return true;
}

void Printer::add_items(std::span<const ExprId> kids, Prec min) {
  for (std::size_t i = 0; i < kids.size(); ++i) {
    if (i) add_comma();
    add_expr(kids[i], min);
  }
}

bool Printer::write_other_simple(ExprId id, Prec min) {
  if (!id) {
    write("None");
    return true;
  }
  const Expr& e = ast_[id];
  if (e.kind == ExprKind::Attribute) {
    const Expr& value = ast_[e.kids[0]];
    if (value.kind != ExprKind::Name || min > Prec::Primary) return false;
    add_site(e);
    add_site(value);
    write_name(StrId(value.a));
    out_ += '.';
    out_ += attribute_name(StrId(e.a));
    return true;
  }
  if (e.kind != ExprKind::Constant) return false;
  const Const& constant = module_[ConstId(e.a)];
  if (holds_constants(constant.kind)) return false;
  add_site(e);
  const auto write_integer = [&](int base, int group) {
    write_spelt([&](std::string& out) {
      append_integer(out, static_cast<std::uint64_t>(constant.integer), base, group);
    });
    return true;
  };
  switch (static_cast<IntegerStyle>(e.op)) {
    case IntegerStyle::Decimal:
      break;
    case IntegerStyle::Hexadecimal:
      return write_integer(16, 0);
    case IntegerStyle::Octal:
      return write_integer(8, 0);
    case IntegerStyle::Binary:
      return write_integer(2, 0);
    case IntegerStyle::Thousands:
      return write_integer(10, 3);
  }
  return write_simple_constant(ConstId(e.a), min);
}

void Printer::visit_attribute(const Expr& e, std::uint8_t flag) {
  const Expr& value = ast_[e.kids[0]];
  bool digits = value.kind == ExprKind::Constant &&
                module_[ConstId(value.a)].kind == ConstKind::Int &&
                precedence(ast_, e.kids[0]) == Prec::Atom;
  if (digits) add_open('(', Group::NoComma);
  add_expr(e.kids[0], Prec::Primary, 0, flag & kPath);
  if (digits) add_close(')');
  if (flag & kPath) add_part();
  add_text(".");
  add_text(attribute_name(StrId(e.a)));
}

void Printer::visit_keyword(const Expr& e) {
  if (e.a == UINT32_MAX) {
    add_text("**");
    add_expr(e.kids[0], Prec::BitOr);
  } else if (std::string_view name = module_[StrId(e.a)];
             !options_.renames_keywords && !is_writable_name(name, options_.grammar)) {
    std::string& text = scratch_.emplace_back("**{");
    append_string(text, name);
    text += ": ";
    add_text(text);
    add_expr(e.kids[0], Prec::Test);
    add_text("}");
  } else {
    add_name(StrId(e.a));
    add_text("=");
    add_expr(e.kids[0], Prec::Test);
  }
}

void Printer::visit_binary(const Expr& e, const Around& around) {
  Operator op = binary_operator(static_cast<BinaryOp>(e.op));
  bool power = op.prec == Prec::Power;
  if (around.soft && !power) add_group(Group::Soft);
  add_expr(e.kids[0], power ? Prec::Await : op.prec, 0, power ? 0 : kChain);
  if (around.parts && !power) {
    add_text(" ");
    add_part();
    add_text(op.text.substr(1));
  } else {
    add_text(op.text);
  }
  add_expr(e.kids[1], power ? Prec::Factor : tighter(op.prec));
  if (around.soft && !power) add_group_end();
}

void Printer::visit_bool_op(const Expr& e, const Around& around) {
  if (around.soft) add_group(around.held ? Group::Rows : Group::Soft);
  for (std::size_t i = 0; i < e.kids.size(); ++i) {
    if (i) {
      add_text(" ");
      const Expr& kid = ast_[e.kids[i]];
      const bool begins = e.a == kOnSameRow && kid.kind == ExprKind::BoolOp && kid.a == kBeginsRow;
      if (around.parts) add_part(i < around.held ? Row::Same : begins ? Row::Next : Row::Free);
      add_text(e.op == 0 ? "and " : "or ");
    }
    add_expr(e.kids[i], tighter(around.prec));
  }
  if (around.soft) add_group_end();
}

void Printer::visit_comparison(const Expr& e, const Around& around) {
  if (around.soft) add_group(Group::Soft);
  add_expr(e.kids[0], Prec::BitOr);
  for (std::size_t i = 1; i < e.kids.size(); ++i) {
    add_text(" ");
    if (around.parts) add_part();
    CompareOp op = i - 1 < e.extra.size() ? static_cast<CompareOp>(e.extra[i - 1]) : CompareOp::Eq;
    const bool apart = op == CompareOp::Ne && spells_unequal_apart(module_[module_.root]);
    add_text(apart ? "<> " : compare_operator(op).substr(1));
    add_expr(e.kids[i], Prec::BitOr);
  }
  if (around.soft) add_group_end();
}

void Printer::visit_conditional(const Expr& e, const Around& around) {
  if (around.soft) add_group(Group::Soft);
  add_expr(e.kids[1], Prec::Or);
  add_text(" ");
  if (around.parts) add_part();
  add_text("if ");
  add_expr(e.kids[0], Prec::Or);
  add_text(" ");
  if (around.parts) add_part();
  add_text("else ");
  add_expr(e.kids[2], Prec::Test, 0, around.soft || around.parens ? kChain : 0);
  if (around.soft) add_group_end();
}

void Printer::visit_tuple(const Expr& e, const Task& task, const Around& around) {
  if (e.kids.empty()) {
    add_text("()");
    return;
  }
  for (std::size_t i = 0; i < e.kids.size(); ++i) {
    if (i) {
      add_text(", ");
      if (around.parts && (around.parens || !(task.flag & kOneRow))) add_part();
    }
    add_expr(e.kids[i], Prec::Test, around.allow & kAllowSlices);
  }
  // x[*a] is x[(*a,)] since 3.11.
  if (e.kids.size() == 1 &&
      !((task.allow & kAllowSlices) && !around.parens && ast_[e.kids[0]].kind == ExprKind::Starred))
    add_text(",");
}

void Printer::visit_dict(const Expr& e) {
  add_open('{', Group::Items);
  for (std::size_t i = 0; i + 1 < e.kids.size(); i += 2) {
    if (i) add_comma();
    if (e.kids[i]) {
      add_expr(e.kids[i], Prec::Test);
      add_text(": ");
      add_expr(e.kids[i + 1], Prec::Test);
    } else {
      add_text("**");
      add_expr(e.kids[i + 1], Prec::BitOr);
    }
  }
  add_close('}');
}

void Printer::visit_lambda(const Expr& e) {
  if (e.a < ast_.functions.size()) {
    add_definition(ast_.functions[e.a].code);
    add_twin(ast_.functions[e.a].code.index);
  }
  add_text("lambda");
  if (e.a < ast_.functions.size() && !ast_.functions[e.a].parameters.empty()) {
    add_text(" ");
    add_parameters(ast_.functions[e.a], false);
  }
  add_text(": ");
  add_expr(e.kids[0], Prec::Test);
}

void Printer::visit_clause(const Expr& e, bool parts) {
  add_text(e.op & 1 ? "async for " : "for ");
  add_expr(e.kids[0], Prec::Primary, kAllowTuple | kAllowStarredTuple, kOneRow);
  add_text(" in ");
  add_expr(e.kids[1], Prec::Or);
  for (ExprId condition : e.kids.subspan(2)) {
    add_text(" ");
    if (parts) add_part();
    add_text("if ");
    add_expr(condition, Prec::Or);
  }
}

void Printer::visit_subscript(const Expr& e, std::uint8_t flag) {
  add_expr(e.kids[0], Prec::Primary, 0, flag & kPath);
  add_open('[', Group::NoComma);
  add_expr(e.kids[1], Prec::Test,
           static_cast<std::uint8_t>(kAllowTuple | kAllowSlices |
                                     (at_least(11) ? kAllowStarredTuple : 0)));
  add_close(']');
}

/// Outside of a subscript.
void Printer::add_slice_call(const Expr& e) {
  add_text("slice");
  add_open('(', Group::Items);
  for (std::size_t i = 0; i < 3; ++i) {
    if (i) add_comma();
    i < e.kids.size() && e.kids[i] ? add_expr(e.kids[i], Prec::Test) : add_text("None");
  }
  add_close(')');
}

/// Or a set.
void Printer::visit_list(const Expr& e) {
  const bool list = e.kind == ExprKind::List;
  if (!list && e.kids.empty()) {
    add_text("{*()}");
    return;
  }
  add_open(list ? '[' : '{', is_constant_display(e) ? Group::Fill : Group::Items);
  add_items(e.kids, Prec::Test);
  add_close(list ? ']' : '}');
}

void Printer::visit_yield(const Expr& e) {
  add_text("yield");
  if (e.kids.empty() || !e.kids[0]) return;
  add_text(" ");
  add_expr(e.kids[0], Prec::Test,
           static_cast<std::uint8_t>(kAllowTuple | (at_least(8) ? kAllowStarredTuple : 0)));
}

/// Outside an f-string: only from bytecode that no compiler wrote.
void Printer::visit_conversion(const Expr& e) {
  const bool has_spec = e.kids.size() > 1 && e.kids[1];
  add_text(has_spec ? "format" : e.op == 2 ? "repr" : e.op == 3 ? "ascii" : "format");
  add_open('(', Group::Items);
  add_items(e.kids.first(has_spec ? 2 : 1), Prec::Test);
  add_close(')');
}

void Printer::visit(const Task& task) {
  const ExprId id(task.a);
  const Expr& e = ast_[id];
  add_site(e);
  if (e.kind == ExprKind::Call &&
      task.min <= Prec::Primary) {  // the most frequent one, never in parentheses
    visit_call(e, task.flag);
    return;
  }
  if (e.kind == ExprKind::Constant) {
    visit_constant({TaskKind::Constant, task.min, task.allow, task.flag, e.a, {}});
    return;
  }
  if (e.kind == ExprKind::JoinedStr || e.kind == ExprKind::TemplateStr) {
    visit_formatted_string(id, e, task.min);
    return;
  }
  Prec prec = precedence(ast_, id);
  bool tuple = e.kind == ExprKind::Tuple && !e.kids.empty();
  const bool is_bool_op = e.kind == ExprKind::BoolOp;
  const bool on_rows = (is_bool_op && e.a == kBeginsRow) ||
                       (e.op == kOnRows && (tuple || is_comprehension(e.kind))) ||
                       (e.op == kStoredLast && is_comprehension(e.kind));
  bool parens = on_rows || parenthesised(task, e, prec);
  const std::size_t held = is_bool_op ? operands_on_first_row(e) : 0;
  std::uint8_t allow = task.allow;
  if (parens) {
    bool comma = tuple && e.kids.size() > 1;
    const Group group = comma ? (is_constant_display(e) ? Group::Fill : Group::Items)
                        : held || (is_bool_op && e.a == kOnSameRow) ? Group::Rows
                                                                    : Group::NoComma;
    add_open('(', group, on_rows ? Row::Next : Row::Free);
    allow = kAllowTuple | kAllowStarredTuple | kAllowYield | kAllowWalrus;
  }
  // No bracket holds the rows.
  const bool alone = is_bool_op && groups_ == 0 && !parens && holds_rows(e);
  if (alone) add_group(Group::Optional);
  // Operands part where some bracket is open; a chain's inner links part in the group of its
  // outermost one.
  const bool open = groups_ > 0 || alone;
  const Around around{open && !parens && (held || !(task.flag & kChain)),
                      open || parens,
                      parens,
                      allow,
                      prec,
                      held};
  visit_inside(task, e, around);
  if (alone) add_group_end();
  if (parens) add_close(')');
}

void Printer::visit_inside(const Task& task, const Expr& e, const Around& around) {
  switch (e.kind) {
    case ExprKind::Constant:
    case ExprKind::Name:
    case ExprKind::JoinedStr:
    case ExprKind::TemplateStr:
      break;  // done above
    case ExprKind::Attribute:
      visit_attribute(e, task.flag);
      break;
    case ExprKind::Subscript:
      visit_subscript(e, task.flag);
      break;
    case ExprKind::Slice:
      task.allow& kAllowSlices ? add_slice(e) : add_slice_call(e);
      break;
    case ExprKind::Starred:
      add_text("*");
      add_expr(e.kids[0], Prec::BitOr);
      break;
    case ExprKind::Call:
      visit_call(e, task.flag);
      break;
    case ExprKind::Keyword:
      visit_keyword(e);
      break;
    case ExprKind::Binary:
      visit_binary(e, around);
      break;
    case ExprKind::Unary: {
      Operator op = unary_operator(static_cast<UnaryOp>(e.op));
      add_text(op.text);
      add_expr(e.kids[0], op.prec);
      break;
    }
    case ExprKind::BoolOp:
      visit_bool_op(e, around);
      break;
    case ExprKind::Compare:
      visit_comparison(e, around);
      break;
    case ExprKind::IfExp:
      visit_conditional(e, around);
      break;
    case ExprKind::NamedExpr:
      add_expr(e.kids[0], Prec::Atom);
      add_text(" := ");
      add_expr(e.kids[1], Prec::Test);
      break;
    case ExprKind::Tuple:
      visit_tuple(e, task, around);
      break;
    case ExprKind::List:
    case ExprKind::Set:
      visit_list(e);
      break;
    case ExprKind::Dict:
      visit_dict(e);
      break;
    case ExprKind::Lambda:
      visit_lambda(e);
      break;
    case ExprKind::ListComp:
    case ExprKind::SetComp:
    case ExprKind::DictComp:
    case ExprKind::GeneratorExp:
      visit_comprehension(e);
      break;
    case ExprKind::Comprehension:
      visit_clause(e, around.parts);
      break;
    case ExprKind::Await:
      add_text("await ");
      add_expr(e.kids[0], Prec::Primary);
      break;
    case ExprKind::Yield:
      visit_yield(e);
      break;
    case ExprKind::YieldFrom:
      add_text("yield from ");
      add_expr(e.kids[0], Prec::Test);
      break;
    case ExprKind::FormattedValue:
    case ExprKind::Interpolation:
      visit_conversion(e);
      break;
#define EXPR(name, a)
#define RAW(name, a) case ExprKind::name:
#define PATTERN(name, a)
#include "ast/ast.def"
      visit_raw(e);
      break;
#define EXPR(name, a)
#define RAW(name, a)
#define PATTERN(name, a) case ExprKind::name:
#include "ast/ast.def"
      add_pattern(ExprId(task.a), 0);
      break;
  }
}

/// Strings of more bytes may be split over lines.
constexpr std::size_t kSplitFrom = 40;

bool Printer::write_simple_constant(ConstId id, Prec min) {
  const Const& value = module_[id];
  const bool parens = min > Prec::Factor && precedence(value) == Prec::Factor;  // a negative number
  switch (value.kind) {
    case ConstKind::None:
    case ConstKind::True:
    case ConstKind::False:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
      out_ += singleton_text(value.kind);
      break;
    case ConstKind::Int:
      if (parens) out_ += '(';
      if (value.big) {
        write_spelt([&](std::string& out) { append_big_integer(out, value.text); });
      } else {
        char buffer[24];
        out_.append({buffer, std::to_chars(buffer, buffer + sizeof buffer, value.integer).ptr});
      }
      if (parens) out_ += ')';
      break;
    case ConstKind::Float:
    case ConstKind::Complex:
      if (parens) out_ += '(';
      write_spelt([&](std::string& out) {
        value.kind == ConstKind::Complex ? append_complex(out, value.re, value.im, options_.grammar)
                                         : append_float(out, value.re);
        // Some are spelt as a sum in parentheses, which are dropped where nothing else is near.
        if (out[0] == '(' && min <= Prec::Test) out = out.substr(1, out.size() - 2);
      });
      if (parens) out_ += ')';
      break;
    case ConstKind::Str:
    case ConstKind::Bytes: {
      const bool splits = options_.breaks_paths && value.text.size() > kSplitFrom;
      if (splits) open_group(Group::Literal, Row::Free);
      write_spelt([&](std::string& out) {
        const bool bytes = value.kind == ConstKind::Bytes;
        if (fields_ && !at_least(12))
          append_plain_string(out, value.text, bytes);
        else
          bytes ? append_bytes(out, value.text) : append_string(out, value.text);
      });
      if (splits) close_group();
      break;
    }
    case ConstKind::Code:  // printed where no source form holds a bare code object
      out_ += "code_";
      out_ += names_.spell_text(module_[module_[value.code].name]);
      break;
    case ConstKind::Object:
      out_ += object_name(value.object);
      break;
    case ConstKind::Tuple:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Dict:
    case ConstKind::Slice:
      return false;
  }
  return true;
}

/// Of a list, a set or a frozenset.
void Printer::visit_constant_set(const Const& value) {
  // A frozenset constant comes from `x in {…}`; an empty one, or a set, from no source.
  bool list = value.kind == ConstKind::List;
  if (value.items.empty()) {
    out_ += list ? "[]" : value.kind == ConstKind::Set ? "set()" : "frozenset()";
    return;
  }
  // The order in which a set gives its items is that of its hash table. With texts it differs
  // from run to run: sorted, the text does not.
  std::vector<ConstId> items(value.items.begin(), value.items.end());
  const auto is_text = [&](ConstId item) {
    return module_[item].kind == ConstKind::Str || module_[item].kind == ConstKind::Bytes;
  };
  if (!list && std::any_of(items.begin(), items.end(), is_text))
    std::stable_sort(items.begin(), items.end(),
                     [&](ConstId a, ConstId b) { return constant_less(module_[a], module_[b]); });
  add_open(list ? '[' : '{', Group::Fill);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i) add_comma();
    add_constant(items[i], Prec::Test);
  }
  add_close(list ? ']' : '}');
}

void Printer::visit_constant(const Task& task) {
  if (write_simple_constant(ConstId(task.a), task.min)) return;
  const Const& value = module_[ConstId(task.a)];
  switch (value.kind) {
    case ConstKind::Tuple: {
      if (value.items.empty()) {
        out_ += "()";
        break;
      }
      bool parens = !(task.allow & kAllowTuple);
      bool small = true;
      for (ConstId item : value.items)
        small = small && module_[item].kind != ConstKind::Tuple && module_[item].text.size() <= 24;
      if (parens)
        add_open('(', value.items.size() == 1            ? Group::NoComma
                      : small && value.items.size() >= 6 ? Group::Fill
                                                         : Group::Items);
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        if (i) {
          add_text(", ");
          if (parens || groups_) add_part();
        }
        add_constant(value.items[i], Prec::Test, task.allow & kAllowSlices);
      }
      if (value.items.size() == 1) add_text(",");
      if (parens) add_close(')');
      break;
    }
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
      visit_constant_set(value);
      break;
    case ConstKind::Dict:
      add_open('{', Group::Items);
      for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
        if (i) add_comma();
        add_constant(value.items[i], Prec::Test);
        add_text(": ");
        add_constant(value.items[i + 1], Prec::Test);
      }
      add_close('}');
      break;
    case ConstKind::Slice: {
      bool colons = task.allow & kAllowSlices;
      if (!colons && value.live) {
        out_ += object_name(value.object);
        break;
      }
      if (!colons) {
        out_ += "slice";
        add_open('(', Group::Items);
      }
      for (std::size_t i = 0; i < 3 && i < value.items.size(); ++i) {
        bool none = module_[value.items[i]].kind == ConstKind::None;
        if (colons && i == 2 && none) break;
        if (i) add_text(colons ? ":" : ", ");
        if (!colons || !none) add_constant(value.items[i], Prec::Test);
      }
      if (!colons) add_close(')');
      break;
    }
    case ConstKind::None:
    case ConstKind::True:
    case ConstKind::False:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
    case ConstKind::Int:
    case ConstKind::Float:
    case ConstKind::Complex:
    case ConstKind::Str:
    case ConstKind::Bytes:
    case ConstKind::Code:
    case ConstKind::Object:
      break;  // done above
  }
}

void Printer::add_slice(const Expr& e) {
  for (std::size_t i = 0; i < e.kids.size(); ++i) {
    if (i == 2 && !e.kids[2]) break;
    if (i) add_text(":");
    if (e.kids[i]) add_expr(e.kids[i], Prec::Test);
  }
  if (e.kids.size() < 2) add_text(":");
}

void Printer::add_arguments(std::span<const ExprId> kids, bool lone_generator) {
  const bool generator =
      lone_generator && kids.size() == 1 && ast_[kids[0]].kind == ExprKind::GeneratorExp;
  if (generator) add_twin(ast_[kids[0]].a);
  add_open('(', generator ? Group::NoComma : Group::Items);
  if (generator) {
    const Expr& e = ast_[kids[0]];
    add_expr(e.kids[0], Prec::Test);
    add_comprehensions(e.kids.subspan(1));
  } else {
    add_items(kids, Prec::Test);
  }
  add_close(')');
}

void Printer::visit_call(const Expr& e, std::uint8_t flag) {
  add_expr(e.kids[0], Prec::Primary, 0, flag & kPath);
  add_arguments(e.kids.subspan(1));
}

void Printer::add_comprehensions(std::span<const ExprId> kids) {
  for (ExprId kid : kids) {
    add_text(" ");
    add_part();
    add_expr(kid, Prec::Test);
  }
}

void Printer::visit_comprehension(const Expr& e) {
  const bool list = e.kind == ExprKind::ListComp, generator = e.kind == ExprKind::GeneratorExp;
  const char open = list ? '[' : generator ? '(' : '{', close = list ? ']' : generator ? ')' : '}';
  add_twin(e.a);
  add_open(open, Group::NoComma);
  std::size_t first = 1;
  if (e.kind == ExprKind::DictComp) {
    first = 2;
    if (e.kids[0]) {
      add_expr(e.kids[0], Prec::Test);
      add_text(": ");
      add_expr(e.kids[1], Prec::Test);
    } else {
      add_text("**");
      add_expr(e.kids[1], Prec::BitOr);
    }
  } else {
    add_expr(e.kids[0], Prec::Test);
  }
  add_comprehensions(e.kids.subspan(first));
  add_close(close);
}

/// The parameters of a `def`. From 3.10 to 3.13 the line of a default leaves a trace in the
/// bytecode (a NOP), so a default stays where it was.
void Printer::add_signature(const Function& function, const Signature* given) {
  auto has_default = [](const Parameter& p) {
    return p.default_value && p.kind <= ParamKind::Positional;
  };
  const auto defaults = static_cast<std::uint32_t>(
      std::count_if(function.parameters.begin(), function.parameters.end(), has_default));
  DefaultRows rows;
  if (defaults != 0 && at_least(10) && !at_least(14) && function.default_rows <= defaults)
    rows = {std::max(function.default_rows, 1U), defaults,
            function.default_rows == 0 || function.defaults_begin_with_def};
  const bool one_each = rows.count == defaults && !rows.with_def;
  add_open('(', rows.count == 0 || one_each ? Group::Items : Group::Rows,
           rows.count != 0 && one_each ? Row::Next : Row::Free);
  add_parameters(function, true, one_each ? DefaultRows() : rows, given);
  add_close(')');
  if (given && !given->returns.empty()) {
    add_text(" -> ");
    add_text(given->returns);
  }
}

void Printer::add_parameters(const Function& function, bool annotations, DefaultRows rows,
                             const Signature* given) {
  bool first = true, star = false;
  std::uint32_t seen = 0;  // defaults
  const std::vector<Parameter>& parameters = function.parameters;
  auto separate = [&](bool before_default = false) {
    Row row = Row::Free;
    if (rows.count != 0 && seen < rows.defaults) {
      const auto row_of = [&](std::uint32_t k) {
        return std::uint64_t{k} * rows.count / rows.defaults;
      };
      const bool begins =
          before_default && (seen == 0 ? !rows.with_def : row_of(seen) != row_of(seen - 1));
      if (begins)
        row = Row::Next;
      else if (seen != 0 || rows.with_def)
        row = Row::Same;
    }
    if (!first) {
      add_text(", ");
      if (annotations) add_part(row);
    }
    first = false;
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const bool counted = parameter.default_value && parameter.kind <= ParamKind::Positional;
    separate(counted);
    seen += counted;
    switch (parameter.kind) {
      case ParamKind::PositionalOnly:
      case ParamKind::Positional:
        break;
      case ParamKind::VarArgs:
        star = true;
        add_text("*");
        break;
      case ParamKind::KeywordOnly:
        if (!star) {
          star = true;
          add_text("*");
          separate();
        }
        break;
      case ParamKind::VarKeywords:
        add_text("**");
        break;
    }
    add_name(parameter.name);
    bool annotated = annotations && parameter.annotation;
    if (annotated) {
      add_text(": ");
      add_expr(parameter.annotation, Prec::Test);
    }
    if (parameter.default_value) {
      add_text(annotated ? " = " : "=");
      add_expr(parameter.default_value, Prec::Test);
    }
    if (given && i < given->parameters.size()) {
      const auto& [annotation, value] = given->parameters[i];
      if (!annotation.empty()) {
        add_text(": ");
        add_text(annotation);
      }
      if (!value.empty()) {
        add_text(annotation.empty() ? "=" : " = ");
        add_text(value);
      }
    }
    bool last_positional_only =
        parameter.kind == ParamKind::PositionalOnly &&
        (i + 1 == parameters.size() || parameters[i + 1].kind != ParamKind::PositionalOnly);
    if (last_positional_only) {
      separate();
      add_text("/");
    }
  }
}

void Printer::add_type_parameters(const std::vector<TypeParam>& parameters) {
  if (parameters.empty()) return;
  add_open('[', Group::NoComma);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i) add_comma();
    const TypeParam& parameter = parameters[i];
    switch (parameter.kind) {
      case TypeParamKind::TypeVar:
        break;
      case TypeParamKind::ParamSpec:
        add_text("**");
        break;
      case TypeParamKind::TypeVarTuple:
        add_text("*");
        break;
    }
    add_name(parameter.name);
    if (parameter.bound) {
      add_text(": ");
      add_expr(parameter.bound, Prec::Test);
    }
    if (parameter.default_value) {
      add_text(" = ");
      add_expr(parameter.default_value, Prec::Test);
    }
  }
  add_close(']');
}

// ---- f-strings and t-strings

void Printer::visit_formatted_string(ExprId id, const Expr& e, Prec min) {
  const QuotePlan& plan = plan_quotes(id);
  bool nested = fields_ > 0;
  if (!nested && !plan.outer_possible) {
    add_format_fallback(e, min);
    return;
  }
  Quote quote = nested ? plan.nested : plan.outer;
  add_text(e.kind == ExprKind::TemplateStr ? "t" : "f");
  add_text(quote_text(quote));
  add_string_parts(e, quote, false);
  add_text(quote_text(quote));
}

void Printer::add_string_parts(const Expr& e, Quote quote, bool spec) {
  bool plain = fields_ > 0 && !at_least(12);
  for (ExprId kid : e.kids) {
    const Expr& part = ast_[kid];
    if (part.kind == ExprKind::FormattedValue || part.kind == ExprKind::Interpolation) {
      add_field(kid, quote, 0);
    } else if (part.kind == ExprKind::Constant && module_[ConstId(part.a)].kind == ConstKind::Str) {
      sequence_.push_back({TaskKind::Literal,
                           Prec::Test,
                           0,
                           pack_literal(quote, spec ? Braces::Hex : Braces::Doubled, plain),
                           part.a,
                           {}});
    } else if (part.kind == ExprKind::JoinedStr) {
      add_string_parts(part, quote, spec);  // one level: parts of parts are no strings
    } else {
      add_text("{");
      add_expr(kid, Prec::Or);
      add_text("}");
    }
  }
}

void Printer::add_field(ExprId id, Quote quote, std::uint32_t level) {
  const Expr& field = ast_[id];
  add_text("{");
  if (keeps_text(id)) {
    // The text is part of the value (Interpolation.expression), so it stands as it was written.
    add_text(module_[ConstId(field.a)].text);
  } else {
    // `{{` is a literal brace; a display at the very left of the expression needs a space before
    // it.
    ExprId leftmost = field.kids[0];
    while (true) {
      const Expr& e = ast_[leftmost];
      bool left_child = e.kind == ExprKind::Attribute || e.kind == ExprKind::Subscript ||
                        e.kind == ExprKind::Call || e.kind == ExprKind::Binary ||
                        e.kind == ExprKind::BoolOp || e.kind == ExprKind::Compare;
      if (left_child)
        leftmost = e.kids[0];
      else if (e.kind == ExprKind::IfExp)
        leftmost = e.kids[1];
      else
        break;
    }
    const Expr& left = ast_[leftmost];
    bool brace = left.kind == ExprKind::Set || left.kind == ExprKind::Dict ||
                 left.kind == ExprKind::SetComp || left.kind == ExprKind::DictComp;
    if (left.kind == ExprKind::Constant) {
      ConstKind kind = module_[ConstId(left.a)].kind;
      brace = kind == ConstKind::FrozenSet || kind == ConstKind::Set || kind == ConstKind::Dict;
    }
    if (brace) add_text(" ");
    // The colon of a lambda would start the format specification.
    ExprId last = field.kids[0];
    while (ast_[last].kind == ExprKind::IfExp) last = ast_[last].kids[2];
    sequence_.push_back({TaskKind::EnterField});
    add_expr(field.kids[0], ast_[last].kind == ExprKind::Lambda ? Prec::Or : Prec::Test);
    sequence_.push_back({TaskKind::LeaveField});
  }
  add_text(conversion_text(field.op));
  if (field.kids.size() > 1 && field.kids[1]) {
    add_text(":");
    const Expr& spec = ast_[field.kids[1]];
    if (spec.kind == ExprKind::JoinedStr) {
      // A field of a specification may have one too; deeper, CPython says "expressions nested too
      // deeply".
      for (ExprId kid : spec.kids) {
        const Expr& part = ast_[kid];
        bool literal =
            part.kind == ExprKind::Constant && module_[ConstId(part.a)].kind == ConstKind::Str;
        bool plain = fields_ > 0 && !at_least(12);
        if (literal) {
          sequence_.push_back({TaskKind::Literal,
                               Prec::Test,
                               0,
                               pack_literal(quote, Braces::Hex, plain),
                               part.a,
                               {}});
        } else if (part.kind == ExprKind::FormattedValue &&
                   (level == 0 || part.kids.size() < 2 || !part.kids[1])) {
          add_field(kid, quote, level + 1);
        } else {
          add_text("{");
          sequence_.push_back({TaskKind::EnterField});
          add_expr(kid, Prec::Or);
          sequence_.push_back({TaskKind::LeaveField});
          add_text("}");
        }
      }
    } else if (spec.kind == ExprKind::Constant && module_[ConstId(spec.a)].kind == ConstKind::Str) {
      sequence_.push_back({TaskKind::Literal,
                           Prec::Test,
                           0,
                           pack_literal(quote, Braces::Hex, fields_ > 0 && !at_least(12)),
                           spec.a,
                           {}});
    } else {
      add_text("{");
      sequence_.push_back({TaskKind::EnterField});
      add_expr(field.kids[1], Prec::Or);
      sequence_.push_back({TaskKind::LeaveField});
      add_text("}");
    }
  }
  add_text("}");
}

void Printer::add_format_fallback(const Expr& e, Prec min) {
  // 3.11 turns '…%s…' % (x,) into the bytecode of an f-string, also where x cannot stand in one:
  // give the original form back.
  const std::optional<std::string> format =
      options_.grammar == PyVersion{3, 11} ? percent_format(ast_, e) : std::nullopt;
  if (format) {
    const auto fields = std::count_if(e.kids.begin(), e.kids.end(), [&](ExprId kid) {
      return ast_[kid].kind == ExprKind::FormattedValue;
    });
    if (min > Prec::Term) add_open('(', Group::NoComma);
    std::string& text = scratch_.emplace_back();
    append_string(text, *format);
    add_text(text);
    add_text(" % ");
    add_open('(', fields == 1 ? Group::NoComma : Group::Items);
    bool first = true;
    for (ExprId kid : e.kids) {
      if (ast_[kid].kind != ExprKind::FormattedValue) continue;
      if (!first) add_comma();
      first = false;
      add_expr(ast_[kid].kids[0], Prec::Test);
    }
    if (fields == 1) add_text(",");
    add_close(')');
    if (min > Prec::Term) add_close(')');
    return;
  }
  // Otherwise no source of that version has this bytecode: the same value by the same calls.
  add_text("''.join");
  add_open('(', Group::NoComma);
  add_open('(', Group::NoComma);
  for (ExprId kid : e.kids) {
    const Expr& part = ast_[kid];
    if (part.kind == ExprKind::FormattedValue) {
      std::string_view conversion = part.op == 1   ? "str"
                                    : part.op == 2 ? "repr"
                                    : part.op == 3 ? "ascii"
                                                   : "";
      add_text("format");
      add_open('(', Group::Items);
      if (!conversion.empty()) {
        add_text(conversion);
        add_open('(', Group::Items);
      }
      add_expr(part.kids[0], Prec::Test);
      if (!conversion.empty()) add_close(')');
      if (part.kids.size() > 1 && part.kids[1]) {
        add_comma();
        add_expr(part.kids[1], Prec::Test);
      }
      add_close(')');
    } else {
      add_expr(kid, Prec::Test);
    }
    add_comma();
  }
  add_close(')');
  add_close(')');
}

}  // namespace depyf
