# python: >=3.10
# A guard that never holds: the compiler drops the body.
def f(x):
    match x:
        case 0 if False:
            pass
        case [1] if False:
            pass
        case 0:
            print(x)


def g(x):
    while True:
        match x:
            case []:
                pass


def h(x):
    try:
        f(x)
    finally:
        match x:
            case 0:
                pass
            case [1]:
                pass
