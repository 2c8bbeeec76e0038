# python: >=3.13
# Of two stores to one local on one row the compiler drops the first; on rows of their own both stay.
def attribute(o, b, c, d):
    (
        o.x,
        b,
        b,
    ) = c, d, o
    return b


def starred(c, d):
    (
        (*a, b),
        b,
    ) = c, (1, d)
    return a, b


def nested(c):
    (
        (x, y),
        y,
    ) = c
    return x, y


def three(a, b, c):
    (
        a,
        a,
        b,
    ) = b, a, c
    return a, b


def swapped(a, b):
    (
        a,
        a,
    ) = b, a
    return a


def loop(c):
    for (
        (x, y),
        y,
    ) in c:
        print(x, y)
    with c as (
        (x, *y),
        y,
    ):
        print(x, y)


def chain(c):
    (
        a,
        b,
    ) = b = c
    return a, b


def one_row(b, c):
    a, b, a, b = b, c, b, c
    return a, b
