# Lambdas over variables of the function around them.
def f(a):
    b = a + 1
    g = lambda x: x + a + b
    return [lambda: b, g]
