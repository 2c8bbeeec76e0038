# python: >=3.11
# Constants that handlers return.
def f(a):
    try:
        return a.x
    except KeyError:
        return 0, 0


def g(a):
    if a:
        try:
            return a.x
        except ValueError:
            return -1
    return -1


def h(a):
    try:
        return a.x
    except KeyError:
        try:
            b = a.y
        except OSError:
            return 25, 80
        if not b:
            return 25, 80
        return b


def i(a):
    try:
        a.x
    except KeyError:
        pass
    return -1
