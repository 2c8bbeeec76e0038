/* statx for a musl that has none, such as 1.2.3: Zig's libc++ calls it. */
#include <sys/syscall.h>
#include <unistd.h>

struct statx;

__attribute__((visibility("hidden"))) int statx(int folder, const char *path, int flags,
                                                unsigned mask, struct statx *to) {
  return (int)syscall(SYS_statx, folder, path, flags, mask, to);
}
