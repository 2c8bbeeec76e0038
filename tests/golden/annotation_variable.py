# Annotated variables in modules, classes and functions.
x: int = 1
y: str
z: 'list[int]' = []


class C:
    a: int = 1
    b: str
    c: 'C' = None


def f(a):
    b: int = a
    a.x: int = b
    return b
