# python: >=3.10
# The first cases match anything and have a guard: no test tells of the subject.
def f(x):
    match x:
        case z if not x:
            y = 0
        case z:
            y = 1
    print(y, z)


def g(x):
    z = None
    match x:
        case _ if not x:
            y = 0
        case z if x > 1:
            y = 1
    print(y, z)


def h(x):
    match x:
        case _ if x:
            print(1)
        case _ if g(x) or x and f(x):
            print(2)
        case P():
            print(3)


def i(x):
    match w := f(x):
        case b if x:
            print(b)
        case 0:
            print(w)


def j(x):
    for y in x:
        match y:
            case {} if f(x) or g(x):
                pass
            case 0:
                print(x)
        print(y)
