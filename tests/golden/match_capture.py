# python: >=3.10
# Capture patterns, with and without guards.
def f(a):
    match a:
        case 1 as x:
            return x
        case x if x > 5:
            return x + 1
        case y:
            return y
