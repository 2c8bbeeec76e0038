# python: >=3.12
# A conditional expression whose arms are the same constant.
def argument(p, q):
    p('s' if q else 's')
    return p(1, 's' if q else 's', *p)


def keyword(p, q):
    return p(k='s' if q else 's')


def raised(p):
    raise E('a', 1 if p else 1)


def message(p, q):
    assert p, 's' if q else 's'
    q()
