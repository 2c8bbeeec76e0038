# python: >=3.14
# `if not x in y` tests `x in y`.
def f(a, b):
    if not a in b:
        return 1
    if a not in b:
        return 2
    while not a is b and a not in b:
        a += 1
    return a
