# python: >=3.8
# A named expression as a statement of its own, and for the variable of an outer function.
(m := 1)


class A:
    (k := 2)
    (z := (y := k))


def f(x):
    (a := 10)
    (z := (y := (x := 0)))
    (b := x.y())
    d = c = x.e()
    for i in x:
        (j := i)
    yield (h := 1)
    (o := (yield 1))
    return (w := 1)


def g(b):
    [(l := t) for t in b]
    return lambda: l
