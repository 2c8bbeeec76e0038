# Unpacking with a starred target.
def f(a):
    x, *y = a
    *x, y = a
    x, *y, z = a
    *x, = a
    x, (*y, z), w = a
    for x, *y in a:
        print(x, y)
    return x, y, z, w
