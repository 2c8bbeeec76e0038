# What follows a `with` in one branch, where the other branch ends in a statement of its own.
def behind_with(c, make):
    if c:
        with make() as r:
            if r.ok:
                r.close()
        n = 1
    else:
        n = 2
    return n


def several_ways(c, make):
    if c == 1:
        with make() as r:
            if r.ok:
                r.close()
        n = 1
    elif c == 2:
        with make() as r:
            if r.ok:
                r.open()
        n = 3
    else:
        n = 2
    return n


def nothing_beside(c, make):
    n = 0
    if c:
        with make() as r:
            if r.ok:
                r.close()
        n = 1
    return n


def behind_finally(c, make):
    if c:
        try:
            make()
        finally:
            if c.ok:
                c.close()
        n = 1
    else:
        n = 2
    return n


def two_statements(c, make):
    if c:
        with make() as r:
            if r.ok:
                r.close()
        n = c
        m = 1
    else:
        n = c.n
        m = 2
    return n, m
