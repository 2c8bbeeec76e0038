# Exchanging values: the stack does it without a tuple.
def f(a, b, c, d):
    a, b = b, a
    a, b, c = c, a, b
    a, b, c, d = d, c, b, a
    a.x, b.x = b.x, a.x
    a[0], a[1] = a[1], a[0]
    return a, b, c, d
