# Class bodies.
class A:
    pass


class B:
    x = 1
    y = x + 1

    def m(self):
        return self.x

    def n(self, a=x):
        return a


class D(A, B):
    z = [1, 2]
