# python: >=3.12
# Type parameters of classes.
class A[T]:
    x: T


class B[T: int, *Ts, **P](A[T]):
    def m(self, a: T) -> T:
        return a


@decorator
class C[T](A[T], metaclass=type):
    pass
