# python: >=3.11
# `continue` on the line of its `if`: the columns of the jump tell of it.
def before_with(xs, g):
    for x in xs:
        if x is None: continue
        with g(x) as y:
            y.go()


def before_return(xs):
    while xs:
        x = xs.pop()
        if x: continue
        return x


def before_break(xs, f):
    for x in xs:
        if not x: continue
        if x > 3: break
        f(x)


def two_calls(xs, f):
    for x in xs:
        if not x: continue
        f(x)
        f(x, 1)


def nested(xs, f):
    for x in xs:
        if x in f: continue
        for y in x:
            if y is None: continue
            if y: return y


def guards(xs, f):
    for x in xs:
        if x is None: continue
        if x.a: continue
        if not x.b: continue
        y = f(x)
        yield y


def before_elif(xs, f):
    for x in xs:
        if x < 1: continue
        elif x > 5: break
        f(x)


def before_else(xs, f):
    for x in xs:
        if x < 1: continue
        if x > 5: f(x)
        else: f(x, 1)


def at_the_end(xs, f):
    for x in xs:
        f(x)
        if x.abcdef: f(x)


def names_as_wide(xs, abcdefgh):
    for x in xs:
        if x and abcdefgh:
            x(abcdefgh)
