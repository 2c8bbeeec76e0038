#include "rewrite/annotations.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ast/comprehension.h"
#include "ast/expression_text.h"
#include "ast/negate.h"
#include "bytecode/scan.h"
#include "pyc/identifier.h"
#include "structure/operations.h"
#include "structure/same_constants.h"
#include "support/error.h"

namespace depyf {
namespace {

/// The name and annotation of `__annotations__['name'] = annotation`.
bool is_annotation_store(const Rewriter& r, const Stmt& s, StrId& name) {
  if (s.kind != StmtKind::Assign || s.list.size() != 1) return false;
  const Expr& target = r.ast[s.list[0]];
  if (target.kind != ExprKind::Subscript || !r.is_name(target.kids[0], "__annotations__"))
    return false;
  const Const* key = r.constant(target.kids[1]);
  if (!key || key->kind != ConstKind::Str) return false;
  if (!is_writable_name(key->text, r.module.version)) return false;
  name = unmangled(r.module, r.code, r.module.intern(key->text));
  return true;
}

/// 3.14+: `__conditional_annotations__.add(index)` marks where an annotation was executed.
bool is_condition_mark(const Rewriter& r, const Stmt& s, std::uint32_t& index) {
  if (s.kind != StmtKind::Append || s.flag != 1 || s.list.size() != 1 ||
      !r.is_name(s.e[0], "__conditional_annotations__"))
    return false;
  const Const* c = r.constant(s.list[0]);
  if (!c || c->kind != ConstKind::Int || c->big || c->integer < 0) return false;
  index = static_cast<std::uint32_t>(c->integer);
  return true;
}

/// What the compiler puts before a body's first statement.
bool compiler_assigns(const Rewriter& r, const Stmt& s) {
  static constexpr std::string_view names[] = {"__module__",      "__qualname__",
                                               "__firstlineno__", "__type_params__",
                                               "__classdict__",   "__doc__"};
  const StrId name = r.assigned_name(s);
  return name && std::find(std::begin(names), std::end(names), r.text(name)) != std::end(names);
}

/// Before the first statement of a body that may be an annotation: behind what the compiler puts
/// there, and behind `from __future__ import …`.
std::size_t first_annotatable(const Rewriter& r) {
  const auto imports_future = [&](const Stmt& s) {
    if (!r.assigned_name(s) || r.ast[s.e[0]].kind != ExprKind::ImportedName) return false;
    const Expr& module = r.ast[r.ast[s.e[0]].kids[0]];
    return module.kind == ExprKind::ImportModule && r.text(StrId(module.a)) == "__future__";
  };
  std::size_t at = 0;
  while (at < r.body.size() &&
         (compiler_assigns(r, r.ast[r.body[at]]) || imports_future(r.ast[r.body[at]])))
    ++at;
  return at;
}

/// Is the last statement the compiler's own `__qualname__ = …` or `__module__ = …`?
bool ends_in_prologue(const Rewriter& r, const std::vector<StmtId>& out) {
  if (r.role != Role::Class || out.empty()) return false;
  const StrId name = r.assigned_name(r.ast[out.back()]);
  if (r.text(name) != "__qualname__" && r.text(name) != "__module__") return false;
  return std::all_of(out.begin(), out.end() - 1, [&](StmtId id) {
    return compiler_assigns(r, r.ast[id]) && r.assigned_name(r.ast[id]) != name;
  });
}

/// What an `import` binds a name to.
constexpr bool is_imported(ExprKind kind) {
  return kind == ExprKind::ImportModule || kind == ExprKind::ImportedName;
}

/// A function or class that a statement of its own defines, decorated or not, or what is imported:
/// no annotation stands there.
bool is_definition(const Rewriter& r, ExprId value) {
  for (;;) {
    const Expr& e = r.ast[value];
    if (e.kind == ExprKind::ClassBuilder || e.kind == ExprKind::Intrinsic || is_imported(e.kind))
      return true;
    if (const CodeId code = r.function_code(value)) {
      const Role role = role_of(r.module, code);
      return role == Role::Function || role == Role::GenericScope;
    }
    if (e.kind != ExprKind::Call || e.kids.empty()) return false;
    const ExprKind called = r.ast[e.kids[0]].kind;
    if (called == ExprKind::ClassBuilder || called == ExprKind::FunctionValue) {
      value = e.kids[0];
    } else if (e.kids.size() == 2 && e.kids[1]) {
      value = e.kids[1];
    } else {
      return false;
    }
  }
}

/// `name: annotation`, taking over `name = value` when that is the statement before.
void annotate(Rewriter& r, std::vector<StmtId>& out, StmtId origin, StrId name, ExprId annotation) {
  Stmt s;
  s.kind = StmtKind::AnnAssign;
  s.origin = r.ast[origin].origin;
  s.absorbed = r.ast[origin].absorbed;
  s.e[1] = annotation;
  if (!out.empty() && r.assigned_name(r.ast[out.back()]) == name && !ends_in_prologue(r, out) &&
      !is_definition(r, r.ast[out.back()].e[0])) {
    const Stmt& before = r.ast[out.back()];
    s.e[0] = before.list[0];
    s.e[2] = before.e[0];
    s.origin = before.origin;
    const StmtId id = r.ast.add(s);
    r.absorb(id, out.back());
    out.back() = id;
  } else {
    s.e[0] = r.ast.name(name, s.origin);
    out.push_back(r.ast.add(s));
  }
}

/// Behind the string that begins at `begin`; npos where it does not end.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); i += text[i] == '\\' ? 2 : 1)
    if (text[i] == text[begin]) return i + 1;
  return std::string_view::npos;
}

bool is_quote(char c) { return c == '\'' || c == '"'; }
bool is_word(char c) { return (c >= '0' && c <= '9') || is_identifier({&c, 1}); }

/// A tuple of constants as Python writes it, from after its `(` on: what `...` and infinity are
/// called there is written as `...` and `1e309`. `end`: after its `)`. Empty where the text is
/// something else.
std::string constant_tuple(std::string_view text, std::size_t begin, std::size_t& end) {
  std::string out;
  std::size_t depth = 1, commas = 0;
  for (std::size_t i = begin, next = i; i < text.size(); i = next) {
    const char c = text[i];
    next = i + 1;
    if (c == ')' && --depth == 0) {
      end = next;
      return commas != 0 ? out : std::string();
    }
    if (c == '(') ++depth;
    if (c == ',' && depth == 1) ++commas;
    if (is_quote(c)) {
      next = end_of_string(text, i);
      if (next == std::string_view::npos) return {};
    } else if (is_word(c)) {
      while (next < text.size() && (is_word(text[next]) || text[next] == '.')) ++next;
      const std::string_view word = text.substr(i, next - i);
      if (word == "Ellipsis" || word == "inf") {
        out += word == "inf" ? "1e309" : "...";
        continue;
      }
      const bool prefix = next < text.size() && is_quote(text[next]);
      if (is_identifier(word) && word != "None" && word != "True" && word != "False" && !prefix)
        return {};
    } else if (std::string_view("(), .+-").find(c) == std::string_view::npos) {
      return {};
    }
    out += text.substr(i, next - i);
  }
  return {};
}

/// Up to 3.8, where the word at `i` can only be a constant that the compiler has made: source of
/// it.
std::string_view folded_word(std::string_view text, std::size_t i, std::string_view word) {
  const std::size_t next = i + word.size();
  const bool attribute = text.substr(next, 2) == " .";
  const char before = i == 0 ? '\0' : text[i - 1], after = next < text.size() ? text[next] : '\0';
  if (word == "True" && attribute) return "(not 0)";
  if (word == "False" && attribute) return "(not 1)";
  if (word == "inf" && (attribute || after == '+' || (after == '-' && before != ' ')))
    return "1e309";
  if (word == "infj" && (before == '+' || before == '-' || attribute)) return "1e309j";
  return {};
}

/// How many bytes the escape sequence at `i` has.
std::size_t escape_length(std::string_view text, std::size_t i) {
  const char c = i + 1 < text.size() ? text[i + 1] : '\0';
  const std::size_t length = c == 'x' ? 4 : c == 'u' ? 6 : c == 'U' ? 10 : 2;
  return std::min(length, text.size() - i);
}

std::string written_annotation(std::string_view text, bool constant_tuples, int depth);

/// The `f'…'` between `quote` and `end`, which `repr` has written as if it were one string: its
/// expressions must not have the backslashes of that.
class FormattedText {
 public:
  FormattedText(std::string_view text, std::size_t quote, std::size_t end, bool constant_tuples,
                int depth)
      : text_(text.substr(quote + 1, end - quote - 2)),
        constant_tuples_(constant_tuples),
        depth_(depth) {}

  /// From the quotation mark on. Empty where no quotation marks do.
  std::string written(char quote) {
    if (text_.find('\\') == std::string_view::npos && !constant_tuples_)
      return quote + std::string(text_) + quote;
    split();
    for (const std::string_view marks : {"'", "\"", "\"\"\"", "\'\'\'"}) {
      const auto holds = [&](const Piece& p) {
        return p.code && p.text.find(marks) != std::string::npos;
      };
      if (std::any_of(pieces_.begin(), pieces_.end(), holds)) continue;
      std::string out(marks);
      for (const Piece& p : pieces_) append(out, p, marks[0]);
      return out.append(marks);
    }
    return {};
  }

 private:
  struct Piece {
    std::string text;
    bool code = false;  // else literal, with its escapes
  };

  /// Reads one character: escapes that stand for a visible one are taken away.
  char read() {
    const char c = text_[at_];
    const std::size_t length = c == '\\' ? escape_length(text_, at_) : 1;
    raw_ = text_.substr(at_, length);
    at_ += length;
    return raw_.size() == 2 && (is_quote(raw_[1]) || raw_[1] == '\\') ? raw_[1]
           : raw_.size() > 1                                          ? '\1'
                                                                      : c;
  }

  void split() {
    std::vector<std::size_t> fields;  // of each open `{`: how many brackets are open inside
    bool spec = true;                 // literal text, or that after the `:` of a field
    char string = 0;
    const auto put = [&](bool code, std::string_view what) {
      if (pieces_.empty() || pieces_.back().code != code) pieces_.push_back({{}, code});
      pieces_.back().text += what;
    };
    while (at_ < text_.size()) {
      const char c = read();
      const std::string_view shown = c == '\1' ? raw_ : std::string_view(&c, 1);
      if (string) {
        put(true, shown);
        if (c == '\\' && at_ < text_.size()) {
          const char escaped = read();
          put(true, escaped == '\1' ? raw_ : std::string_view(&escaped, 1));
        } else if (c == string) {
          string = 0;
        }
      } else if (spec) {
        if (c == '{' && text_.substr(at_, 1) == "{" && fields.empty()) {
          put(false, "{{");
          ++at_;
        } else if (c == '{') {
          put(true, "{");
          fields.push_back(0);
          spec = false;
        } else if (c == '}' && !fields.empty()) {
          put(true, "}");
          fields.pop_back();
        } else {
          put(false, raw_);
        }
      } else {
        put(true, shown);
        std::size_t& open = fields.back();
        if (is_quote(c)) string = c;
        if (c == '(' || c == '[' || c == '{') ++open;
        if (c == ':' && open == 0) spec = true;
        if (c == ')' || c == ']' || (c == '}' && open != 0)) {
          open -= open != 0;
        } else if (c == '}') {
          fields.pop_back();
          spec = true;
        }
      }
    }
  }

  void append(std::string& out, const Piece& piece, char quote) const {
    if (piece.code) {
      out += written_annotation(piece.text, constant_tuples_, depth_ + 1);
      return;
    }
    for (std::size_t i = 0; i < piece.text.size(); ++i) {
      const char c = piece.text[i];
      if (c == '\\') {
        const std::size_t length = escape_length(piece.text, i);
        out += piece.text.substr(i, length);
        i += length - 1;
      } else {
        if (c == quote) out += '\\';
        out += c;
      }
    }
  }

  std::string_view text_, raw_;
  const bool constant_tuples_;
  const int depth_;
  std::size_t at_ = 0;
  std::vector<Piece> pieces_;
};

/// Source that the compiler makes this text of, where the text itself is not that.
/// `constant_tuples`: up to 3.8 it has a tuple of constants in a subscript as the tuple is,
/// `Callable[(Ellipsis, None)]` for `Callable[..., None]`. An f-string has the backslashes of a
/// string around those of its expressions; a lone `:=` in a subscript has no parentheses.
std::string written_annotation(std::string_view text, bool constant_tuples, int depth) {
  constexpr int kDepth = 8;  // f-strings in one another
  if (depth > kDepth) return std::string(text);
  std::string out, open;  // open: the brackets, `:` for one that needs a `)`
  bool operand = false;   // does a value end before here, so that `[` is a subscript?
  for (std::size_t i = 0, next = i; i < text.size(); i = next) {
    const char c = text[i];
    next = i + 1;
    if (is_word(c)) {
      while (next < text.size() && (is_word(text[next]) || text[next] == '.')) ++next;
      const std::string_view word = text.substr(i, next - i);
      if (next < text.size() && is_quote(text[next])) {
        const std::size_t end = end_of_string(text, next);
        operand = true;
        if (end != std::string_view::npos && (word == "f" || word == "t")) {
          const std::string string =
              FormattedText(text, next, end, constant_tuples, depth).written(text[next]);
          if (!string.empty()) {
            out.append(word).append(string);
            next = end;
            continue;
          }
        }
        next = std::min(end, text.size());
      } else {
        operand = word != "in" && word != "is" && word != "not" && word != "and" && word != "or" &&
                  word != "if" && word != "else" && word != "for" && word != "lambda";
        const std::string_view folded = constant_tuples ? folded_word(text, i, word) : "";
        if (!folded.empty()) {
          out += folded;
          continue;
        }
      }
    } else if (is_quote(c)) {
      next = std::min(end_of_string(text, i), text.size());
      operand = true;
    } else if (c == '[' && operand) {
      operand = false;
      std::size_t name = next;
      while (name < text.size() && is_word(text[name])) ++name;
      if (name > next && (text.substr(name, 4) == " := " || text.substr(name, 2) == ":=")) {
        out += "[(";
        open += ':';
        continue;
      }
      std::size_t end = 0;
      if (constant_tuples && text.substr(next, 1) == "(") {
        const std::string items = constant_tuple(text, next + 1, end);
        if (!items.empty() && end < text.size() && text[end] == ']') {
          out += "[" + items;
          next = end;
          continue;
        }
      }
      open += '[';
    } else if (c == '(' || c == '[' || c == '{') {
      const std::string_view negative = "(-0-";
      if (constant_tuples && text.substr(i, negative.size()) == negative) {
        std::size_t end = i + negative.size();
        while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
        if (text.substr(end, 1) == ")" && text[end - 1] == 'j') {
          out += "(-";
          next = i + negative.size();
          open += '(';
          operand = false;
          continue;
        }
      }
      open += c;
      operand = false;
    } else if (c == ')' || c == ']' || c == '}') {
      if (c == ']' && !open.empty() && open.back() == ':') out += ')';
      if (!open.empty()) open.pop_back();
      operand = true;
    } else if (c != ' ') {
      operand = c == '.' && (operand || text.substr(i, 3) == "...");
    }
    out += text.substr(i, next - i);
  }
  return out;
}

/// The annotation as it is printed; none where the file has it as a text that is no expression, as
/// only a file that no compiler wrote has it.
ExprId annotation_as_written(Rewriter& r, ExprId value, bool from_text) {
  const Const* c = r.constant(value);
  if (!from_text || !c || c->kind != ConstKind::Str) return value;
  const std::string text = written_annotation(c->text, unparses_constant_tuples(r.module), 0);
  if (!acts_of_text(text, r.module.version, TextPlace::Annotation)) return ExprId::none();
  return r.ast.expr(ExprKind::Raw, {}, r.module.intern(text).index, 0, r.ast[value].origin);
}

}  // namespace

ExprId annotation_expression(Rewriter& r, ExprId value, bool from_text) {
  if (const ExprId annotation = annotation_as_written(r, value, from_text)) return annotation;
  r.ast.diagnostics.push_back({Diagnostic::Note, 0, r.code, r.ast[value].origin.offset,
                               "the text of an annotation is no expression and stands as a "
                               "string, which makes it another annotation"});
  return value;
}

std::vector<Annotation> annotations_of(Rewriter& r, CodeId code) {
  std::vector<Annotation> out;
  if (code.index >= r.ast.bodies.size()) return out;
  auto add = [&](ExprId key, ExprId value, std::uint32_t condition) {
    const Const* c = r.constant(key);
    if (c && c->kind == ConstKind::Str && value)
      out.push_back({r.module.intern(c->text), value, condition});
  };
  auto store = [&](StmtId id, std::uint32_t condition) {
    const Stmt s = r.ast[id];
    if (s.kind == StmtKind::Assign && s.list.size() == 1 &&
        r.ast[s.list[0]].kind == ExprKind::Subscript)
      add(r.ast[s.list[0]].kids[1], s.e[0], condition);
  };
  std::vector<StmtId> work(r.ast.bodies[code.index].stmts.rbegin(),
                           r.ast.bodies[code.index].stmts.rend());
  while (!work.empty()) {
    const StmtId id = work.back();
    work.pop_back();
    const Stmt s = r.ast[id];
    if (s.kind == StmtKind::Return && s.e[0] && r.ast[s.e[0]].kind == ExprKind::Dict) {
      const auto kids = r.ast[s.e[0]].kids;
      for (std::size_t i = 0; i + 1 < kids.size(); i += 2) add(kids[i], kids[i + 1], UINT32_MAX);
    } else if (s.kind == StmtKind::If) {
      const Expr test = r.ast[s.e[0]];
      std::uint32_t condition = UINT32_MAX;
      if (test.kind == ExprKind::Compare && test.extra.size() == 1 &&
          static_cast<CompareOp>(test.extra[0]) == CompareOp::In)
        if (const Const* c = r.constant(test.kids[0]); c && c->kind == ConstKind::Int && !c->big)
          condition = static_cast<std::uint32_t>(c->integer);
      if (condition != UINT32_MAX) {
        for (StmtId inner : s.body) store(inner, condition);
      } else {  // the guard against unknown formats
        work.insert(work.end(), s.orelse.rbegin(), s.orelse.rend());
        if (s.body.size() != 1 || r.ast[s.body[0]].kind != StmtKind::Raise)
          work.insert(work.end(), s.body.rbegin(), s.body.rend());
      }
    } else {
      store(id, UINT32_MAX);
    }
  }
  std::vector<StrId> unread;
  for (StmtId id : r.ast.bodies[code.index].stmts)
    if (!declares(r, r.ast[id], unread)) break;
  if (!out.empty()) out[0].value = with_unread(r, out[0].value, unread);
  return out;
}

namespace {

/// Calls `visit` with each statement of a list and of those inside, in the order in which the
/// compiler comes to them: `else` of a `try` before its handlers.
template <class Visit>
void visit_written(const Ast& ast, std::span<const StmtId> list, Visit visit) {
  SmallVector<std::span<const StmtId>, 32> work{list};
  while (!work.empty()) {
    const std::span<const StmtId> rest = work.back();
    work.pop_back();
    if (rest.empty()) continue;
    work.push_back(rest.subspan(1));
    const Stmt& s = ast[rest[0]];
    visit(rest[0]);
    if (!kHoldLists.has(s.kind)) continue;
    for (const std::span<const StmtId> held : {s.final, s.arms, s.orelse, s.body})
      if (!held.empty()) work.push_back(held);
  }
}

/// Two expressions of which one is made by a copy of the other's code.
class CopiedExpressions {
 public:
  explicit CopiedExpressions(const Ast& ast) : ast_(ast) {}

  bool same(ExprId a, ExprId b) {
    work_.assign({{a, b}});
    while (!work_.empty()) {
      const auto [left, right] = work_.back();
      work_.pop_back();
      if (left == right) continue;
      if (!left || !right) return false;
      const Expr &x = ast_[left], &y = ast_[right];
      if (x.kind != y.kind || x.op != y.op || x.kids.size() != y.kids.size() ||
          !std::equal(x.extra.begin(), x.extra.end(), y.extra.begin(), y.extra.end()) ||
          !same_own(x, y))
        return false;
      for (std::size_t i = 0; i < x.kids.size(); ++i) work_.emplace_back(x.kids[i], y.kids[i]);
    }
    return true;
  }

 private:
  /// What they are besides their operands. Each copy has code objects of its own.
  bool same_own(const Expr& x, const Expr& y) {
    if (x.kind == ExprKind::Constant)
      return same_constants(*ast_.module, ConstId(x.a), ConstId(y.a));
    if (x.kind == ExprKind::Lambda) return same_function(ast_.functions[x.a], ast_.functions[y.a]);
    if (x.kind == ExprKind::FunctionValue || x.kind == ExprKind::GeneratorExp ||
        is_comprehension(x.kind))
      return same_code(*ast_.module, CodeId(x.a), CodeId(y.a));
    return x.a == y.a;
  }
  bool same_function(const Function& x, const Function& y) {
    if (!same_code(*ast_.module, x.code, y.code) || x.parameters.size() != y.parameters.size())
      return false;
    for (std::size_t i = 0; i < x.parameters.size(); ++i)
      work_.emplace_back(x.parameters[i].default_value, y.parameters[i].default_value);
    return true;
  }

  const Ast& ast_;
  std::vector<std::pair<ExprId, ExprId>> work_;
};

/// Puts the annotations of an `__annotate__` function where they were written: in its order, those
/// with a mark where the mark is.
class Placer {
 public:
  Placer(Rewriter& r, CodeId annotate) : r_(r), annotations_(annotations_of(r, annotate)) {
    const bool text = future_annotations(r_.module[annotate]);
    for (Annotation& a : annotations_) a.value = annotation_expression(r_, a.value, text);
    for (std::size_t i = 0; i < annotations_.size(); ++i)
      if (annotations_[i].condition != UINT32_MAX) by_mark_[annotations_[i].condition] = i;
    for (const Annotation& a : annotations_) ++names_[a.name.index];
  }

  void run() {
    place_marked();
    find_copies();
    std::vector<StmtId> out;
    std::size_t cursor = 0;  // in the body
    const auto copy_to = [&](std::size_t end) {
      for (; cursor < end; ++cursor) out.push_back(in_test(r_.body[cursor]));
    };
    cursor = first_annotatable(r_);
    out.assign(r_.body.begin(), r_.body.begin() + static_cast<std::ptrdiff_t>(cursor));
    find_assignments();
    std::vector<std::size_t> bounds(annotations_.size() + 1, r_.body.size());
    for (std::size_t i = annotations_.size(); i-- > 0;)
      bounds[i] = tops_[i].empty() ? bounds[i + 1] : std::min(bounds[i + 1], tops_[i].front());
    for (std::size_t i = 0; i < annotations_.size(); ++i) {
      const Annotation& a = annotations_[i];
      if (!tops_[i].empty()) {
        copy_to(std::max(cursor, tops_[i].front() + 1));
        continue;
      }
      if (copy_[i]) continue;
      const StrId name = unmangled(r_.module, r_.code, a.name);
      if (a.condition == UINT32_MAX) {
        if (const std::size_t at = assignment(name, cursor, bounds[i]); at < bounds[i]) {
          copy_to(at + 1);
          annotate(r_, out, out.back(), name, a.value);
          note(out.back(), i);
          continue;
        }
      }
      Stmt s;
      s.kind = StmtKind::AnnAssign;
      s.e = {r_.ast.name(name), a.value, ExprId::none()};
      const StmtId id = r_.ast.add(s);
      note(id, i);
      // Without a mark, one that may not be executed never is.
      out.push_back(a.condition == UINT32_MAX ? id : under_test(ConstKind::False, id));
    }
    copy_to(r_.body.size());
    if (!annotations_.empty()) r_.body = r_.ast.arena.copy(out);
  }

 private:
  void note(StmtId id, std::size_t annotation) {
    r_.ast[id].a = static_cast<std::uint32_t>(annotation);
    r_.ast[id].level = names_[annotations_[annotation].name.index] > 1;
  }

  StmtId under_test(ConstKind test, StmtId inner) {
    Stmt s;
    s.kind = StmtKind::If;
    s.e[0] = r_.ast.constant(r_.make_constant(test));
    s.body = r_.one(inner);
    return r_.ast.add(s);
  }

  /// In a class only annotations that may not be executed have a mark: one at its top was under a
  /// test that the compiler has dropped.
  StmtId in_test(StmtId id) {
    const Stmt& s = r_.ast[id];
    const bool marked = s.kind == StmtKind::AnnAssign && s.a < annotations_.size();
    return marked && r_.role == Role::Class ? under_test(ConstKind::True, id) : id;
  }

  void place_marked() {
    r_.edit_lists([&](std::vector<StmtId>& list) {
      std::vector<StmtId> out;
      bool changed = false;
      for (StmtId id : list) {
        std::uint32_t index = 0;
        const auto found =
            is_condition_mark(r_, r_.ast[id], index) ? by_mark_.find(index) : by_mark_.end();
        if (found == by_mark_.end()) {
          out.push_back(id);
          continue;
        }
        const Annotation& a = annotations_[found->second];
        annotate(r_, out, id, unmangled(r_.module, r_.code, a.name), a.value);
        note(out.back(), found->second);
        changed = true;
      }
      list.swap(out);
      return changed;
    });
    tops_.resize(annotations_.size());
    for (std::size_t at = 0; at < r_.body.size(); ++at)
      visit_written(r_.ast, r_.body.subspan(at, 1), [&](StmtId id) {
        const Stmt& s = r_.ast[id];
        if (s.kind == StmtKind::AnnAssign && s.a < annotations_.size()) tops_[s.a].push_back(at);
      });
  }

  /// Of one annotation; a hostile body may have any number.
  static constexpr std::size_t kMostCopies = 16;

  /// The numbers that instructions of the body put into the set of marks; an annotation whose
  /// number is none of them stood in code that was removed.
  std::unordered_set<std::uint32_t> marks_set() const {
    std::unordered_set<std::uint32_t> marks;
    std::optional<std::uint32_t> last;
    scan_instructions(r_.object, [&](const RawInstr& instr) {
      if (instr.info.op == Op::SET_ADD && last) marks.insert(*last);
      last.reset();
      if (instr.info.action == Action::SmallInt)
        last = instr.operand;
      else if (instr.info.op == Op::LOAD_CONST && instr.operand < r_.object.consts.size())
        if (const Const& c = r_.module[r_.object.consts[instr.operand]]; c.kind == ConstKind::Int)
          last = static_cast<std::uint32_t>(c.integer);
    });
    return marks;
  }

  /// The code of a `finally` is there several times, each time with another number, and its
  /// statements are written once.
  void find_copies() {
    const std::unordered_set<std::uint32_t> set = marks_set();
    copy_.assign(annotations_.size(), false);
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> marked;  // by name
    for (std::size_t i = 0; i < annotations_.size(); ++i)
      if (!tops_[i].empty()) marked[annotations_[i].name.index].push_back(i);
    for (std::size_t i = 0; i < annotations_.size(); ++i) {
      const Annotation& a = annotations_[i];
      if (!set.contains(a.condition) || !tops_[i].empty()) continue;
      const std::vector<std::size_t>& others = marked[a.name.index];
      const std::size_t looked = std::min(others.size(), kMostCopies);
      copy_[i] =
          std::any_of(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(looked),
                      [&](std::size_t other) {
                        return CopiedExpressions(r_.ast).same(annotations_[other].value, a.value);
                      });
    }
  }

  void find_assignments() {
    for (std::size_t i = r_.body.size(); i-- > 0;)
      if (const StrId name = r_.assigned_name(r_.ast[r_.body[i]]);
          name && !is_definition(r_, r_.ast[r_.body[i]].e[0]))
        assignments_[name.index].push_back(i);
  }

  /// Where in the body from `begin` on the variable is assigned first; `end` where it is not before
  /// that.
  std::size_t assignment(StrId name, std::size_t begin, std::size_t end) {
    std::vector<std::size_t>& at = assignments_[name.index];
    while (!at.empty() && at.back() < begin) at.pop_back();
    return at.empty() ? end : std::min(at.back(), end);
  }

  Rewriter& r_;
  std::vector<Annotation> annotations_;
  std::unordered_map<std::uint32_t, std::size_t> by_mark_, names_;
  std::vector<std::vector<std::size_t>> tops_;  // by annotation: the statements of the body that
                                                // hold it
  std::vector<bool> copy_;                      // by annotation: of one that has a statement
  std::unordered_map<std::uint32_t, std::vector<std::size_t>>
      assignments_;  // by name: positions in the body, last first
};

}  // namespace

void place_annotations(Rewriter& r, CodeId code) { Placer(r, code).run(); }

StrId unused_name(const Rewriter& r) {
  std::string name = "_";
  const auto taken = [&](const Slot& slot) { return r.text(slot.name) == name; };
  while (std::any_of(r.object.slots.begin(), r.object.slots.end(), taken)) name += '_';
  return r.module.intern(name);
}

namespace {

/// `(_): ...` above the body: the compiler sees an annotation and keeps nothing of it.
/// `conditional`: under a test that is never true.
void insert_empty_annotation(Rewriter& r, bool conditional) {
  Stmt s;
  s.kind = StmtKind::AnnAssign;
  s.flag = 1;
  s.e = {r.ast.name(unused_name(r)), r.ast.constant(r.make_constant(ConstKind::Ellipsis)),
         ExprId::none()};
  StmtId added = r.ast.add(s);
  if (conditional) {
    Stmt test;
    test.kind = StmtKind::If;
    test.e[0] = r.ast.constant(r.make_constant(ConstKind::False));
    test.body = r.one(added);
    added = r.ast.add(test);
  }
  std::vector<StmtId> body(r.body.begin(), r.body.end());
  body.insert(body.begin() + static_cast<std::ptrdiff_t>(first_annotatable(r)), added);
  r.body = r.ast.arena.copy(body);
}

/// The compiler makes the set of marks for every annotation of a module, and for those in a class
/// that may not be executed, also of what is no plain name (`x.y: int = 2`), of which it keeps
/// nothing else. One such gets an annotation again.
void make_marks(Rewriter& r) {
  const bool module = r.role == Role::Module;
  StmtId target;
  bool made = false;
  const auto look = [&](std::span<const StmtId> list) {
    visit_written(r.ast, list, [&](StmtId id) {
      const Stmt& s = r.ast[id];
      made = made || s.kind == StmtKind::AnnAssign;
      if (target || s.kind != StmtKind::Assign || s.list.size() != 1) return;
      const ExprKind kind = r.ast[s.list[0]].kind;
      if (kind == ExprKind::Attribute || kind == ExprKind::Subscript) target = id;
    });
  };
  for (StmtId id : r.body) {
    const StmtId ids[] = {id};
    if (module)
      look(ids);
    else if (kHoldLists.has(r.ast[id].kind))
      look(ids);
  }
  // A class hands its marks to those in it, and so has some where only those mark anything. Its own
  // annotations were all placed, and so made them above.
  if (made || (!module && is_taken_inside(r, "__conditional_annotations__"))) return;
  const auto unknown = [&] { return r.ast.constant(r.make_constant(ConstKind::Ellipsis)); };
  if (target) {
    const ExprId annotation = unknown();
    Stmt& s = r.ast[target];
    s.kind = StmtKind::AnnAssign;
    s.e = {s.list[0], annotation, s.e[0]};
    s.list = {};
    return;
  }
  // `(_): ...` under a test that is never true leaves nothing but the set.
  insert_empty_annotation(r, true);
}

/// A class keeps its namespace in a cell for annotations, type parameters and each `def` inside.
/// Where it has none of those, all that it annotates is no plain name, of which nothing is left.
bool lacks_class_dictionary(const Rewriter& r) {
  const auto has = [&](const CodeObject& code, std::uint8_t kind) {
    return std::any_of(code.slots.begin(), code.slots.end(), [&](const Slot& slot) {
      return (slot.kind & kind) && r.text(slot.name) == "__classdict__";
    });
  };
  if (!defers_annotations(r.module) || !has(r.object, kCell) || future_annotations(r.object))
    return false;
  for (std::uint32_t id = 0; id < r.code.index; ++id)
    if (const CodeObject& inner = r.module[CodeId(id)]; inner.parent == r.code)
      if (has(inner, kFree) || ((inner.flags & kOptimized) && !r.text(inner.name).starts_with('<')))
        return false;
  return true;
}

/// 3.14+: the function that makes the annotations, and the set that says which were reached.
void restore_deferred_annotations(Rewriter& r) {
  const bool module = r.role == Role::Module;
  const std::string_view variable = module ? "__annotate__" : "__annotate_func__";
  CodeId annotate;
  bool inside = false, marks = false;
  const auto takes = [&](StmtId id, bool nested) {
    const Stmt& s = r.ast[id];
    if (r.assigns(s, "__conditional_annotations__") && r.ast[s.e[0]].kind == ExprKind::Set &&
        r.ast[s.e[0]].kids.empty()) {
      marks = true;
      return true;
    }
    if (annotate || !r.assigns(s, variable)) return false;
    const CodeId code = r.function_code(s.e[0]);
    if (!code || r.text(r.module[code].name) != "__annotate__") return false;
    annotate = code;
    inside = nested;
    return true;
  };
  if (!module && !r.may_hold(ExprKind::Set) && lacks_class_dictionary(r)) {
    insert_empty_annotation(r, false);
    return;
  }
  if (!r.may_hold(ExprKind::Set) && !r.may_hold(ExprKind::FunctionValue)) return;
  std::vector<StmtId> rest;
  for (StmtId id : r.body)
    if (!takes(id, false)) rest.push_back(id);
  if (rest.size() != r.body.size()) r.body = r.ast.arena.copy(rest);
  if (!annotate)  // in a dispatch loop
    r.edit_lists([&](std::vector<StmtId>& list) {
      return std::erase_if(list, [&](StmtId id) { return takes(id, true); }) != 0;
    });
  if (inside && !module)
    throw Error("rewrite: the annotations of the class are made in the middle of its body");
  if (annotate) place_annotations(r, annotate);
  if (marks) make_marks(r);
  if (!marks && !module && lacks_class_dictionary(r)) insert_empty_annotation(r, false);
}

/// Will the value become a definition, which has no annotation?
bool makes_definition(const Rewriter& r, ExprId value) {
  std::vector<ExprId> below{value};
  collect_below(r.ast, below);
  return std::any_of(below.begin(), below.end(), [&](ExprId id) {
    const ExprKind kind = r.ast[id].kind;
    if (kind == ExprKind::Intrinsic || kind == ExprKind::ClassBuilder || is_imported(kind))
      return true;
    const CodeId code = r.function_code(id);
    if (!code) return false;
    const Role role = role_of(r.module, code);
    return role == Role::Function || role == Role::Class || role == Role::GenericScope;
  });
}

/// `(_): [x for x in y for z in y]`: an annotation of which the bytecode keeps no target.
bool annotate_without_targets(Rewriter& r) {
  bool any = false;
  StmtIds statements;
  collect_statements(r.ast, r.body, statements);
  for (StmtId id : statements) {
    Stmt& s = r.ast[id];
    if (s.kind != StmtKind::Expr || !is_dropped_first(r.ast[s.e[0]])) continue;
    const ExprId target = r.ast.name(r.module.intern("_"));
    s.kind = StmtKind::AnnAssign;
    s.flag = 1;
    s.e = {target, s.e[0], ExprId::none()};
    any = true;
  }
  return any;
}

/// Up to 3.13 what a body annotates besides plain names is evaluated after the assignment:
/// `x.y: int = 2`, `(z): int = 2`. It stands on the row of that, and left of the value.
bool annotate_other_targets(Rewriter& r) {
  bool any = false;
  const auto annotates = [&](const Stmt& before, const Stmt& s) {
    if (before.kind != StmtKind::Assign || before.list.size() != 1 || s.kind != StmtKind::Expr)
      return false;
    const ExprKind kind = r.ast[before.list[0]].kind;
    if (kind != ExprKind::Attribute && kind != ExprKind::Subscript && kind != ExprKind::Name)
      return false;
    const Origin &value = r.ast[before.e[0]].origin, &annotation = r.ast[s.e[0]].origin,
                 &target = r.ast[before.list[0]].origin;
    if (annotation.line <= 0 || annotation.line != value.line) return false;
    if (annotation.columns != 0 && value.columns != 0 &&
        !(annotation.columns >> 16 < value.columns >> 16 &&
          (target.columns == 0 || target.columns >> 16 < annotation.columns >> 16)))
      return false;
    return !makes_definition(r, before.e[0]);
  };
  r.edit_lists([&](std::vector<StmtId>& list) {
    std::vector<StmtId> out;
    for (StmtId id : list) {
      if (out.empty() || !annotates(r.ast[out.back()], r.ast[id])) {
        out.push_back(id);
        continue;
      }
      Stmt& s = r.ast[out.back()];
      s.kind = StmtKind::AnnAssign;
      s.flag = r.ast[s.list[0]].kind == ExprKind::Name;
      s.e = {s.list[0], r.ast[id].e[0], s.e[0]};
      s.list = {};
      r.absorb(out.back(), id);
    }
    const bool changed = out.size() != list.size();
    any = any || changed;
    list.swap(out);
    return changed;
  });
  return any;
}

bool annotates_outside_of_match(const Rewriter& r) {
  SmallVector<std::span<const StmtId>, 32> work{r.body};
  while (!work.empty()) {
    const std::span<const StmtId> list = work.back();
    work.pop_back();
    for (StmtId id : list) {
      const Stmt& s = r.ast[id];
      if (s.kind == StmtKind::AnnAssign) return true;
      if (!kHoldLists.has(s.kind) || s.kind == StmtKind::Match) continue;
      for (const std::span<const StmtId> held : {s.body, s.orelse, s.arms, s.final})
        work.push_back(held);
    }
  }
  return false;
}

}  // namespace

void restore_annotations(Rewriter& r) {
  const auto sets_up = [&](StmtId id) {
    return r.ast[id].kind == StmtKind::Pass && r.ast[id].flag == kSetupAnnotations;
  };
  bool set_up = false;
  if (r.may_hold(StmtKind::Pass))
    r.edit_lists([&](std::vector<StmtId>& list) {
      if (list.size() == 1 && sets_up(list[0])) {
        r.ast[list[0]].flag = 0;  // a block of a dispatch loop
        set_up = true;
        return false;
      }
      const bool removed = std::erase_if(list, sets_up) != 0;
      set_up = set_up || removed;
      return removed;
    });
  if (set_up) {
    bool any = false;
    const bool text = future_annotations(r.object);
    r.edit_lists([&](std::vector<StmtId>& list) {
      std::vector<StmtId> out;
      bool changed = false;
      for (StmtId id : list) {
        StrId name;
        const ExprId annotation = is_annotation_store(r, r.ast[id], name)
                                      ? annotation_as_written(r, r.ast[id].e[0], text)
                                      : ExprId::none();
        if (!annotation) {
          out.push_back(id);
          continue;
        }
        annotate(r, out, id, name, annotation);
        changed = true;
      }
      list.swap(out);
      any = any || changed;
      return changed;
    });
    if (!text && annotate_other_targets(r)) any = true;
    if (!text && annotate_without_targets(r)) any = true;
    if (any && r.object.version.overlooks_annotations_in_match())
      any = annotates_outside_of_match(r);
    r.empty_annotations = !any;
  }
  if (r.role == Role::Module || r.role == Role::Class) restore_deferred_annotations(r);
}

void order_annotations(Rewriter& r) {
  if (!r.may_hold(StmtKind::AnnAssign) || (r.role != Role::Module && r.role != Role::Class)) return;
  // The first annotation inside each statement, inner ones first.
  StmtIds statements;
  collect_statements(r.ast, r.body, statements);
  std::unordered_map<std::uint32_t, std::uint32_t> least;
  const auto least_of = [&](std::span<const StmtId> list) {
    std::uint32_t out = UINT32_MAX;
    for (StmtId id : list)
      if (const auto found = least.find(id.index); found != least.end())
        out = std::min(out, found->second);
    return out;
  };
  for (std::size_t i = statements.size(); i-- > 0;) {
    Stmt& s = r.ast[statements[i]];
    std::uint32_t first = s.kind == StmtKind::AnnAssign ? s.a : UINT32_MAX;
    if (kHoldLists.has(s.kind)) {
      const std::uint32_t body = least_of(s.body), orelse = least_of(s.orelse);
      if (s.kind == StmtKind::If && orelse < body && negation_is_free(r.ast, s.e[0])) {
        const ExprId test = negate(r.ast, s.e[0]);
        Stmt& swapped = r.ast[statements[i]];
        swapped.e[0] = test;
        std::swap(swapped.body, swapped.orelse);
      }
      const Stmt& now = r.ast[statements[i]];
      first = std::min({body, orelse, least_of(now.final), least_of(now.arms)});
    }
    if (first != UINT32_MAX) least[statements[i].index] = first;
  }
  std::uint32_t last = 0;
  bool ordered = true;
  visit_written(r.ast, r.body, [&](StmtId id) {
    const Stmt& s = r.ast[id];
    if (s.kind != StmtKind::AnnAssign || s.a == UINT32_MAX || s.level != 0) return;
    ordered = ordered && s.a >= last;
    last = s.a;
  });
  if (!ordered) throw Error("rewrite: the annotations of the body change their order");
}

}  // namespace depyf
