# python: >=3.8
# Positional-only parameters.
def f(a, b=1, /, c=2, *, d=3):
    pass


def g(a, /):
    pass


def h(a, /, *args, **kwargs):
    pass
