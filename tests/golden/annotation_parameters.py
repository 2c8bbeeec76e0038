# Annotations of parameters and results.
def f(a: int, b: str = 'x', *args: tuple, c: bool = True, **kwargs: dict) -> None:
    pass


def g(a, b: int, c: int = 1) -> 'list[int]':
    return [a, b, c]


class C:
    def m(self, a: int) -> 'C':
        return self
