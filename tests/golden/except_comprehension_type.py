# From 3.12 on the comprehension's loop is part of the handler, before its first test.
def f(b):
    try:
        g()
    except tuple([E for E in b]) as y:
        h(y)
    except A:
        k()


def j(b):
    while b:
        try:
            g()
        except (A, *[E for E in b if E]):
            break
        finally:
            k()


try:
    g()
except tuple([E for E in b if E]):
    h(y)
