#include "pyc/pyc.h"

namespace depyf {

ConstId docstring(const Module& module, CodeId id) {
  const CodeObject& code = module[id];
  constexpr std::uint32_t kFunction = kOptimized | kNewLocals;
  if ((code.flags & kFunction) != kFunction || code.consts.empty() ||
      module[code.name].starts_with('<'))
    return ConstId::none();
  if (code.version >= PyVersion{3, 14} && (code.flags & kHasDocstring) == 0) return ConstId::none();
  return module[code.consts[0]].kind == ConstKind::Str ? code.consts[0] : ConstId::none();
}

}  // namespace depyf
