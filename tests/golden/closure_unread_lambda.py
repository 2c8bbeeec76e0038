# A constant decides what a lambda and a generator evaluate: a name stays a free variable.
def f(a, b):
    return lambda: 's' if True else a


def g(a, b):
    return lambda c: c.d if True else (a, b)


def h(a, b):
    return (b if True else a for c in b)
