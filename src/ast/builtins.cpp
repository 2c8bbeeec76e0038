#include "ast/builtins.h"

#include "opcode/tables.h"

namespace depyf {
namespace {

/// Stands for every name: the module has `from … import *`.
constexpr std::uint32_t kAnyName = UINT32_MAX - 1;
constexpr std::uint32_t kLooked = UINT32_MAX;

/// Variables of functions, and what modules, classes and `global` bind.
void find_bound_names(Ast& ast) {
  const Module& module = *ast.module;
  ast.bound_names.insert(kLooked);
  for (std::size_t i = 0; i < module.codes.size(); ++i) {
    const CodeObject& code = module.codes[i];
    for (const Slot& slot : code.slots) ast.bound_names.insert(slot.name.index);
    const VersionTable* table = version_table(code.version);
    if (!table) continue;
    std::uint32_t extended = 0;
    for (std::size_t at = 0; at + 1 < code.code.size(); at += 2) {
      const OpcodeInfo& info = table->opcodes[code.code[at]];
      const std::uint32_t operand = extended << 8 | code.code[at + 1];
      extended = info.name == "EXTENDED_ARG" ? operand : 0;
      at += std::size_t{2} * info.caches;
      const bool binds = info.op == Op::STORE_NAME || info.op == Op::STORE_GLOBAL;
      if (binds && operand < code.names.size()) ast.bound_names.insert(code.names[operand].index);
      if (info.op == Op::IMPORT_STAR ||
          (info.action == Action::Intrinsic1 && operand < table->intrinsics_1.size() &&
           table->intrinsics_1[operand].op == Op::IMPORT_STAR))
        ast.bound_names.insert(kAnyName);
    }
  }
}

}  // namespace

ExprId builtin(Ast& ast, std::string_view name) {
  Module& module = *ast.module;
  if (ast.bound_names.empty()) find_bound_names(ast);
  const auto global = [&](std::string_view what) {
    const ExprId id = ast.name(module.intern(what));
    ast[id].op = static_cast<std::uint8_t>(NameScope::Global);
    return id;
  };
  const std::uint32_t own = module.intern(name).index;
  if (!ast.bound_names.contains(own) && !ast.bound_names.contains(kAnyName)) return global(name);
  Const text;
  text.kind = ConstKind::Str;
  text.text = "builtins";
  const ExprId builtins =
      ast.expr(ExprKind::Call, {global("__import__"), ast.constant(module.add(text))});
  return ast.expr(ExprKind::Attribute, {builtins}, own);
}

}  // namespace depyf
