# python: >=3.12
# A constant decides what an alias or a bound evaluates: a name stays a free variable.
type A[a] = 's' if True else a


def f(x):
    type B[b] = 1 if True else (x, b)

    def g[T: 0 if True else x](y: T):
        return y

    type C = 's' if True else x
    return g, B, C


# if >=3.14
def h(x):
    def i(y: 1 if True else x) -> int:
        return y

    return i


def j(x):
    class C:
        y: 1 if True else x
        z: int

    class D:
        y: 1 if True else __class__

    return C, D
# end
