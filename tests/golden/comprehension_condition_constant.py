# python: >=3.8
# Conditions of comprehensions with arms whose truth the compiler knows.
class A:
    items = [i for i in (1, None) if i or True]


def f(fields, g):
    a = [x for x in fields if x or True]
    b = [x for x in fields if (y := g(x)) and (z := y)]
    return a, b
