# python: >=3.8
# From 3.13 on no element of the unpacked value is stored, and the local once.
def f(a):
    b, b = b = a
    b, *b = b = a()
    return b
