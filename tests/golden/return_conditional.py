# Conditional expressions whose return or raise is copied to both ways.
def f(msg):
    raise U('a' if msg is None else msg)


def g(a, b):
    raise T('%s %d' % (a, 'was' if a == 1 and not b else 'were'))


def h(a, b):
    if a or b > 1:
        raise T(a, b, output=b.x if a else None, stderr=b.y if b else None)


def i(path):
    return d(path) if p(path) else t(path)


# if >=3.11
def j(path):
    return (d if p(path) else t)(path)


# end
def k(path):
    raise T(1 if path else 2) from E(path)


def f_(a, b, c):
    return a if c else b


def g_(a, b, c):
    return a.x if c else b(1)


def h_(a, b, c):
    if c:
        return a
    return b


def k_(a, b, c):
    return a if c else b if a else c.x


def l_(a, b, c):
    return 1 if c else 2


def m_(a, b, c):
    return (yield 1) if c else 2


def n_(a, b, c):
    raise a(1) if c else b(2)
