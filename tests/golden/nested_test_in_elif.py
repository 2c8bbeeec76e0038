# python: >=3.11
"""A test in an `elif` stands in it, or is joined with its test by `and`."""


def nested(a, x, y):
    if a:
        g(1)
    elif x:
        if y:
            g(2)
    h(3)


def joined(a, x, y):
    if a:
        g(1)
    elif x and y:
        g(2)
    h(3)


def negated(a, x, y):
    if a:
        g(1)
    elif not x:
        if not y:
            g(2)
    h(3)
