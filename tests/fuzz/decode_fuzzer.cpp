// Any bytes as the instructions of every code object of a small module: what a damaged file holds
// behind a sound header. The first byte chooses the version, the second how many bytes are the
// exception table.
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace depyf;
  if (size < 4) return 0;
  Module module;
  module.version = {3, static_cast<std::uint8_t>(7 + data[0] % 9)};
  CodeObject code;
  code.version = module.version;
  code.name = code.qualname = code.filename = module.intern("f");
  code.stacksize = 64;
  code.firstlineno = 1;
  const std::size_t rows = std::min<std::size_t>(data[1], size - 2);
  code.exceptiontable = module.arena.copy(std::vector<std::uint8_t>(data + 2, data + 2 + rows));
  std::vector<std::uint8_t> bytes(data + 2 + rows, data + size);
  if (bytes.size() % 2) bytes.pop_back();
  code.code = module.arena.copy(bytes);
  std::vector<ConstId> consts;
  for (int i = 0; i < 4; ++i) {
    Const constant;
    constant.kind = i == 0 ? ConstKind::None : ConstKind::Int;
    constant.integer = i;
    consts.push_back(module.add(constant));
  }
  Const names;  // as of keyword arguments
  names.kind = ConstKind::Tuple;
  Const text;
  text.kind = ConstKind::Str;
  text.text = "k";
  const ConstId items[] = {module.add(text)};
  names.items = module.arena.copy(items);
  consts.push_back(module.add(names));
  code.consts = module.arena.copy(consts);
  std::vector<StrId> ids;
  for (const char* name : {"a", "b", "c", "d"}) ids.push_back(module.intern(name));
  code.names = module.arena.copy(ids);
  module.codes.push_back(code);
  module.root = CodeId(0);
  const StrId locals[] = {ids[0], ids[1]}, cells[] = {ids[2]}, free[] = {ids[3]};
  lay_out_slots(module, module.codes[0], locals, cells, free);
  DecompileOptions options;
  options.function = true;
  options.line_map = true;
  try {
    decompile(module, options);
  } catch (const Error&) {
  }
  return 0;
}
