/* statx for musl before 1.2.4, which Debian 12 and Alpine 3.17 have: Zig's libc++ calls it. */
#include <sys/syscall.h>
#include <unistd.h>

struct statx;

__attribute__((visibility("hidden"))) int statx(int folder, const char *path, int flags,
                                                unsigned mask, struct statx *to) {
  return (int)syscall(SYS_statx, folder, path, flags, mask, to);
}
