# python: <3.10
# `break` where a chain of comparisons fails: up to 3.9 its two ways out are threaded through it.
def broken(a, p):
    while p < 9:
        if not '0' <= a[p] <= '9':
            break
        p += 1
    return p


def broken_in_for(a, p):
    for i in a:
        if not 0 <= i <= p:
            break
        p += 1
    return p


def broken_where_true(a, p):
    for i in a:
        if 0 <= i <= p:
            break
        p += 1
    return p


def in_inner_loop(a, p):
    for i in a:
        while i < p:
            if not 0 <= a[p] <= 9:
                break
            i += 1
        p += 1
    return p


def with_else(a, p):
    while p < 9:
        if not 0 < p < 7:
            break
        p += 1
    else:
        return 0
    return p
