# python: >=3.10
# A starred display beside keywords that branch.
def conditional(f, x, y):
    return f(*('s', x), k=1 if y else 2)


def equal(f, x, y):
    y = f(*(x, y), k='s' if y else 's')
    return y
