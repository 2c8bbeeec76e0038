# Slices of every shape.
def f(a, i, j, k):
    x = a[i:j]
    x = a[:j]
    x = a[i:]
    x = a[:]
    x = a[i:j:k]
    x = a[::k]
    x = a[::-1]
    x = a[1:2]
    x = a[1:-1]
    x = a[i:j, k]
    x = a[:, None]
    x = a[..., 1:]
    a[i:j] = x
    a[:] = x
    a[i:j:k] = x
    a[i:j] += x
    del a[i:j]
    del a[:]
    return x
