# python: >=3.11, <3.13
# A walrus whose value is assigned: its name stands behind the target.
def f(u):
    x = (y := u)
    x.a = (y := [z for z in u])
    x = (y := (z := u + 1))
    a = b = (c := x)
    a = b = c = x
    return x, y, z
