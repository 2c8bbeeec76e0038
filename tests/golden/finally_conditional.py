# A conditional expression at the end of a finally: its store is copied with what follows.
def h(x):
    if x.a():
        try:
            x.b()
            if x.y:
                return 2
        finally:
            y = 7 if x.c() else x.d()
        x.e()
    x.f()


def i(x):
    try:
        if x.a():
            try:
                x.b()
                if x.y:
                    return 2
            finally:
                y = 7 if x.c() else x.d()
            x.e()
    except E2:
        x.q()
    x.f()


def l(x, n):
    try:
        with x:
            if x.y:
                return n
            x.b()
        x.c()
        raise E
    finally:
        z = x[1 if x.d else x.e]


def m(x, n):
    try:
        if x.y:
            return n
        x.b()
        raise E
    finally:
        z = x[1 if x.d else x.e]
