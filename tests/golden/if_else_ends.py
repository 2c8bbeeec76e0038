# python: <3.10
# What jumps over an `else`, and code that nothing reaches, tell of the source: arms that never end, `pass`, the end of a function.
def vc(self, value):
    for key in self.m:
        v = self.m[key]
        if v is value or v == value:
            return True
    return False


def dst(self, dt):
    if isinstance(dt, datetime) or dt is None:
        return
    raise TypeError('a')


def cont(self, other):
    if self.v != other.v:
        return False
    if isinstance(other, N):
        return False
    return other._ip


def pas(value):
    if isinstance(value, str):
        pass
    elif not isinstance(value, list):
        value = list(value)
    return value


def le(self, other):
    if len(self) > len(other):
        return False
    for elem in self:
        if elem not in other:
            return False
    return True


def rel(self):
    if self.a:
        self.b()
    else:
        raise R('x')


def acc(self):
    a = self.b()
    if a == 1:
        return 2
    a.close()


def tr(a):
    if a < 0:
        return -a
    else:
        return a


def tr2(self, key):
    try:
        self[key]
    except KeyError:
        return False
    else:
        return True


def tr3(a):
    if a == 1:
        return 1
    if a == 2:
        x = a
        return x
    else:
        return 3


def ra(a):
    if a == 1:
        raise A
    elif a == 2:
        raise B
    else:
        raise C


def with_end(a):
    with a:
        if a:
            return 2
        return 3
