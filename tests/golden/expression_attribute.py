# Loading, storing and deleting attributes.
def f(a, b):
    x = a.b.c
    a.b = x
    a.b.c = b
    del a.b
    a.b += 1
    a.b.c -= b
    return a.x.y.z
