# Set and dictionary comprehensions.
def f(a, b):
    x = {y for y in a}
    x = {y for y in a if y not in b}
    x = {y: z for y, z in a}
    x = {y: b[y] for y in a if y in b}
    x = {y: {z for z in y} for y in a}
    x = {(y, z): [y, z] for y in a for z in b}
    return x
