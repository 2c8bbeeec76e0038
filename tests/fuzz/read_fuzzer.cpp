// Any bytes as a .pyc file.
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    depyf::read_pyc({data, size});
  } catch (const depyf::Error&) {
  }
  return 0;
}
