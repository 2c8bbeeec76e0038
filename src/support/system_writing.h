// Writing to a file without a signal for the process.
#pragma once

#include <cstddef>
#include <string_view>

namespace depyf {

/// What came of a call of the system: bytes that were written, and errno where it failed.
struct WriteResult {
  std::size_t bytes = 0;
  int error = 0;
};

/// Writes a first part of `data`. Where a file would grow over the limit of the process
/// (RLIMIT_FSIZE), the error is EFBIG and the process gets no SIGXFSZ.
WriteResult write_some(int descriptor, std::string_view data);

}  // namespace depyf
