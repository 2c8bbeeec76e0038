# python: >=3.12
# What a bound or an alias evaluates reads a global that a comprehension beside it has a variable of.
def f(x):
    [c for c in x]

    def g[T: c](a: T):
        return a

    type A = c
    type B = any(d for b in [None for d in x])
    return g, A, B
