# python: >=3.10
# Sequence patterns.
def f(a):
    match a:
        case []:
            return 0
        case [1]:
            return 1
        case [x]:
            return x
        case [x, y]:
            return x, y
        case [1, x, _]:
            return x
        case [x, *rest]:
            return rest
        case [*_, x]:
            return x
        case [x, *_, y]:
            return x, y
