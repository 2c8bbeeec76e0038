# Generator expressions.
def f(a, b):
    x = (y for y in a)
    x = (y for y in a if y)
    x = sum(y for y in a)
    x = max((y for y in a), key=b)
    x = any(y == z for y in a for z in b)
    x = list(y for y in a)
    x = ((y, z) for y in a for z in y)
    return dict((y, z) for y, z in a)
