# The type of an `except` clause is a chain of comparisons.
def f(q, a, b, w):
    try:
        q()
    except w < a < b as e:
        pass


def g(q, a, b, w):
    try:
        q()
    except w:
        a()
    except w < a() < b:
        b()
    except w in a in b or (q if b else a):
        q()
