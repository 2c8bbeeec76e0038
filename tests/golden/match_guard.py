# python: >=3.10
# Guards.
def f(a, b):
    match a:
        case [x, y] if x == y:
            return x
        case int() if b and a > 1:
            return 1
        case _ if b:
            return 2
        case _:
            return 3
