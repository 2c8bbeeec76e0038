# A test in an arm of a conditional expression decides what is tested behind it, too.
def f(q, x, y, z, w):
    return (x if q else z and y) or w


def g(q, x, y, z, w):
    v = (x if q else z or y) and w
    u = (z and y if q else x and w) or (w if x else y and x)
    return g(v, u, (x if q else z and (y or x)) or w)


def h(q, x, y, z, w):
    u = ((x if q else z and y) if w else y and z) or w
    return (x if q else z and y) and w or u


def loop(q, x, y, z, w):
    for x in y:
        x.y = ((x if q else z and y) or w) and u


# if <3.13
if h:
    (a if q else b and x) and (c or d)
else:
    g
# end
