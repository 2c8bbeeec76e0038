# An endless loop begins with an `if` whose body, of several statements, never goes on: it is neither the loop's test nor its `else`.
def behind_cleanup(f, items, x):
    while True:
        if items:
            with f(items):
                x()
            raise ValueError(x)
        with f(x):
            x()
            break
    f.close()


def behind_loop(f, items, x):
    while True:
        if items:
            f(items)
            while f(x):
                x()
            raise ValueError(x)
        with f(x):
            x()
            break
    f.close()
