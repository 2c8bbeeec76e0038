# x if c else y, nested and with boolean conditions.
def f(a, b, c):
    x = a if b else c
    x = a if b and c else c
    x = a if b or c else c
    x = (a if b else c) + 1
    x = a if b else b if c else a
    x = g(a if b else c, key=a if c else b)
    x = [a if b else c for a in x]
    return c if b else a
