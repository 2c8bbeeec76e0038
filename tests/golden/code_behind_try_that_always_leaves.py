# python: <3.9
def behind(test):
    try:
        test_id = test.id
    except AttributeError:
        return str(test)
    try:
        return test_id()
    except TypeError:
        return str(test_id)
    return repr(test)


def both_arms(a, b):
    try:
        if a:
            for d in a:
                if d:
                    b = d
            return b
        return a(b)
    except KeyboardInterrupt:
        if b:
            print(1)
        return False
    return True


def in_a_loop(a):
    while a:
        try:
            return a.b
        except KeyError:
            return a.c
        a.x()
    a.y()


def nested(a):
    try:
        try:
            return a.b
        except KeyError:
            return a.c
        a.x()
    except ValueError:
        return a.d
    a.y()


def constant(a):
    try:
        a.x()
        return 1
    except KeyError:
        return 2
    a.y()


def nothing_there(a):
    try:
        return a.b
    except KeyError:
        return a.c


def definition(a):
    try:
        return a.b
    except KeyError:
        return a.c

    def f(b):
        return b

    return f(a)
