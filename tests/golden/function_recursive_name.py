# A nested function that refers to itself.
def f(n):
    def g(m):
        return g(m - 1) if m else n

    return g(n)
