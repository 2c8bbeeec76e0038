#include "support/system_writing.h"

#include <algorithm>
#include <cerrno>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>

#include <csignal>
#endif

namespace depyf {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

WriteResult write_plainly(int descriptor, std::string_view data) {
  const std::size_t size = std::min(data.size(), kMostAtOnce);
#ifdef _WIN32
  const auto count = ::_write(descriptor, data.data(), static_cast<unsigned>(size));
#else
  const auto count = ::write(descriptor, data.data(), size);
#endif
  if (count < 0) return {0, errno};
  return {static_cast<std::size_t>(count), 0};
}

}  // namespace

#ifdef SIGXFSZ

WriteResult write_some(int descriptor, std::string_view data) {
  sigset_t signal;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&signal);
  sigaddset(&signal, SIGXFSZ);
  if (pthread_sigmask(SIG_BLOCK, &signal, &before) != 0) return write_plainly(descriptor, data);
  // one that waits already is the program's
  const bool waits = sigismember(&before, SIGXFSZ) == 1 && sigpending(&pending) == 0 &&
                     sigismember(&pending, SIGXFSZ) == 1;
  const WriteResult written = write_plainly(descriptor, data);
  if (written.error == EFBIG && !waits && sigpending(&pending) == 0 &&
      sigismember(&pending, SIGXFSZ) == 1) {
    int taken = 0;
    sigwait(&signal, &taken);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return written;
}

#else

WriteResult write_some(int descriptor, std::string_view data) {
  return write_plainly(descriptor, data);
}

#endif

}  // namespace depyf
