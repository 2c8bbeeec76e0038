# with statements that protect nothing.
def f(self):
    with a(b=1):
        pass


def g(self):
    with a(b=1) as c:
        pass
    self.d(c)
    return 5


def h(self):
    with a(b=1):
        with a.b:
            pass
        with a.c:
            pass
    while self:
        with a.d:
            break
