# List comprehensions.
def f(a, b):
    x = [y for y in a]
    x = [y + 1 for y in a if y]
    x = [y for y in a if y and y > 1]
    x = [y for y in a if y and y > 1 or not y]
    x = [(y, z) for y in a for z in b]
    x = [(y, z) for y in a if y for z in y if z]
    x = [[z for z in y] for y in a]
    x = [y for y, z in a]
    x = [y for y, (z, *w) in a]
    x = [y if y else z for y in a for z in b]
    x = [f(y) for y in [z for z in a]]
    return x
