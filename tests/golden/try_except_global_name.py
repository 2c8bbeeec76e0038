# The name of a handler is a variable like any other.
def a():
    global n
    try:
        g()
    except ZeroDivisionError as n:
        value = n
    g(1)
    g(2)
    return 3


def b():
    n = 0

    def inner():
        nonlocal n
        try:
            g()
        except (ZeroDivisionError, KeyError) as n:
            value = n
        g(1)
        g(2)
        return 3

    return inner
