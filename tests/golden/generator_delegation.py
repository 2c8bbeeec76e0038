# yield from.
def f(a):
    yield from a
    x = yield from a()
    return (yield from x)
