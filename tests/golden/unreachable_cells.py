# A function that is defined where nothing gets to leaves its cells.
def f(a):
    if False:
        b = None
        lambda: b
    a()


def g(a):
    if False:
        b = None
        c = None
        lambda: (b, c)
    return a()
