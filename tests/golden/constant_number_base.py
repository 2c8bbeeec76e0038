# python: >=3.11
# Numbers in the base in which they were written.
def f(path, n):
    path.chmod(0o755)
    path.mkdir(0o700)
    n &= 0xffff
    n |= 0b10100101 << n
    n += 1_000_000 * n + 1000000
    return n == 0x100 or n > 255 or n < 0x7fffffff or n in (0, 1)


class Flags:
    A = 0x1
    B = 0x2
    C = 0x4
    D = 0x8
