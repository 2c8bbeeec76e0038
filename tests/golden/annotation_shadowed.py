# What is annotated need not be a variable's name, and may be defined as something else later.
class M(type):
    __annotations__['123'] = 123
    __annotations__['if'] = 123
    o: type = object


class D:
    shadowed: a[int]
    _shadowed: int = field(init=False)
    method: Callable
    kind: type
    key: Callable = lambda: 0
    made: int = wrap(1)

    @property
    def shadowed(self):
        return self._shadowed * 3

    def method(self):
        pass

    class kind:
        pass
