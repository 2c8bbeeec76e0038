# python: >=3.10
def a1(node):
    match node:
        case A(x=t, y=(T() | L() as value)):
            b(value, t)


def a2(node):
    match node:
        case A(x=(T() as t), y=(1 | 2 as value)):
            b(value, t)


def a3(node):
    match node:
        case [t, (1 | 2 as value)]:
            b(value, t)


def a4(node):
    match node:
        case [t, 1 | 2]:
            b(t)


def a5(node):
    match node:
        case [t, T() | L()]:
            b(t)


def a6(node):
    match node:
        case [(T() as t), 1 | 2]:
            b(t)


def a7(node):
    match node:
        case [(T() | L() as value), t]:
            b(t)
