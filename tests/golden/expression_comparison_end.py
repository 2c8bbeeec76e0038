# Chained comparisons before `or` and `and`, and as part of a statement that ends a function.
def called(self):
    self.a(b.c == d.c == 1)


def printed(a):
    print(a.b or a.c)


def raised(a):
    raise ValueError(a.b and a.c)


def negated(value, a, b):
    if not ~a <= value <= a or value & (a ^ b):
        a()
    b()


def several(a):
    if not a.b < a.c < a.d or a.e:
        a()
    if a.b < a.c < a.d and a.e:
        a()
    while a.b < a.c < a.d < 5:
        a()
    return a.b < a.c < a.d and a.e


def three(low, x, high):
    x = x.draw(low)
    check(low < x.min() < x.max() < high)
