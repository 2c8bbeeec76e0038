# A conditional expression whose statement ends a function: 3.10+ copies what follows the condition to both arms.
class A:
    def raised(self, text=None):
        if not self.seekable():
            raise OSError('not seekable' if text is None else text)

    def called(self, obj):
        if self.a >= 2:
            self.write(1 if obj else 2)
        else:
            self.write(3 if obj else 4)

    def argument(self, state):
        object.__setattr__(self, 'a', state['a'] if 'a' in state else B.b)


def call(a):
    return b(a) if c(a) else d(a)


def nested(a):
    f(g(1) if a else g(2))


def negative(a, b):
    return f(-a.x if a else -b.x)


def chained(c):
    return f(c) or 65 <= c <= 70 or 97 <= c <= 102


def in_loop(a):
    for b in a:
        if b is None:
            continue
        c = b.d
        return c if c else None
    return a.b


def constants_behind_the_arms(package, contents):
    if package.plain:
        return {'name': package.name(), 'state': 'here' if package.installed() else 'there'}
    return package.label(text=safe(contents), suffix='' if package.checked else None)


def constants_before_the_test(self):
    return {'plain': 'A', 'cased': 'B', 'virtual': 'C' if self.plain else None}
