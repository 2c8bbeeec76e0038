# What endless loops consist of: a loop, a `try` with `else`, what stands behind a `finally`.
def loop(f):
    while True:
        while f():
            f(1)


def behind(f, g):
    try:
        f()
    finally:
        g()
    while True:
        pass


def clauses(f, x):
    while True:
        try:
            if f():
                continue
        except ValueError:
            x(1)
        else:
            x(2)
        return x
