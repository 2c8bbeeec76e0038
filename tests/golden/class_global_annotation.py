# python: >=3.12
# What scopes of annotations in a class see of it, but for what it declares global.
class C:
    global a, b
    type A = a

    def f[T: b](self, x: T):
        return a


def g():
    class D:
        global c
        d = 1
        type A = (c, d)

    return D
