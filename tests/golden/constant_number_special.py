# Values that no literal has: nan, signed zeros of complex numbers, and an int beyond CPython's limit of decimal digits.
def f():
    x = 1e309 - 1e309
    x = -(1e309 - 1e309)
    x = -(0 - 3j)
    x = -2j
    return x
