# python: >=3.12
# A target on a row above the comprehension is stored behind the variables that it hid, else before.
def above(a, b):
    found = (
        [(key, b) for key in a]
    )
    for key in found:
        print(key)


def above_all_kinds(a):
    names = (
        {key for key, value in a}
    )
    values = (
        {key: value for key, value in a if value}
    )
    return names, values


def beside(a, b):
    found = [(key, b) for key in a]
    for key in found:
        print(key)


def own_variable(key):
    key = [key for key in key]
    return key


def copied(a):
    first = second = [key for key in a]
    return first, second
