# with of several items, and with inside with.
def f(a, b):
    with a, b:
        print(1)
    with a as c, b as d:
        print(c, d)
    with a as c:
        print(c)
        with b as d:
            print(d)
