# python: >=3.10
# A conditional expression as the condition of a comprehension, one arm of which is true.
class A:
    items = [i for i in (1, None) if (True if i is None else i)]


def f(fields):
    return {x: 1 for x in fields if (True if x is None else x > 1)}


def g(fields):
    return sum(x for x in fields if (True if x is None else x > 1))


result = [x for x in A.items if (True if x is None else x)]
