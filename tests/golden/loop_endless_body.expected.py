def loop(f):
    while True:
# if <=3.7
        while f():
# end
# if >=3.8
        if f():
# end
            f(1)


def behind(f, g):
    try:
        f()
    finally:
        g()
    while True:
        pass


# if <=3.9
def clauses(f, x):
    while True:
        try:
            if f():
                continue
        except ValueError:
            x(1)
        else:
            x(2)
        return x
# end
# if >=3.10
def clauses(f, x):
    while True:
        try:
            if f():
                continue
        except ValueError:
            x(1)
            break
        x(2)
        break
    return x
# end
