# python: >=3.13
# Defaults of type parameters (PEP 696).
def f[T = int](a: T) -> T:
    return a


class A[T: int = bool, *Ts = *tuple[int, ...], **P = [int]]:
    pass


type X[T = str] = list[T]
