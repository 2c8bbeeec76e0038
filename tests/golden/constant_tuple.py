# Tuples of constants are one constant each.
def f(a):
    x = (1, 2)
    x = (1,)
    x = ()
    x = ((1, 2), (3, (4,)))
    x = ('a', b'b', None, True, ..., 1.5, -1)
    if a in (1, 2, 3):
        return x
    for a in (1, 2, 3):
        print(a)
    return (), ()
