"""What the columns of other indentations than four tell."""


def ends_in_a_loop(xs, g):
    for x in xs:
        if x.a:
            g(1)
        else:
            g(2)


def skips(xs, g):
    for x in xs:
        try:
            g(x)
        except ValueError:
            continue
        g(3)


def nested(a, xs):
    for x in xs:
        if x.a:
            if a.get(x):
                a[x] = 1


def joined(a, xs):
    for x in xs:
        if x.a and a.get(x):
            a[x] = 1


class Holder:
    def nested(self, a):
        for x in self.all:
            if x > 1:
                if a.b:
                    return x
