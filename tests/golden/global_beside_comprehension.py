# python: >=3.12
# A variable of a comprehension hides no global from a function inside, so none is declared.
n = 1


def f(x):
    def g():
        return n

    return [n for n in (x, g)]


n = 2


def h(x):
    def i():
        global x
        return x

    return i


m = [x for o in ()]
