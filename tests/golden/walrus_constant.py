# python: >=3.8
# A constant with a name, in a condition.
def f(x):
    if k := 1:
        f(k)
    while k := 0:
        f(k)
    y = 2 if (z := None) else 3
    return (k := 's') and x


def g(x):
    if x and (k := 1):
        f(k)
    assert (k := 1), x
    x = [a for a in x if (y := 1)]
