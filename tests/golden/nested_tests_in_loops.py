# python: >=3.11
"""Tests that stand in one another in a loop, whose own rows alone tell of the indentation."""


def breaks(a, b, xs):
    for v, attr in xs:
        if attr - 1 > 0:
            if g(v, a):
                b[v] = 1
                break
    else:
        h(1)


def goes_on(a, b, xs):
    for v in xs:
        if a - 1 > 0:
            if g(b, a):
                b[v] = 1
        h(1)


def is_all(a, b, xs):
    for v in xs:
        if a - 1 > 0:
            if g(b, a):
                b[v] = 1


def joined(a, b, xs):
    for v in xs:
        if a - 1 > 0 and g(b, a):
            b[v] = 1
        h(1)


def returns(a, xs):
    while xs:
        if not xs.q:
            if g(a):
                h(2)
                return 5
        h(1)
