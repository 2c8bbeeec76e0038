# A conditional expression that is returned from a try in a handler.
def f(value, a, b):
    try:
        return g(value)
    except TypeError:
        try:
            return a if len(value) == 1 else b
        except TypeError:
            return g(a)
