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


def made(b):
    match [x + 1 for x in b if x]:
        case [1, x]:
            return x
        case [2]:
            print(b)
    match {x: b for x in b}:
        case [x]:
            return x
