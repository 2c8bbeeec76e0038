# with inside loops.
def f(a):
    for x in a:
        with x as y:
            if y:
                continue
            if y is None:
                break
            print(y)
    while True:
        with a:
            if a():
                return a
