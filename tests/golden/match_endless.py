# python: >=3.10
# A match that an endless loop begins with, whose first case goes round.
def first(f, g):
    while True:
        match f():
            case 1:
                continue
            case [x]:
                g(x)
        f(g)
        return g
