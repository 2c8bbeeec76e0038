# python: >=3.12
# Code that the compiler removed bound variables of comprehensions.
def f(x):
    return [[None for c in ()] for b in x if b if False]


def g(x):
    return {b if True else [None for c in ()] for b in x}
