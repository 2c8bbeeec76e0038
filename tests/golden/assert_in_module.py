# Up to 3.8 an assertion loads its exception as a global, also where names are looked up otherwise.
assert x, y


class Failure(AssertionError):
    assert x


def f():
    raise AssertionError('unreachable')
