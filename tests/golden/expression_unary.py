# Unary operators.
def f(a):
    x = -a
    x = +a
    x = ~a
    x = not a
    x = --a
    x = -~a
    return x
