# Comprehensions over variables of the function, and functions over variables of a comprehension.
def f(a, n):
    x = [y * n for y in a]
    x = [lambda: y for y in a]
    x = [[z + y + n for z in a] for y in a]
    x = {k: lambda v=v: v for k, v in a}
    return lambda: [n + y for y in x]
