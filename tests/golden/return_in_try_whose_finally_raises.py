# behind the copy of `finally` nothing returns: the value stays on the stack
def generator(a, b):
    try:
        yield a
        return b
    finally:
        raise a


def call(a, b):
    try:
        a()
        return a(b)
    finally:
        raise a


def in_with(a, b):
    try:
        with a:
            return b.c
    finally:
        raise a


def in_handlers(a, b):
    try:
        try:
            a()
        except KeyError:
            return b.c
        except ValueError as f:
            return f
        a(b)
    finally:
        raise a


def in_a_loop(a, b):
    try:
        for c in a:
            if c:
                return c.d
        b()
    finally:
        b = 2
        raise a
