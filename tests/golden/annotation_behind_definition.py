# An annotation right behind what defines or imports its name is a statement of its own.
import y

y: int
from a import z

z: int


def f():
    pass


f: int


# if <3.14
@d
class g:
    import a.b as y
    y: int

    def f():
        pass

    f: int

    class g:
        pass

    g: int
    x: int = lambda: 1


# end
