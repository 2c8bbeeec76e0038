# super() and __class__.
class A(B):
    def __init__(self, a):
        super().__init__(a)
        self.a = super().x

    def m(self):
        return __class__

    def n(self):
        return super(A, self).n()

    def o(self):
        def inner():
            return super(A, self)

        return inner
