# A comprehension's variable does not bind the function's, but its first iterable is the function's.
def f():
    if False:
        x = None
    [x for x in (1,)]
    return x


def g(y):
    if False:
        x = None
    return [x for x in x], [lambda: y for y in y]
