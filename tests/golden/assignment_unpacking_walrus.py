# python: >=3.8
# A walrus in a value that is unpacked, and in a target of it.
x, y = (a := f()), g()
x, y = f(), (y := (z := g()))
x.v, x[0] = f(), (y := g())


def h():
    x, y = (z := b), a
    return x, y, z


def in_targets():
    e[(y := N)], y = f
    *e[(y := N)], y = f
    e[(y := N)], *y = f
    x, (e[(a := (b := g))].v, *y), e[a:(b := x.y)] = f
    return x, y, a, b


e[(y := N)], y = f
*e[(y := N)].v, y = f
e[(y := N)], *x = f
(x.v, e[(a := g())]), *y = f
