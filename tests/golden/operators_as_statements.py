# python: >=3.8
def last(self):
    self.a = 1
    self.b and self.c


def one_of_three(a, b, c):
    a or b or c()


def in_loop(items, f):
    for item in items:
        item and f(item)
    return items


def in_else(u, g):
    if u:
        s(u, g)
    else:
        g and s(g)
    if u and not o():
        k()


def walrus(a, b):
    a and (x := b())


def both(a, b, c):
    a and b or c()
    return a


class Body:
    a or b()


a and b()
c(a, b, c, d=1)
