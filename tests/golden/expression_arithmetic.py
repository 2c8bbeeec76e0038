# Binary arithmetic, with parentheses only where precedence asks for them.
def f(a, b, c):
    x = a + b * c
    x = (a + b) * c
    x = a - b - c
    x = a - (b - c)
    x = a / b // c % a
    x = a ** b ** c
    x = (a ** b) ** c
    x = (-a) ** b
    x = -a ** b
    x = a ** -b
    x = a @ b
    return x
