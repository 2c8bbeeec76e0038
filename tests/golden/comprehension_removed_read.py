# python: >=3.12
# Code that the compiler removed reads a variable of a comprehension that is left.
def f(x):
    return [a if True else [None for u in ()] for a in x if {z for z in x} or True if True or z]


def g(x, z):
    return [{z for z in x} or 1 for a in x if True or z]


def h(x):
    z = x
    return [a for a in x if {z for z in x} or True if True or z], [z for z in x]


def i(x):
    return [a for a in x if {z: [y for y in z] or 1 for z in x} or True if True or z or y]


def j(x):
    return [a for a in x if {z: [y for y in z] or 1 for z in x if True or y}]


def k(x):
    return [a for a in x if {z for z in x} and z]


y = [a for a in x if {z for z in x} or True if True or z]
