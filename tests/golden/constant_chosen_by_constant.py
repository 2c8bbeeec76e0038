# An operation on constants that the compiler does not fold, since a constant chooses the one.
# if >=3.14
def concatenated(x):
    return 'a' + ('z' if True else None)


# end
# if >=3.10
def item(x):
    return 'abc'[1 if True else None]


# end
def number(x):
    return x + 1
