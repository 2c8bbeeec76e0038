# yield as a statement and as an expression.
def f(a):
    yield
    yield 1
    yield a, 1
    x = yield
    x = yield a
    print((yield x))
    x += yield
    for y in a:
        yield y
    return x
