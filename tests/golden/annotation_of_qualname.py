# The compiler's own `__qualname__ = …` is no value of the annotation.
class A:
    __qualname__: str
    b: int
