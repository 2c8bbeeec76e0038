# python: >=3.11
def choose(a, b):
    try:
        a()
    except KeyError if b else ():
        b()


def either(a, b):
    try:
        a()
    except KeyError:
        return 1
    except b or ValueError as error:
        b(error)
    return 2


def nested(a, m, n):
    try:
        a()
    except n.E if m or n else ():
        if m:
            try:
                n.c(m)
            except n.E:
                raise ValueError('m') from None
        raise


def part_of_the_type(a):
    try:
        yield a
    except a.errors + ((found,) if (found := a.error()) is not None else ()):
        pass
