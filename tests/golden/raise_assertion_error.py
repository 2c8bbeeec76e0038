# What is raised by hand, also where -O drops asserts.
def f(x, y):
    if not x:
        raise AssertionError('a')
    assert x, 'b'
    if x.a(y):
        raise AssertionError
    assert x.a(y)
    return x
