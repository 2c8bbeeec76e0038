# python: >=3.10
# Tuples and expressions as subjects.
def f(a, b):
    match a, b:
        case [1, 2]:
            return 1
        case [x, None]:
            return x
    match a.method(b):
        case [x]:
            return x
    for a in b:
        match a:
            case 1:
                continue
            case 2:
                break
        print(a)
