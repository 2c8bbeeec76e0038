# Decorated classes and methods.
@decorator
class A:
    @staticmethod
    def s():
        pass

    @classmethod
    def c(cls):
        return cls

    @property
    def p(self):
        return self._p

    @p.setter
    def p(self, value):
        self._p = value
