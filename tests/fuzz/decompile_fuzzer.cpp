// Any bytes as a .pyc file, to source and back to nothing: every stage on every code object.
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace depyf;
  try {
    Module module = read_pyc({data, size});
    DecompileOptions options;
    options.line_map = true;
    decompile(module, options);
  } catch (const Error&) {
  }
  return 0;
}
