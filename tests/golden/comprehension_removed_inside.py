# python: >=3.12
# Comprehensions that the compiler removed bound several variables, before and after those that are left.
def f(x, y):
    return [e if True else [None for b, c in ()] for a in x]


def g(x, y):
    return [{d for d in e} for a in x if True or [None for b, c in ()]]


def h(x, y):
    return [{d for d in e} for a in x if {b for b in x} for c in x if True or [None for k in ()]]
