# python: >=3.12
# The same for definitions that have type parameters, and for the parameters.
class F:
    type _F__A = int
    type __B[_F__T] = __T

    def _F__method[_F__T, __U](self, x):
        return x

    class _F__C[_F__V]:
        pass
