# python: >=3.11
# On one row two or three locals are stored from the last to the first, on rows of their own as they stand.
def two(a, b):
    (
        a,
        b,
    ) = b, a
    return a, b


def three(a, b, c):
    (
        a,
        b,
        c,
    ) = c, a, b
    return a, b, c


def one_row(a, b):
    a, b = b, a
    return a, b


def in_handler(a, b):
    try:
        (
            a,
            b,
        ) = b, a
    except ValueError as e:
        (
            a,
            e,
        ) = e, a
    return a, b


def captured(a, b):
    def inner():
        return a

    a, b = b, a
    return inner


def attributes(self, a, b):
    self.a, self.b, c = a, b, 1
    return c
