# Displays with * and **.
def f(a, b, c):
    x = [*a]
    x = [*a, b]
    x = [a, *b, c, *c]
    x = {*a, b}
    x = (*a, b)
    x = (a, *b)
    x = (*a,)
    x = {**a}
    x = {**a, 'k': b}
    x = {'k': a, **b, 'l': c}
    x = {1: a, 2: b, **c}
    return x
