# Up to 3.8 `assert` raises a global of that name, and is no use of the name.
def f(x):
    AssertionError = ValueError
    assert x, 'a'
    raise AssertionError('b')


def g(x):
    AssertionError = ValueError

    def h():
        assert x
        raise AssertionError('b')

    return h
