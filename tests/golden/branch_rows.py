# python: >=3.10
# A row without code before the end tells of `else:`, and then of `elif`.
def chain(a):
    if a.kind == 1:
        return a.first()
    elif a.kind == 2:
        return a.second()
    elif a.kind == 3:
        return a.third()
    else:
        return a.rest()


def chain_that_fails(a):
    if a.kind == 1:
        return a.first()
    elif a.kind == 2:
        return a.second()
    else:
        raise ValueError(a)


def two(a):
    if a:
        return a.first()
    else:
        return a.rest()


def two_errors(a):
    if a:
        raise KeyError(a)
    else:
        raise ValueError(a)


def check(a):
    if not a:
        raise ValueError(a)

    return a.rest()


def guard(a):
    if a is None:
        return False

    return a.rest()


def guards(a):
    if a.kind == 1:
        return a.first()
    if a.kind == 2:
        return a.second()
    return a.rest()


def end_of_function(a):
    if a:
        a.first()
        a.second()
    else:
        raise ValueError(a)
