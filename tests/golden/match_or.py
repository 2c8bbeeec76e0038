# python: >=3.10
# Or-patterns.
def f(a):
    match a:
        case 1 | 2 | 3:
            return 1
        case [1 | 2, x] | {'x': x}:
            return x
        case int() | str() as y:
            return y
        case None | False:
            return 2
