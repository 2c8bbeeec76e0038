def tabs(a):
    g(a)
    return None


def two(a):
    g(a)
    return None
