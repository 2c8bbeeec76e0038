# A starred display of constants beside keywords that branch.
def operands(g, a, b):
    return g(*(None, 's'), k=a and b)


def conditional(g, a, b, c):
    g(*('a', 'b'), k=b if a else c)


def chain(g, a, b, c):
    if g(*(None, 's'), k=a < b < c):
        return
    g()


def several(g, a, b, c):
    return g(*('a', 'b'), k=b, j=c or a)
