# Numbers of every kind.
def f():
    x = 0
    x = 1
    x = -1
    x = 255
    x = 256
    x = 100000000000000000000
    x = -9223372036854775809
    x = 1.0
    x = -1.0
    x = 0.1
    x = -0.0
    x = 1e+16
    x = 1e-05
    x = 5e-324
    x = 1e309
    x = -1e309
    x = 1j
    x = 1.5j
    x = 1 + 2j
    x = 1 - 2j
    x = -1 + 2j
    x = 1.5 - 2.5j
    return x
