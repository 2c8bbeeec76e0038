# global in functions and classes.
counter = 0


def f():
    global counter
    counter += 1
    return counter


def g():
    global created
    created = 1
    del created


class C:
    global flag
    flag = True
