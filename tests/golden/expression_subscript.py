# Loading, storing and deleting items.
def f(a, b, i, j):
    x = a[i]
    x = a[i][j]
    x = a[i, j]
    x = a[0]
    x = a[-1]
    x = a['key']
    x = a[i,]
    a[i] = b
    a[i, j] = b
    a[i][j] = b
    del a[i]
    a[i] += b
    a[i, j] *= b
    a[i][j] -= b
    return x
