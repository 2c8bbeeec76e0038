# What is raised, or its cause, is a chain of comparisons or decides between values: the compiler copies the raise.
def f(q, a, b):
    raise q < a < b


def g(q, a, b):
    raise q from q < a < b


def h(q, a, b):
    raise q < a < b from q


def i(q, a):
    raise q or a


def j(q, a):
    raise q(a) and a


def k(q, a, b):
    if a:
        raise q < a < b < q
    raise q if b else a
