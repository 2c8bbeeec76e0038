#include "ast/builtins.h"

#include "bytecode/bound_names.h"

namespace depyf {

ExprId builtin(Ast& ast, std::string_view name) {
  Module& module = *ast.module;
  const auto global = [&](std::string_view what) {
    const ExprId id = ast.name(module.intern(what));
    ast[id].op = static_cast<std::uint8_t>(NameScope::Global);
    return id;
  };
  const std::uint32_t own = module.intern(name).index;
  if (!may_be_bound(module, ast.bound_names, name)) return global(name);
  Const text;
  text.kind = ConstKind::Str;
  text.text = "builtins";
  const ExprId builtins =
      ast.expr(ExprKind::Call, {global("__import__"), ast.constant(module.add(text))});
  return ast.expr(ExprKind::Attribute, {builtins}, own);
}

ExprId builtin(Ast& ast, std::string_view name, CodeId code) {
  const ExprId found = builtin(ast, name);
  if (!has_given_namespace(*ast.module, code, ast.plain_classes)) return found;
  ast.functions.push_back({});
  const ExprId lambda =
      ast.expr(ExprKind::Lambda, {found}, static_cast<std::uint32_t>(ast.functions.size() - 1));
  return ast.expr(ExprKind::Call, {lambda});
}

}  // namespace depyf
