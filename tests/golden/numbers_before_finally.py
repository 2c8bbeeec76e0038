# python: >=3.11
"""A constant that is returned has the place of the end of the `finally`, which is as wide."""


def returned(g, h):
    try:
        if g():
            return 255
        if g():
            return 10
    finally:
        h(1)
