# python: >=3.12
# A comprehension has a variable of the name of a free variable, which nothing else reads or only a function inside.
def f(a, x):
    def g():
        nonlocal x
        return [x for x in a]

    return g


def h(b):
    def i(c):
        if False:
            b

        def j():
            return b

        return [b for b in c], j

    return i
