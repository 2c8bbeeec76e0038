# A for loop that never comes around makes its iterator in the block that an endless loop begins with.
def f(x, n):
    while True:
        for a in n:
            break
        if x.y:
            x.c()
            y = a


def g(x, n):
    while True:
        for a in n:
            x.b()
            break
        else:
            x.d()
        with x:
            x.c()
