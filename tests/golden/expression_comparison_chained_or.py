# Chained comparisons as last operand of `and` and `or`, before a return that is copied.
def f(c):
    return 0 <= c <= 1 or 2 <= c <= 3


def g(c, d):
    return d or 0 <= c <= 1 or 2 <= c <= 3 or 4 < c < 5


def h(c, d):
    return d and 0 <= c <= 1 and 2 <= c <= 3


def i(c, d):
    x = d or 0 <= c <= 1 or 2 <= c <= 3
    return x
