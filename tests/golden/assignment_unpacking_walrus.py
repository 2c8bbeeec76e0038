# python: >=3.8
# A walrus in a value that is unpacked.
x, y = (a := f()), g()
x, y = f(), (y := (z := g()))
x.v, x[0] = f(), (y := g())


def h():
    x, y = (z := b), a
    return x, y, z
