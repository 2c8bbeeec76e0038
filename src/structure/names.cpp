// Names for the temporaries of Dynamo's code: what the value is passed to, tested by or returned as
// says more than a number.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "structure/graph.h"

namespace depyf {
namespace {

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

void Structurer::name_temporaries(std::uint32_t first_expr, std::uint32_t first_stmt) {
  std::unordered_map<std::uint32_t, std::string> wanted;  // temporary -> name
  std::unordered_set<std::uint32_t> temporaries_used;
  for (ValueId v : named_values) temporaries_used.insert(known(v).named.index);
  auto is_temporary = [&](ExprId e) {
    return e && ast[e].kind == ExprKind::Name && temporaries_used.count(ast[e].a) != 0;
  };
  auto want = [&](ExprId e, std::string_view name) {
    if (is_temporary(e) && is_identifier(name)) wanted.emplace(ast[e].a, name);
  };
  // A parameter's name says most, then what the value decides, then that it is the result.
  if (options.callee_parameters) {
    std::unordered_map<std::string_view, const std::vector<std::string>*> callees;
    for (const auto& [name, parameters] : *options.callee_parameters)
      callees.emplace(name, &parameters);
    for (std::uint32_t i = first_expr; i < ast.exprs.size(); ++i) {
      const Expr call = ast.exprs[i];
      if (call.kind != ExprKind::Call || call.kids.empty() ||
          ast[call.kids[0]].kind != ExprKind::Name)
        continue;
      auto callee = callees.find(module[StrId(ast[call.kids[0]].a)]);
      if (callee == callees.end()) continue;
      for (std::size_t k = 1; k < call.kids.size() && k <= callee->second->size(); ++k) {
        const ExprKind kind = ast[call.kids[k]].kind;
        if (kind == ExprKind::Starred || kind == ExprKind::Keyword) break;
        const std::string& parameter = (*callee->second)[k - 1];
        if (!parameter.starts_with("___stack")) want(call.kids[k], parameter);
      }
    }
  }
  for (std::uint32_t i = first_stmt; i < ast.stmts.size(); ++i)
    if (ast.stmts[i].kind == StmtKind::If) {
      ExprId test = ast.stmts[i].e[0];
      if (test && ast[test].kind == ExprKind::Unary) test = ast[test].kids[0];
      want(test, "cond");
    }
  for (std::uint32_t i = first_stmt; i < ast.stmts.size(); ++i)
    if (ast.stmts[i].kind == StmtKind::Return) want(ast.stmts[i].e[0], "result");
  for (ValueId v : named_values) wanted.emplace(known(v).named.index, "value");

  // Names that mean something here already.
  std::unordered_set<std::uint32_t> taken;
  const CodeObject& code = module[lifted.code];
  for (StrId name : code.names) taken.insert(name.index);
  const std::uint32_t arguments = code.argcount + code.kwonlyargcount +
                                  ((code.flags & kVarArgs) != 0) +
                                  ((code.flags & kVarKeywords) != 0);
  for (std::uint32_t i = 0; i < code.slots.size(); ++i)
    if (i < arguments || code.slots[i].kind != kLocal) taken.insert(code.slots[i].name.index);
  for (const Value& v : lifted.values)
    if (v.kind == ValueKind::Operation &&
        (v.op == Op::LOAD_FAST || v.op == Op::STORE_FAST || v.op == Op::DELETE_FAST ||
         v.op == Op::LOAD_FAST_AND_CLEAR))
      taken.insert(code.slots[v.arg].name.index);
  static constexpr std::string_view keywords[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  for (std::string_view keyword : keywords) taken.insert(module.intern(keyword).index);

  std::unordered_map<std::uint32_t, std::uint32_t> renamed;
  for (ValueId v : named_values) {
    const StrId temporary = known(v).named;
    if (renamed.count(temporary.index)) continue;
    const std::string& stem = wanted[temporary.index];
    StrId name = module.intern(stem);
    for (std::uint32_t n = 1; taken.count(name.index); ++n)
      name = module.intern(stem + "_" + std::to_string(n));
    taken.insert(name.index);
    renamed[temporary.index] = name.index;
  }
  for (std::uint32_t i = first_expr; i < ast.exprs.size(); ++i) {
    Expr& e = ast.exprs[i];
    if (e.kind != ExprKind::Name) continue;
    if (auto to = renamed.find(e.a); to != renamed.end()) e.a = to->second;
  }
}

}  // namespace depyf
