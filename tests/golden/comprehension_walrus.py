# python: >=3.8
# Assignment expressions inside comprehensions bind outside of them.
def f(a, g):
    x = [y for b in a if (y := g(b))]
    z = [(w := 1), w + 1]
    return x, y, z
