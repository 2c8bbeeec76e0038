def outer():
    x = 1

    def f(xs):
        l = [x for x in xs]

        def g():
            return x

        return l, g

    return f
