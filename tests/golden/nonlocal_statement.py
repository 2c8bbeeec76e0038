# nonlocal, over one and over several levels.
def f():
    x = 0

    def g():
        nonlocal x
        x += 1
        return x

    def h():
        def i():
            nonlocal x
            del x

        return i

    return g, h
