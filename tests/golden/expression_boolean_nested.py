# and, or in parentheses that tell, as values and before a shared end.
def f(self):
    return self.a(not self.b and (self.c > 0 if self.d else self.e < 0))


def g(self):
    # if >=3.12,<3.14
    x = (self.a and self.b) and self.c
    return self.a or (self.b or self.c) or x
    # end
    # if <3.12
    return self.a or self.b or self.c
    # end
    # if >=3.14
    return self.a or self.b or self.c
    # end


def h(a):
    for i in range(a.size):
        if not 0.0 <= a[i] <= 1.0:
            return False
        n = a.b[i]
        if a[i] is n is not None:
            a.c()
    return True


def names(a, b):
    if 1 < a.b(b) < b:
        yield a


def loop(a, x):
    for i in a:
        act = a[i]
        if x:
            while any(h(t) for t in act):
                act = {x * t for t in act}
        x.u(act)


def text(self):
    return f"a({self.b} {len(self.c)}{', frozen' if self.d else ''})"


# if >=3.10
def tested(a):
    if (1 / a <= 1) is True:
        assert False, 'always'
    a.b()
# end
