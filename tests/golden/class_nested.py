# Classes inside classes and functions.
class A:
    class B:
        x = 1

        def m(self):
            return A.B


def f(a):
    class C(a):
        x = a

        def m(self):
            return C, a

    return C
