# python: >=3.8
# Assignment expressions.
def f(a, g):
    if (x := g(a)) is not None:
        print(x)
    while chunk := a.read(1):
        print(chunk)
    if y := g(x):
        print(y)
    print((z := 1) + z)
    w = [(last := b) for b in a]
    if any((found := b) for b in a):
        return found
    return last, w


def chained(u, n):
    if 1 < (g := u.gcd(n)) < n:
        yield g
