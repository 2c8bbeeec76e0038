# python: >=3.10
# An operand that a constant chooses: the compiler leaves the operation on constants alone.
def f(y):
    return not (0j if True else None)


x = ~(5 if True else None)
x = -(2.5 if True else None)
x = 1 + (5 if True else None)
x = not ('' if True else None)
