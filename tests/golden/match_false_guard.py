# python: >=3.10
# Where a guard is constantly false, a pattern that matches leads on to the next case, too.
def f(a):
    match g(a):
        case [x] if False:
            pass
        case {}:
            g()
        case k if False:
            pass
        case A.b if a and False:
            pass
        case 's':
            h()
        case k if h() and False:
            pass
        case [y, 1]:
            h(y)
        case _:
            h(1)
    g(2)


match g(b):
    case [x, [1, *_]] if g() and False:
        pass
    case 1 | 2:
        g(x)
    case k if False:
        pass
    case P(x=1):
        g(k)
