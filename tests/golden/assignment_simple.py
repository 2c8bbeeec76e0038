# Assignments to every kind of target.
def f(a, b):
    x = a
    a.b = x
    a[b] = x
    x = y = a
    x = a.b = a[b] = b
    return x, y
