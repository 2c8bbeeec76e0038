# Variables of enclosing functions.
def outer(a, b=1):
    c = a

    def middle(d):
        def inner():
            return a, b, c, d

        return inner

    return middle


def counter():
    count = 0

    def increment(by=1):
        nonlocal count
        count += by
        return count

    return increment
