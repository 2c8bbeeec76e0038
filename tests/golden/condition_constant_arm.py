# python: >=3.11
# The constant arm of a conditional expression leaves a jump in its place.
class Body:
    if True if a else b:
        x = 1
    y = 2


try:
    if True if print() else print:
        a()
except ValueError:
    b()
