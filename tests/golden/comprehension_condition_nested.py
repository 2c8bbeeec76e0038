# What a comprehension leaves out is the negation of its condition.
def f(y, a, b, c):
    return [x for x in y if not a or b and c]


def g(y, a, b, c):
    return [x for x in y if x and (not a or b and c)]


def h(y, a, b, c):
    return [x for x in y if x and (a and not b or c)]
