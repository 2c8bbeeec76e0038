# `break` leads out of a `try` with handlers, in a loop that no way goes round again
def empty_handler(p):
    while p:
        try:
            if p.x:
                break
        except Exception as e:
            pass
        p.y()
        break
    return p


def returns_behind(p, g):
    while p:
        try:
            g()
            if p.x:
                break
        except KeyError:
            g()
        g()
        return 1
    return p


def test_before(p, g):
    while p:
        if g.a:
            g.b()
        try:
            if g():
                break
        except KeyError:
            pass
        g.y()
        return g()
    g.w()
    return p


def in_try(p, g):
    try:
        while p:
            try:
                if g():
                    break
                g.x()
            except KeyError:
                g.z()
            raise p
        g.y()
    except OSError:
        g.w()
    return p


def in_loop(p, g):
    for i in p:
        if i:
            while True:
                try:
                    if g():
                        break
                except KeyError:
                    pass
                g.z()
                return g
        g.y()
    g.w()


def of_the_loop_around(p, g):
    while True:
        if p:
            try:
                if g():
                    break
            except KeyError:
                pass
        g.z()
    g.y()
