# Unpacking assignments.
def f(a, b):
    x, y = a
    x, y = b, a
    x, y, z = a, b, a
    (x, y), z = a
    x, (y, (z, w)) = a
    a.x, b[0] = a
    x, = a
    for x, (y, z) in a:
        print(x, y, z)
    x = y, z = a
    return x, y, z, w
