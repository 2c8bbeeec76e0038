# python: >=3.15
# Unpacking in comprehensions (PEP 798).
def f(a):
    x = [*y for y in a]
    x = {*y for y in a}
    x = {**y for y in a}
    return x
