# Bitwise operators and shifts.
def f(a, b, c):
    x = a | b ^ c & a
    x = (a | b) ^ c
    x = a << b >> c
    x = a << (b >> c)
    x = a << b + c
    x = (a << b) + c
    return ~x
