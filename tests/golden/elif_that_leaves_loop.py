# python: >=3.11
# The columns of `break` and `continue` tell where an `elif` stood, and a `return` out of a `with`
# has the row of that.
def continues(xs, f):
    for x in xs:
        if x < 1:
            f()
        elif x > 5:
            continue
        else:
            f(x)
        f(2)


def breaks(xs, f):
    while xs:
        if x < 1:
            f()
        elif x > 5:
            break
        else:
            f(x)
        f(2)


def in_else(xs, f):
    while xs:
        if x < 1:
            f()
        else:
            if x > 5:
                break
            f(x)
        f(2)


def returns_from_with(manager, xs):
    for x in xs:
        with manager:
            try:
                x()
            except KeyError:
                break
            else:
                if x.done:
                    return x
            finally:
                x.close()
