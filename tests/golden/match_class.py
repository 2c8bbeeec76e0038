# python: >=3.10
# Class patterns.
def f(a):
    match a:
        case int():
            return 1
        case str(x):
            return x
        case a.Point(x=0, y=y):
            return y
        case Point(x, y, z=1):
            return x, y
        case Point(x=Point(y=1)):
            return 2
