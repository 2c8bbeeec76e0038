# python: >=3.8, <3.10
# No constant is folded in a walrus.
def f(u):
    x = (y := [z for z in [1, 2]])
    x = y = (z := 1 + 2)
    x = (y := u in [1, 2])
    x = (y := -1e309)
    x = y = (z := u not in +2j)
    return x, y, z
