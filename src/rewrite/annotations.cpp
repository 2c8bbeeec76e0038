#include "rewrite/annotations.h"

#include <algorithm>
#include <unordered_map>

#include "print/names.h"
#include "structure/operations.h"

namespace depyf {
namespace {

/// The name and annotation of `__annotations__['name'] = annotation`.
bool is_annotation_store(const Rewriter& r, const Stmt& s, StrId& name) {
  if (s.kind != StmtKind::Assign || s.list.size() != 1) return false;
  const Expr& target = r.ast[s.list[0]];
  if (target.kind != ExprKind::Subscript || !r.is_name(target.kids[0], "__annotations__")) return false;
  const Const* key = r.constant(target.kids[1]);
  if (!key || key->kind != ConstKind::Str) return false;
  if (!is_identifier(key->text) || is_keyword(key->text, r.module.version)) return false;
  name = unmangled(r.module, r.code, r.module.intern(key->text));
  return true;
}

/// 3.14+: `__conditional_annotations__.add(index)` marks where an annotation was executed.
bool is_condition_mark(const Rewriter& r, const Stmt& s, std::uint32_t& index) {
  if (s.kind != StmtKind::Append || s.flag != 1 || s.list.size() != 1 || !r.is_name(s.e[0], "__conditional_annotations__")) return false;
  const Const* c = r.constant(s.list[0]);
  if (!c || c->kind != ConstKind::Int || c->big || c->integer < 0) return false;
  index = static_cast<std::uint32_t>(c->integer);
  return true;
}

/// What the compiler puts before a body's first statement.
bool compiler_assigns(const Rewriter& r, const Stmt& s) {
  static constexpr std::string_view names[] = {"__module__", "__qualname__", "__firstlineno__", "__type_params__", "__classdict__", "__doc__"};
  const StrId name = r.assigned_name(s);
  return name && std::find(std::begin(names), std::end(names), r.text(name)) != std::end(names);
}

/// `name: annotation`, taking over `name = value` when that is the statement before.
void annotate(Rewriter& r, std::vector<StmtId>& out, StmtId origin, StrId name, ExprId annotation) {
  Stmt s;
  s.kind = StmtKind::AnnAssign;
  s.origin = r.ast[origin].origin;
  s.absorbed = r.ast[origin].absorbed;
  s.e[1] = annotation;
  if (!out.empty() && r.assigned_name(r.ast[out.back()]) == name) {
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

/// A function or class that a statement of its own defines, decorated or not: no annotation stands there.
bool is_definition(const Rewriter& r, ExprId value) {
  for (;;) {
    const Expr& e = r.ast[value];
    if (e.kind == ExprKind::ClassBuilder) return true;
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

/// A tuple of constants as Python writes it, from behind its `(` on: what `...` in it is called there is written as `...`. `end`: behind its `)`. Empty where the
/// text is something else.
std::string constant_tuple(std::string_view text, std::size_t begin, std::size_t& end) {
  std::string out;
  std::size_t depth = 1, commas = 0;
  for (std::size_t i = begin; i < text.size();) {
    const char c = text[i];
    std::size_t next = i + 1;
    if (c == ')' && --depth == 0) {
      end = next;
      return commas != 0 && out.back() != ',' ? out : std::string();
    }
    if (c == '(') ++depth;
    if (c == ',' && depth == 1) ++commas;
    if (c == '\'' || c == '"') {
      while (next < text.size() && text[next] != c) next += text[next] == '\\' ? 2 : 1;
      if (next++ >= text.size()) return {};
    } else if (is_identifier(text.substr(i, 1)) || (c >= '0' && c <= '9')) {
      while (next < text.size() && (is_identifier(text.substr(next, 1)) || (text[next] >= '0' && text[next] <= '9'))) ++next;
      const std::string_view word = text.substr(i, next - i);
      const bool prefix = next < text.size() && (text[next] == '\'' || text[next] == '"');
      if (word == "Ellipsis") {
        out += "...";
        i = next;
        continue;
      }
      if (is_identifier(word) && word != "None" && word != "True" && word != "False" && !prefix) return {};
    } else if (std::string_view("(), .+-").find(c) == std::string_view::npos && c != ')') {
      return {};
    }
    out += text.substr(i, next - i);
    i = next;
  }
  return {};
}

/// Up to 3.8 the text of an annotation has a tuple of constants in a subscript as the tuple is: `Callable[(Ellipsis, None)]` for `Callable[..., None]`.
std::string written_annotation(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t next = i + 1;
    if (text[i] == '\'' || text[i] == '"') {
      while (next < text.size() && text[next] != text[i]) next += text[next] == '\\' ? 2 : 1;
      next = std::min(next + 1, text.size());
    } else if (text.substr(i, 2) == "[(") {
      const std::string items = constant_tuple(text, i + 2, next);
      if (!items.empty() && next < text.size() && text[next] == ']') {
        out += "[" + items;
        i = next;
        continue;
      }
      next = i + 1;
    }
    out += text.substr(i, next - i);
    i = next;
  }
  return out;
}

}  // namespace

ExprId annotation_expression(Rewriter& r, ExprId value, bool from_text) {
  const Const* c = r.constant(value);
  if (!from_text || !c || c->kind != ConstKind::Str) return value;
  return r.ast.expr(ExprKind::Raw, {}, r.module.intern(written_annotation(c->text)).index, 0, r.ast[value].origin);
}

std::vector<Annotation> annotations_of(Rewriter& r, CodeId code) {
  std::vector<Annotation> out;
  if (code.index >= r.ast.bodies.size()) return out;
  auto add = [&](ExprId key, ExprId value, std::uint32_t condition) {
    const Const* c = r.constant(key);
    if (c && c->kind == ConstKind::Str && value) out.push_back({r.module.intern(c->text), value, condition});
  };
  auto store = [&](StmtId id, std::uint32_t condition) {
    const Stmt s = r.ast[id];
    if (s.kind == StmtKind::Assign && s.list.size() == 1 && r.ast[s.list[0]].kind == ExprKind::Subscript)
      add(r.ast[s.list[0]].kids[1], s.e[0], condition);
  };
  std::vector<StmtId> work(r.ast.bodies[code.index].stmts.rbegin(), r.ast.bodies[code.index].stmts.rend());
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
      if (test.kind == ExprKind::Compare && test.extra.size() == 1 && static_cast<CompareOp>(test.extra[0]) == CompareOp::In)
        if (const Const* c = r.constant(test.kids[0]); c && c->kind == ConstKind::Int && !c->big) condition = static_cast<std::uint32_t>(c->integer);
      if (condition != UINT32_MAX) {
        for (StmtId inner : s.body) store(inner, condition);
      } else {  // the guard against unknown formats
        work.insert(work.end(), s.orelse.rbegin(), s.orelse.rend());
        if (s.body.size() != 1 || r.ast[s.body[0]].kind != StmtKind::Raise) work.insert(work.end(), s.body.rbegin(), s.body.rend());
      }
    } else {
      store(id, UINT32_MAX);
    }
  }
  return out;
}

void place_annotations(Rewriter& r, CodeId code) {
  std::vector<Annotation> annotations = annotations_of(r, code);
  const bool text = future_annotations(r.module[code]);
  for (Annotation& a : annotations) a.value = annotation_expression(r, a.value, text);
  std::unordered_map<std::uint32_t, const Annotation*> conditional;
  for (const Annotation& a : annotations)
    if (a.condition != UINT32_MAX) conditional[a.condition] = &a;
  r.edit_lists([&](std::vector<StmtId>& list) {
    std::vector<StmtId> out;
    bool changed = false;
    for (StmtId id : list) {
      std::uint32_t index = 0;
      if (!is_condition_mark(r, r.ast[id], index) || !conditional.contains(index)) {
        out.push_back(id);
        continue;
      }
      const Annotation& a = *conditional[index];
      annotate(r, out, id, unmangled(r.module, r.code, a.name), a.value);
      changed = true;
    }
    list.swap(out);
    return changed;
  });
  // The others are at the top of the body; an assignment to the same name, not before the annotation ahead, is where one was written.
  std::vector<StmtId> out;
  std::size_t cursor = 0;
  while (cursor < r.body.size() && compiler_assigns(r, r.ast[r.body[cursor]])) ++cursor;
  out.assign(r.body.begin(), r.body.begin() + static_cast<std::ptrdiff_t>(cursor));
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> assignments;  // positions, last first
  for (std::size_t i = r.body.size(); i-- > 0;)
    if (const StrId name = r.assigned_name(r.ast[r.body[i]]); name && !is_definition(r, r.ast[r.body[i]].e[0])) assignments[name.index].push_back(i);
  for (const Annotation& a : annotations) {
    if (a.condition != UINT32_MAX) continue;
    const StrId name = unmangled(r.module, r.code, a.name);
    std::vector<std::size_t>& at = assignments[name.index];
    while (!at.empty() && at.back() < cursor) at.pop_back();
    if (!at.empty()) {
      out.insert(out.end(), r.body.begin() + static_cast<std::ptrdiff_t>(cursor), r.body.begin() + static_cast<std::ptrdiff_t>(at.back()) + 1);
      cursor = at.back() + 1;
      annotate(r, out, out.back(), name, a.value);
      continue;
    }
    Stmt s;
    s.kind = StmtKind::AnnAssign;
    s.e = {r.ast.name(name), a.value, ExprId::none()};
    out.push_back(r.ast.add(s));
  }
  out.insert(out.end(), r.body.begin() + static_cast<std::ptrdiff_t>(cursor), r.body.end());
  if (out.size() != r.body.size() || !annotations.empty()) r.body = r.ast.arena.copy(out);
}

void restore_annotations(Rewriter& r) {
  const auto sets_up = [&](StmtId id) { return r.ast[id].kind == StmtKind::Pass && r.ast[id].flag == kSetupAnnotations; };
  if (r.may_hold(StmtKind::Pass) && std::any_of(r.body.begin(), r.body.end(), sets_up)) {
    std::vector<StmtId> body(r.body.begin(), r.body.end());
    std::erase_if(body, sets_up);
    r.body = r.ast.arena.copy(body);
    bool any = false;
    const bool text = future_annotations(r.object);
    r.edit_lists([&](std::vector<StmtId>& list) {
      std::vector<StmtId> out;
      bool changed = false;
      for (StmtId id : list) {
        StrId name;
        if (!is_annotation_store(r, r.ast[id], name)) {
          out.push_back(id);
          continue;
        }
        annotate(r, out, id, name, annotation_expression(r, r.ast[id].e[0], text));
        changed = true;
      }
      list.swap(out);
      any = any || changed;
      return changed;
    });
    r.empty_annotations = !any;
  }
  const std::string_view variable = r.role == Role::Module ? "__annotate__" : "__annotate_func__";
  if (r.role != Role::Module && r.role != Role::Class) return;
  const auto makes_marks = [&](StmtId id) {  // the set that they are added to
    const Stmt& s = r.ast[id];
    return r.assigns(s, "__conditional_annotations__") && r.ast[s.e[0]].kind == ExprKind::Set && r.ast[s.e[0]].kids.empty();
  };
  if (r.may_hold(ExprKind::Set) && std::any_of(r.body.begin(), r.body.end(), makes_marks)) {
    std::vector<StmtId> others(r.body.begin(), r.body.end());
    std::erase_if(others, makes_marks);
    r.body = r.ast.arena.copy(others);
  }
  for (std::size_t i = 0; i < r.body.size(); ++i) {
    const Stmt& s = r.ast[r.body[i]];
    if (!r.assigns(s, variable)) continue;
    const CodeId code = r.function_code(s.e[0]);
    if (!code || r.text(r.module[code].name) != "__annotate__") continue;
    std::vector<StmtId> rest(r.body.begin(), r.body.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    r.body = r.ast.arena.copy(rest);
    place_annotations(r, code);
    break;
  }
}

}  // namespace depyf
