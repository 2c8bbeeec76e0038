# Two statements of one body that are alike, in the same columns of different rows, are no copies of each other.


def stores(c):
    try:
        c.x()
    except KeyError:
        c.y()
    finally:
        if not c.i:
            c.c = None
        elif not c.s and not c.q:
            c.c = None


def calls(c):
    try:
        c.x()
    finally:
        if c.i:
            c.z()
            c.end()
        elif not c.s:
            c.end()
