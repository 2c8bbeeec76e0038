def f(names):
    def g():
        return name, other

    def h(other=None):
        return [(name, g()) for name in names if name]

    return [g() for name, other in names], {name: h for name in names}
