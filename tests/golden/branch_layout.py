# python: >=3.11
# Where branches stood, as columns tell it.
def f(a, b):
    if a:
        return 1
    else:
        b = 2
    print(b)


def g(a, b):
    if a:
        return 1
    elif b:
        return 2
    else:
        print(a)
        return 3


def h(a, b):
    if a:
        return 1
    if b:
        return 2
    print(a)
    return 3


def i(a, b):
    if a:
        if b:
            print(1)
    if not a:
        raise ValueError
    if not 0 <= a <= b:
        raise TypeError
    return a


def j(a):
    try:
        a()
    except ValueError:
        return None
    else:
        print(1)
    print(2)


def k(a):
    try:
        return a()
    except ValueError:
        return None


def l(a):
    if a:
        a()
    return


def continue_below_a_test(names, last):
    for name in names:
        if name[:3] == 'do_':
            if name == last:
                continue
            last = name


def return_in_loop(a):
    while True:
        a = a.b()
        if not a:
            return a
        a.c()


def break_to_return(a):
    while True:
        if not a.b():
            break
        a.c()
    return a.d()


def raise_in_loop(a, b):
    while True:
        if a and not b(a):
            raise TimeoutError
        b(0)


def break_in_handler(a, b):
    while True:
        try:
            a.b()
        except OSError:
            b.c()
            break
        if a > b:
            return a
    return b.d()
