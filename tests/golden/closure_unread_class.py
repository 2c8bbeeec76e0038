# The body of a class keeps free variables that nothing in it reads.
def f(a, b):
    class C:
        if False:
            a
        x = 1

    class D:
        if False:
            lambda: b
        b = 2

    return C, D
