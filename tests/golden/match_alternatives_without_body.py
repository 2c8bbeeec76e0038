# python: >=3.10
# A last case of alternatives that does nothing, and code that follows the statement.
def f(v):
    match v:
        case int() | str():
            pass
    y = 2
    return v(y)


def g(v):
    for x in v:
        match x:
            case 1 | 2:
                continue
            case [y] | (3 as y):
                pass
        v(x)


class A:
    match 5:
        case int() | str():
            pass
    x = 3
