# The compiler copies what follows the condition to both arms, and from 3.14 on folds one of the copies.
def times(a):
    return (0.5 if a else 1.0) * 3.0


def third(a):
    return (0.1 if a else 0.7) / 3


def power(a):
    return (0.5 if a else 1.5) ** 3.0


def minus(a):
    return -(1j if a else 2.0)


def inverse(a):
    return not (1.5 if a else 'a')


def text(a):
    return ('GET' if a else 'POST') + ' /'


def octets(a):
    return (b'q r' if a else b'') + b's'


def items(a):
    return ((1, 2) if a else ()) + (3,)


def seconds(a):
    return (60 if a else 24) * 60


def stored(a):
    x = +(3.5 if a else 1.5)


def called(a):
    a.b = -(2.5 if a else 1.5)
