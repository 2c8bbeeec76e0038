// Statements of the tree to lines: a stack of blocks and of compound statements whose next clause
// is still to come.
#include <algorithm>

#include "print/printer.h"

namespace depyf {

namespace {

constexpr std::uint32_t kMaxIndents = 100;  // Parser/tokenizer.h, MAXINDENT
constexpr std::uint32_t kMaxBrackets =
    200;  // Parser/tokenizer.h, MAXLEVEL (up to 3.8 the parser's stack is full at about 90)

bool is_definition(StmtKind kind) {
  return kind == StmtKind::FunctionDef || kind == StmtKind::ClassDef;
}
bool is_import(StmtKind kind) { return kind == StmtKind::Import || kind == StmtKind::ImportFrom; }

std::string_view augmented_operator(BinaryOp op) { return binary_operator(op).text; }

}  // namespace

Printer::Printer(const Ast& ast, const PrintOptions& options, Source& source)
    : ast_(ast),
      module_(*ast.module),
      options_(options),
      source_(source),
      layout_(out_, options.width, options.sites),
      names_(*ast.module, options.grammar),
      twins_(group_twins(*ast.module, options.grammar)) {}

void Printer::note(std::string message) {
  Diagnostic diagnostic;
  diagnostic.kind = Diagnostic::Note;
  diagnostic.code = code_;
  diagnostic.message = std::move(message);
  source_.notes.push_back(std::move(diagnostic));
}

bool Printer::is_docstring(StmtId id) const {
  const Stmt& s = ast_[id];
  if (s.kind != StmtKind::Expr || !s.e[0]) return false;
  const Expr& e = ast_[s.e[0]];
  return e.kind == ExprKind::Constant && module_[ConstId(e.a)].kind == ConstKind::Str;
}

void Printer::add_sites(const Stmt& s) {
  add_site(s.origin);
  for (std::uint32_t offset : s.absorbed) add_site({offset, 0, s.origin.code});
}

void Printer::end() {
  layout_.end();
  for (const Layout::Site& site : layout_.sites()) source_.sites[site.key].line = site.line;
}

void Printer::print_body(CodeId code) {
  code_ = code;
  push_body(code.index < ast_.bodies.size() ? ast_.bodies[code.index].stmts : std::span<StmtId>(),
            0, Context::Module, code);
  print_frames();
}

void Printer::print_def(CodeId code, std::string_view name) {
  code_ = code;
  const CodeObject& object = module_[code];
  const bool rebuilt = code.index < ast_.bodies.size() && ast_.bodies[code.index].rebuilt;
  const bool asynchronous = object.flags & (rebuilt ? kCoroutine : kCoroutine | kAsyncGenerator);
  const bool of_class = (object.flags & kOptimized) == 0 && object.parameter_count() == 0;
  begin(0);
  add_definition(code);
  write(of_class ? "class " : asynchronous ? "async def " : "def ");
  if (!name.empty())
    write(is_writable_name(name, options_.grammar) ? name : names_.spell_text(name));
  else
    write_name(object.name);

  const auto body =
      code.index < ast_.bodies.size() ? ast_.bodies[code.index].stmts : std::span<StmtId>();
  if (of_class) {  // what it derives from is not in its code
    run();
    end_header();
    push_body(body, 1, Context::Class, code);
    print_frames();
    return;
  }
  const Function* known = nullptr;
  for (const Function& function : ast_.functions)
    if (function.code == code) known = &function;
  Function made;
  if (!known) {
    auto add = [&](std::uint32_t slot, ParamKind kind) {
      if (slot < object.slots.size())
        made.parameters.push_back({object.slots[slot].name, kind, {}, {}});
    };
    std::uint32_t slot = 0;
    for (; slot < object.argcount; ++slot)
      add(slot, slot < object.posonlyargcount ? ParamKind::PositionalOnly : ParamKind::Positional);
    std::uint32_t variadic = object.argcount + object.kwonlyargcount;
    if (object.flags & kVarArgs) add(variadic++, ParamKind::VarArgs);
    for (; slot < object.argcount + object.kwonlyargcount; ++slot)
      add(slot, ParamKind::KeywordOnly);
    if (object.flags & kVarKeywords) add(variadic, ParamKind::VarKeywords);
    known = &made;
  }
  if (known != &made) add_type_parameters(known->type_params);
  add_signature(*known, options_.signature);
  run();
  end_header();
  push_body(body, 1, Context::Function, code);
  print_frames();
}

void Printer::push_block(std::span<const StmtId> stmts, std::uint32_t depth, const Frame& outer) {
  Frame block;
  block.stmts = stmts;
  block.depth = depth;
  block.context = outer.context;
  block.code = outer.code;
  frames_.push_back(block);
}

void Printer::push_body(std::span<const StmtId> stmts, std::uint32_t depth, Context context,
                        CodeId code) {
  Frame block;
  block.stmts = stmts;
  block.depth = depth;
  block.context = context;
  block.code = code;
  block.starts_body = true;
  frames_.push_back(block);
}

void Printer::print_frames() {
  while (!frames_.empty()) {
    Frame& top = frames_.back();
    if (top.what == Frame::Compound) {
      print_next_clause(top);
      continue;
    }
    if (top.next == 0) {
      if (top.depth >= kMaxIndents && !noted_indent_) {
        noted_indent_ = true;
        note("more than 100 levels of indentation: CPython refuses to compile this source");
      }
      bool empty = std::all_of(top.stmts.begin(), top.stmts.end(),
                               [&](StmtId id) { return ast_[id].kind == StmtKind::Comment; });
      if (empty && top.next == top.stmts.size()) {
        // A module may be empty, every other body may not.
        if (top.depth > 0) {
          begin(top.depth);
          write("pass");
          end();
        }
        frames_.pop_back();
        continue;
      }
      if (empty && top.depth > 0) {
        std::span<const StmtId> comments = top.stmts;
        Frame at = top;
        for (StmtId id : comments) print_comment(ast_[id], at);
        begin(at.depth);
        write("pass");
        end();
        frames_.pop_back();
        continue;
      }
    }
    if (top.next == top.stmts.size()) {
      frames_.pop_back();
      continue;
    }
    StmtId id = top.stmts[top.next];
    separate(top, id);
    ++top.next;
    Frame at = top;  // print_statement pushes frames
    code_ = at.code;
    if (at.next == 1 && at.starts_body && is_docstring(id)) {
      begin(at.depth);
      add_site(ast_[id]);
      std::string_view text = module_[ConstId(ast_[ast_[id].e[0]].a)].text;
      std::string shorter;
      if (options_.short_docstring && at.depth == 1 && at.context == Context::Function) {
        constexpr std::uint32_t kQuotes = 6;
        shorter = shortened(text, options_.width - indent_of(1) - kQuotes);
        text = shorter;
      }
      if (at_least(13) && at.context != Context::Function && !is_clean_docstring(text)) {
        write("__doc__ = ");
        write_spelt([&](std::string& out) { append_string(out, text); });
      } else {
        write_spelt([&](std::string& out) {
          append_docstring(out, text, indent_of(at.depth), options_.grammar);
        });
      }
      end();
      if (!shorter.empty() && at.stmts.size() == 1) {
        begin(at.depth);
        write("return None");
        end();
      }
    } else {
      print_statement(id, at);
    }
    if (deepest_ > kMaxBrackets && !noted_depth_) {
      noted_depth_ = true;
      note("more than 200 nested brackets: CPython refuses to compile this source");
    }
  }
  source_.text = out_.view();
}

void Printer::separate(const Frame& at, StmtId id) {
  if (at.next == 0) return;
  StmtId before = at.stmts[at.next - 1];
  const Stmt& last = ast_[before];
  const Stmt& s = ast_[id];
  constexpr std::uint64_t apart = mask(StmtKind::FunctionDef) | mask(StmtKind::ClassDef) |
                                  mask(StmtKind::Import) | mask(StmtKind::ImportFrom);
  if (at.next > 1 && !(apart & (mask(last.kind) | mask(s.kind)))) return;
  bool top = at.depth == 0;
  std::uint32_t blank = 0;
  bool docstring = at.next == 1 && at.starts_body && is_docstring(before);
  if (is_definition(s.kind) || is_definition(last.kind))
    blank = top ? 2 : 1;
  else if (docstring && at.context != Context::Function)
    blank = 1;
  else if (top && at.starts_body && is_import(last.kind) && !is_import(s.kind))
    blank = 1;
  // A comment belongs to what follows it.
  if (last.kind == StmtKind::Comment && is_definition(s.kind)) blank = 0;
  while (blank-- > 0) layout_.blank_line();
}

void Printer::end_header() {
  write(":");
  end();
}

void Printer::print_decorators(std::span<const ExprId> decorators, const Frame& at) {
  for (ExprId decorator : decorators) {
    begin(at.depth);
    write("@");
    write_expr(decorator, 0, false);
    end();
  }
}

void Printer::print_function_def(const Stmt& s, const Frame& at) {
  print_decorators(s.list, at);
  begin(at.depth);
  add_site(s);
  write(s.flag & 1 ? "async def " : "def ");
  write_name(StrId(s.a));
  CodeId code = at.code;
  if (s.function < ast_.functions.size()) {
    const Function& function = ast_.functions[s.function];
    if (function.code) code = function.code;
    add_definition(code);
    add_type_parameters(function.type_params);
    add_signature(function);
  } else {
    add_text("()");
  }
  if (s.e[0]) {
    add_text(" -> ");
    add_expr(s.e[0], Prec::Test);
  }
  run();
  end_header();
  push_body(s.body, at.depth + 1, Context::Function, code);
}

void Printer::print_class_def(const Stmt& s, const Frame& at) {
  for (std::uint32_t decorator : s.extra) {
    ExprId id(decorator);
    print_decorators({&id, 1}, at);
  }
  begin(at.depth);
  add_site(s);
  CodeId code = s.function < module_.codes.size() ? CodeId(s.function) : at.code;
  add_definition(code);
  write("class ");
  write_name(StrId(s.a));
  if (s.type_params < ast_.type_param_lists.size())
    add_type_parameters(ast_.type_param_lists[s.type_params]);
  if (!s.list.empty()) add_arguments(s.list, false);
  run();
  end_header();
  push_body(s.body, at.depth + 1, Context::Class, code);
}

void Printer::print_comment(const Stmt& s, const Frame& at) {
  std::string_view text = module_[StrId(s.a)];
  while (true) {
    std::size_t end = text.find('\n');
    begin(at.depth);
    write("#");
    std::string_view line = text.substr(0, end);
    if (!line.empty()) write(" ");
    out_ += comment_text(line);
    layout_.end();
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

void Printer::write_import_names(std::span<const std::uint32_t> names) {
  for (std::size_t i = 0; i + 1 < names.size(); i += 2) {
    if (i) {
      write(", ");
      layout_.part();
    }
    std::string_view name = module_[StrId(names[i])];
    if (name == "*" || names_.is_dotted_name(name))
      write(name);
    else
      write_name(StrId(names[i]));
    if (names[i + 1] != UINT32_MAX) {
      write(" as ");
      write_name(StrId(names[i + 1]));
    }
  }
}

void Printer::print_raw_statement(const Stmt& s) {
  if (s.kind == StmtKind::ImportStar) {
    const Expr& module = ast_[s.e[0]];
    write("from ");
    module.kind == ExprKind::ImportModule ? write(module_[StrId(module.a)]) : write_expr(s.e[0]);
    write(" import *");
    return;
  }
  static constexpr std::string_view methods[] = {".append", ".add",    "",
                                                 ".extend", ".update", ".update"};
  write_expr(s.e[0], 0, false);
  if (s.flag == 2 && s.list.size() == 2) {
    write("[");
    write_expr(s.list[0], 0, false);
    write("] = ");
    write_expr(s.list[1], 0, false);
    return;
  }
  write(s.flag < std::size(methods) ? methods[s.flag] : ".append");
  add_open('(', Group::Items);
  add_items(s.list, Prec::Test);
  add_close(')');
  run();
}

void Printer::print_statement(StmtId id, const Frame& at) {
  const Stmt& s = ast_[id];
  if (s.kind == StmtKind::FunctionDef) return print_function_def(s, at);
  if (s.kind == StmtKind::ClassDef) return print_class_def(s, at);
  if (s.kind == StmtKind::Comment) return print_comment(s, at);
  // everything else starts a line of its own right here
  auto compound = [&](std::span<const StmtId> body) {
    Frame frame;
    frame.what = Frame::Compound;
    frame.depth = at.depth;
    frame.context = at.context;
    frame.code = at.code;
    frame.stmt = id;
    frames_.push_back(frame);
    push_block(body, at.depth + 1, at);
  };
  begin(at.depth);
  add_site(s);
  switch (s.kind) {
    case StmtKind::For:
      write(s.flag & 1 ? "async for " : "for ");
      write_expr(s.e[0], kAllowTuple | kAllowStarredTuple, false);
      write(" in ");
      write_expr(s.e[1]);
      end_header();
      compound(s.body);
      return;
    case StmtKind::While:
    case StmtKind::If:
      write(s.kind == StmtKind::If ? "if " : "while ");
      write_expr(s.e[0], kAllowWalrus);
      end_header();
      compound(s.body);
      return;
    case StmtKind::With:
      write_with(s);
      end_header();
      push_block(s.body, at.depth + 1, at);
      return;
    case StmtKind::Match:
      write("match ");
      write_expr(s.e[0], kAllowTuple | kAllowStarredTuple | kAllowWalrus, false);
      end_header();
      compound({});
      frames_.pop_back();  // no body of its own: the cases are the clauses
      if (s.arms.empty()) {
        frames_.pop_back();
        note("a match statement without a case");
      }
      return;
    case StmtKind::Try:
      write("try");
      end_header();
      compound(s.body);
      return;
#define STMT(name) case StmtKind::name:
#define STMT_GROUPS (STMT_ALL & ~STMT_COMPOUND)
#include "ast/ast.def"
      break;
  }
  write_simple(s);
  end();
}

void Printer::write_with(const Stmt& s) {
  write(s.flag & 1 ? "async with " : "with ");
  bool several = s.list.size() > 2;
  bool group = several && at_least(9);
  // `with (a, b):` has two items since 3.9; a tuple as the one item needs its own parentheses.
  const Expr* first = s.list.empty() ? nullptr : &ast_[s.list[0]];
  bool lone_tuple =
      s.list.size() == 2 && !s.list[1] &&
      (first->kind == ExprKind::Tuple ||
       (first->kind == ExprKind::Constant && module_[ConstId(first->a)].kind == ConstKind::Tuple));
  if (lone_tuple) add_text("(");
  if (group) add_group(Group::Optional);
  for (std::size_t i = 0; i + 1 < s.list.size(); i += 2) {
    if (i) {
      add_text(", ");
      if (group) add_part();
    }
    add_expr(s.list[i], Prec::Test);
    if (s.list[i + 1]) {
      add_text(" as ");
      add_expr(s.list[i + 1], Prec::Primary);
    }
  }
  if (group) add_group_end();
  if (lone_tuple) add_text(")");
  run();
}

[[gnu::always_inline]] inline void Printer::write_assignment(const Stmt& s) {
  bool unpacks = false;
  for (ExprId target : s.list) {
    write_expr(target, kAllowTuple | kAllowStarredTuple, false);
    write(" = ");
    unpacks = ast_[target].kind == ExprKind::Tuple || ast_[target].kind == ExprKind::List;
  }
  write_expr(s.e[0], static_cast<std::uint8_t>(kAllowYield |
                                               (unpacks ? kAllowTuple | kAllowStarredTuple : 0)));
}

void Printer::write_annotation(const Stmt& s) {
  bool parens = s.flag & 1;  // `(x): int`: evaluated, but not recorded
  if (parens) write("(");
  write_expr(s.e[0], 0, false);
  write(parens ? "): " : ": ");
  write_expr(s.e[1], 0, false);
  if (s.e[2]) {
    write(" = ");
    write_expr(s.e[2], at_least(8) ? kAllowYield : 0);
  }
}

/// A statement that holds no others, in one line.
[[gnu::always_inline]] inline void Printer::write_simple(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::Return:
      write("return");
      if (s.e[0]) {
        write(" ");
        write_expr(s.e[0],
                   static_cast<std::uint8_t>(kAllowTuple | (at_least(8) ? kAllowStarredTuple : 0)));
      }
      break;
    case StmtKind::Delete:
      write("del ");
      for (std::size_t i = 0; i < s.list.size(); ++i) {
        if (i) write(", ");
        write_expr(s.list[i], 0, false);
      }
      break;
    case StmtKind::Assign:
      write_assignment(s);
      break;
    case StmtKind::AugAssign: {
      write_expr(s.e[0], 0, false);
      std::string_view op = augmented_operator(static_cast<BinaryOp>(s.flag));
      write(op.substr(0, op.size() - 1));
      write("= ");
      write_expr(s.e[1], kAllowYield);
      break;
    }
    case StmtKind::AnnAssign:
      write_annotation(s);
      break;
    case StmtKind::TypeAlias:
      write("type ");
      write_expr(s.e[0], 0, false);
      if (s.type_params < ast_.type_param_lists.size()) {
        add_type_parameters(ast_.type_param_lists[s.type_params]);
        run();
      }
      write(" = ");
      write_expr(s.e[1]);
      break;
    case StmtKind::Raise:
      write("raise");
      if (s.e[0]) {
        write(" ");
        write_expr(s.e[0], 0, false);
        if (s.e[1]) {
          write(" from ");
          write_expr(s.e[1], 0, false);
        }
      }
      break;
    case StmtKind::Assert:
      write("assert ");
      write_expr(s.e[0]);
      if (s.e[1]) {
        write(", ");
        write_expr(s.e[1]);
      }
      break;
    case StmtKind::Import:
      if (s.flag & 1) write("lazy ");
      write("import ");
      write_import_names(s.extra);
      break;
    case StmtKind::ImportFrom:
      write_import_from(s);
      break;
    case StmtKind::Global:
    case StmtKind::Nonlocal:
      write(s.kind == StmtKind::Global ? "global " : "nonlocal ");
      for (std::size_t i = 0; i < s.extra.size(); ++i) {
        if (i) write(", ");
        write_name(StrId(s.extra[i]));
      }
      break;
    case StmtKind::Expr:
      write_expr(s.e[0], kAllowYield);
      break;
    case StmtKind::Pass:
    case StmtKind::Break:
    case StmtKind::Continue:
      write(s.kind == StmtKind::Pass ? "pass" : s.kind == StmtKind::Break ? "break" : "continue");
      break;
    case StmtKind::Append:
    case StmtKind::ImportStar:
      print_raw_statement(s);
      break;
    case StmtKind::Comment:
      break;  // see print_statement()
#define STMT(name) case StmtKind::name:
#define STMT_GROUPS (STMT_ALL & ~STMT_SIMPLE)
#include "ast/ast.def"
      write("pass");
      break;  // parts of statements: printed by their statement
  }
}

void Printer::write_import_from(const Stmt& s) {
  if (s.flag & 1) write("lazy ");
  write("from ");
  out_.append(s.level, '.');
  if (s.a != UINT32_MAX) {
    std::string_view name = module_[StrId(s.a)];
    names_.is_dotted_name(name) ? write(name) : write_name(StrId(s.a));
  }
  write(" import ");
  bool star = s.extra.size() == 2 && module_[StrId(s.extra[0])] == "*";
  if (!star) layout_.open(Group::OptionalTuple);
  write_import_names(s.extra);
  if (!star) layout_.close();
}

void Printer::print_next_clause(Frame& compound) {
  const Stmt& s = ast_[compound.stmt];
  Frame at = compound;
  code_ = at.code;
  auto clause = [&](std::string_view keyword, std::span<const StmtId> body) {
    frames_.pop_back();
    begin(at.depth);
    write(keyword);
    end_header();
    push_block(body, at.depth + 1, at);
  };
  switch (s.kind) {
    case StmtKind::If:
      if (s.orelse.size() == 1 && ast_[s.orelse[0]].kind == StmtKind::If) {
        const Stmt& next = ast_[s.orelse[0]];
        compound.stmt = s.orelse[0];
        begin(at.depth);
        add_site(next);
        write("elif ");
        write_expr(next.e[0], kAllowWalrus);
        end_header();
        push_block(next.body, at.depth + 1, at);
        return;
      }
      s.orelse.empty() ? frames_.pop_back() : clause("else", s.orelse);
      return;
    case StmtKind::For:
    case StmtKind::While:
      s.orelse.empty() ? frames_.pop_back() : clause("else", s.orelse);
      return;
    case StmtKind::Match: {
      const Stmt& arm = ast_[s.arms[compound.next]];
      if (++compound.next == s.arms.size()) frames_.pop_back();
      begin(at.depth + 1);
      add_site(arm);
      write("case ");
      sequence_.push_back({TaskKind::Pattern, Prec::Lowest, 0, 0, arm.e[0].index, {}});
      run();
      if (arm.e[1]) {
        write(" if ");
        write_expr(arm.e[1], kAllowWalrus);
      }
      end_header();
      push_block(arm.body, at.depth + 2, at);
      return;
    }
    case StmtKind::Try: {
      auto arms = static_cast<std::uint32_t>(s.arms.size());
      if (compound.next < arms) {
        const Stmt& handler = ast_[s.arms[compound.next++]];
        begin(at.depth);
        add_site(handler);
        write(s.flag & 1 ? "except*" : "except");
        if (handler.e[0]) {
          write(" ");
          write_expr(handler.e[0], 0, false);
          if (handler.a != UINT32_MAX) {
            write(" as ");
            write_name(StrId(handler.a));
          }
        }
        end_header();
        push_block(handler.body, at.depth + 1, at);
        return;
      }
      if (compound.next == arms) {
        ++compound.next;
        if (!s.orelse.empty()) {
          begin(at.depth);
          write("else");
          end_header();
          push_block(s.orelse, at.depth + 1, at);
          return;
        }
      }
      // A try statement has at least one of `except` and `finally`.
      s.final.empty() && arms > 0 ? frames_.pop_back() : clause("finally", s.final);
      return;
    }
    case StmtKind::With:
#define STMT(name) case StmtKind::name:
#define STMT_GROUPS (STMT_DEFINITIONS | STMT_SIMPLE | STMT_PARTS)
#include "ast/ast.def"
      frames_.pop_back();  // no clauses
  }
}

}  // namespace depyf
