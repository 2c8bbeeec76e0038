# A chain as a statement of a module: 3.10 has what follows twice.
a in a in a is not a


def f():
    pass


def g():
    pass


class C:
    pass


def h():
    pass


class D:
    pass
