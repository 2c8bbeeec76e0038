# Functions inside functions.
def f(a):
    def g(b):
        return b

    def h(c=a):
        return g(c)

    return [g, h]
