# Decorators.
@decorator
def f():
    pass


@decorator.attribute
@decorator(1, key=2)
def g(a):
    return a


def h():
    @decorator
    def inner():
        pass

    return inner
