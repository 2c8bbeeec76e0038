#include "pyc/pyc.h"

namespace depyf {

ConstId docstring(const Module& module, CodeId id) {
  const CodeObject& code = module[id];
  constexpr std::uint32_t kFunction = kOptimized | kNewLocals;
  if ((code.flags & kFunction) != kFunction || code.consts.empty()) return ConstId::none();
  // Nobody gets hold of the functions of comprehensions and type parameters. The compiler gives a
  // lambda no docstring, but other code may (PyFunction_New of Objects/funcobject.c).
  const std::string_view name = module[code.name];
  if (name.starts_with('<') && name != "<lambda>") return ConstId::none();
  if (code.version >= PyVersion{3, 14} && (code.flags & kHasDocstring) == 0) return ConstId::none();
  return module[code.consts[0]].kind == ConstKind::Str ? code.consts[0] : ConstId::none();
}

}  // namespace depyf
