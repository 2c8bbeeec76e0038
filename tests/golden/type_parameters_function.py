# python: >=3.12
# Type parameters of functions (PEP 695).
def f[T](a: T) -> T:
    return a


def g[T: int, *Ts, **P](a: T, *args: *Ts) -> None:
    pass


def h[T: (int, str)](a: T = 1) -> T:
    return a


class C:
    def m[T](self, a: T) -> T:
        return a
