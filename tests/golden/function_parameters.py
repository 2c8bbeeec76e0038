# Every kind of parameter.
def f(a, b, c=1, *args, d, e=2, **kwargs):
    pass


def g(*, a):
    pass


def h(*args, a=1):
    pass


def i(a=(1, 2), b=[], c={'k': 1}, d=None):
    pass


def j(**kwargs):
    pass
