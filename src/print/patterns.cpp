// Patterns of `case`, and nodes that rewrite/ should have replaced.
// Expressions and patterns of the tree to text: a stack of tasks, pushed in reverse.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "ast/percent_format.h"
#include "print/printer.h"

namespace depyf {

// ---- patterns of `case`

void Printer::add_pattern(ExprId id, std::uint8_t place) {
  sequence_.push_back({TaskKind::Pattern, Prec::Lowest, 0, place, id.index, {}});
}

void Printer::add_pattern_value(ExprId id) {
  const Expr& value = ast_[id];
  if (value.kind != ExprKind::Constant || module_[ConstId(value.a)].kind != ConstKind::Complex) {
    add_expr(id, Prec::Arith);
    return;
  }
  // `1 + 2j` stands without parentheses only.
  std::string& text = scratch_.emplace_back();
  append_complex(text, module_[ConstId(value.a)].re, module_[ConstId(value.a)].im,
                 options_.grammar);
  std::string_view inside = text;
  if (inside.starts_with('(')) inside = inside.substr(1, inside.size() - 2);
  add_text(inside);
}

void Printer::add_mapping_pattern(const Expr& e) {
  add_open('{', Group::Items);
  for (std::size_t i = 0; i + 1 < e.kids.size(); i += 2) {
    if (i) add_comma();
    const ExprKind key = ast_[e.kids[i]].kind;
    if (key == ExprKind::MatchValue || key == ExprKind::MatchSingleton)
      add_pattern(e.kids[i], 2);
    else
      add_pattern_value(e.kids[i]);
    add_text(": ");
    add_pattern(e.kids[i + 1], 2);
  }
  if (e.a != UINT32_MAX) {
    if (e.kids.size() > 1) add_comma();
    add_text("**");
    add_name(StrId(e.a));
  }
  add_close('}');
}

void Printer::add_class_pattern(const Expr& e) {
  add_expr(e.kids[0], Prec::Primary);
  add_open('(', Group::Items);
  const std::size_t positional = e.kids.size() - 1 - e.extra.size();
  for (std::size_t i = 1; i < e.kids.size(); ++i) {
    if (i > 1) add_comma();
    if (i > positional) {
      add_name(StrId(e.extra[i - 1 - positional]));
      add_text("=");
    }
    add_pattern(e.kids[i], 2);
  }
  add_close(')');
}

void Printer::visit_pattern(const Task& task) {
  // task.flag: 0 at the top, 1 an operand of `|`, 2 an item. Only `as` and `|` ever need
  // parentheses.
  const Expr& e = ast_[ExprId(task.a)];
  add_site(e);
  switch (e.kind) {
    case ExprKind::MatchValue:
      add_pattern_value(e.kids[0]);
      break;
    case ExprKind::MatchSingleton:
      add_constant(ConstId(e.a), Prec::Atom);
      break;
    case ExprKind::MatchSequence:
      add_open('[', Group::Items);
      for (std::size_t i = 0; i < e.kids.size(); ++i) {
        if (i) add_comma();
        add_pattern(e.kids[i], 2);
      }
      add_close(']');
      break;
    case ExprKind::MatchMapping:
      add_mapping_pattern(e);
      break;
    case ExprKind::MatchClass:
      add_class_pattern(e);
      break;
    case ExprKind::MatchStar:
      add_text("*");
      e.a == UINT32_MAX ? add_text("_") : add_name(StrId(e.a));
      break;
    case ExprKind::MatchAs: {
      if (e.kids.empty() || !e.kids[0]) {
        e.a == UINT32_MAX ? add_text("_") : add_name(StrId(e.a));
        break;
      }
      bool parens = task.flag != 0;
      if (parens) add_open('(', Group::NoComma);
      // The pattern before `as` is an or-pattern: `a | b as x` needs no parentheses, `(a as x) as
      // y` does.
      add_pattern(e.kids[0], ast_[e.kids[0]].kind == ExprKind::MatchOr ? 0 : 1);
      add_text(" as ");
      add_name(StrId(e.a));
      if (parens) add_close(')');
      break;
    }
    case ExprKind::MatchOr: {
      bool parens = task.flag == 1;
      if (parens) add_open('(', Group::NoComma);
      bool soft = groups_ > 0 && !parens;
      if (soft) add_group(Group::Soft);
      for (std::size_t i = 0; i < e.kids.size(); ++i) {
        if (i) {
          add_text(" ");
          if (soft || parens) add_part();
          add_text("| ");
        }
        add_pattern(e.kids[i], 1);
      }
      if (soft) add_group_end();
      if (parens) add_close(')');
      break;
    }
#define EXPR(name, a) case ExprKind::name:
#include "ast/ast.def"
      add_expr(ExprId(task.a), Prec::Arith);  // an expression where a pattern belongs
  }
}

// ---- what rewrite/ should have replaced

void Printer::visit_raw(const Expr& e) {
  auto call = [&](std::string_view function, std::span<const ExprId> arguments) {
    add_text(function);
    add_open('(', Group::Items);
    add_items(arguments, Prec::Test);
    add_close(')');
  };
  auto leftover = [&](std::string_view what) {
    std::string message = "no source form was found for ";
    message += what;
    note(std::move(message));
  };
  switch (e.kind) {
    case ExprKind::Raw:
      add_text(module_[StrId(e.a)]);
      break;
    case ExprKind::FunctionValue: {
      leftover("a function object");
      std::string& text = scratch_.emplace_back("_function_");
      text += names_.spell_text(e.a < module_.codes.size() ? module_[module_[CodeId(e.a)].name]
                                                           : std::string_view("missing"));
      add_text(text);
      break;
    }
    case ExprKind::ClassBuilder:
      add_text("__build_class__");
      break;
    case ExprKind::CellRef:
      // No syntax names a cell; a function that reads the variable has it.
      add_text("(lambda: ");
      add_name(StrId(e.a));
      add_text(").__closure__[0]");
      break;
    case ExprKind::Intrinsic: {
      leftover("an intrinsic call");
      std::string& text = scratch_.emplace_back("_intrinsic_");
      text += std::to_string(e.op);
      call(text, e.kids);
      break;
    }
    case ExprKind::ImportModule: {
      std::string& text = scratch_.emplace_back("__import__(");
      append_string(text, module_[StrId(e.a)]);
      text += ", None, None, ";
      add_text(text);
      e.kids.size() > 1 && e.kids[1] ? add_expr(e.kids[1], Prec::Test) : add_text("None");
      add_text(", ");
      !e.kids.empty() && e.kids[0] ? add_expr(e.kids[0], Prec::Test) : add_text("0");
      add_text(")");
      break;
    }
    case ExprKind::ImportedName:
      add_expr(e.kids[0], Prec::Primary);
      add_text(".");
      add_name(StrId(e.a));
      break;
    case ExprKind::Super:
      add_text("super");
      if (e.op & 2 && e.kids.size() >= 3) {
        add_open('(', Group::Items);
        add_items(e.kids.subspan(1, 2), Prec::Test);
        add_close(')');
      } else {
        add_text("()");
      }
      add_text(".");
      add_name(StrId(e.a));
      break;
    case ExprKind::Common:
      add_text(common_constant_text(static_cast<CommonConstant>(e.op)));
      break;
    case ExprKind::LocalsDict:
      add_text("locals()");
      break;
#define EXPR(name, a) case ExprKind::name:
#define RAW(name, a)
#define PATTERN(name, a) case ExprKind::name:
#include "ast/ast.def"
      break;  // they do not come here
  }
}

}  // namespace depyf
