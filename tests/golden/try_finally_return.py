# return and break inside finally override what was under way.
def f(a):
    try:
        a()
    finally:
        return 1


def g(a):
    while True:
        try:
            a()
        finally:
            break
    return a
