# Loops that every way through the body leaves, and what stands in them or behind them.
def tried(items, f):
    for x in items():
        if f():
            f(x)
        break
    try:
        f(items)
    except ValueError:
        f(x)
    f.close()


def otherwise(items, f):
    try:
        for x in items():
            break
    except ValueError:
        f(items)
    else:
        return x
    f(f)


def first(items, f):
    if f(1):
        for x in items():
            f(x)
        else:
            return f(2)
    f(3)
    return f(4)
