# `break` out of a `with`: what stands behind the loop cannot stand in the `if`, which the `with` protects.
def first(f, items, x):
    while True:
        with f(x):
            if items.more:
                break
            f(items)
    f.close()


def last(f, items, x):
    while True:
        with f(x):
            x()
            if items.more:
                break
    f.close()


def more(f, items, x):
    while True:
        with f:
            x()
            if items.more:
                break
            f(items)
        x.next()
    f.close()
