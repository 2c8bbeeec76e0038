# A `return` of a constant in a `with` or a `try` may have the row of what runs at the exit.
def in_with_below_finally(m, c, a):
    try:
        with m(5):
            if c(1):
                a(13)
                return True
            return a(18)
    finally:
        a(39)


def raise_behind(m, c, a, E):
    try:
        try:
            if c(1):
                a(13)
                return True
            raise E
        except E:
            a(1)
        a(2)
    finally:
        a(39)


def in_loop(m, c, a):
    for x in m:
        try:
            with m(5):
                if c(x):
                    a(13)
                    return 7
                a(18)
        finally:
            a(39)
