# python: ==3.14
# The first test of such a value stands in no row of 3.14's exception table.
def generator(a, b, c):
    x = (a and b) and c
    yield x


def clause(a, b, c):
    try:
        x = (a and b()) and c
    except E:
        x = 1
    return x


def final(a, b, c):
    try:
        return f((a or b or c) or a, a and b or c, not ((a and b) and c))
    finally:
        h()


def managed(a, b, c):
    with a:
        for i in (a or b) or c:
            return (i or b) or c
