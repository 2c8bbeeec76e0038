# python: >=3.12
# type statements.
type A = int
type B[T] = list[T]
type C[T: int, *Ts, **P] = dict[T, tuple[*Ts]]


def f():
    type D = A
    return D
