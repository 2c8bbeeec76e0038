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


# Its own __class__ is another one than that of the class around.
class E:
    def m(self):
        class F(__class__):
            if False:
                __class__
            x = 1

            def m(self):
                return super()

        return F
