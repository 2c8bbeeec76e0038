# python: >=3.12
# Without the declaration the comprehension would have the class's own cell, or CPython compile it not at all.
def f(a):
    __class__ = 1

    class C:
        nonlocal __class__
        x = [__class__ for _ in (1,)]

    return C.x


# if ==3.12
def g(a):
    __classdict__ = 1

    class C:
        nonlocal __classdict__
        x = {__classdict__ for _ in (1,)}

    return C.x


# end
# if >=3.14
def g(a):
    __classdict__ = 1

    class C:
        nonlocal __classdict__
        x = {__classdict__ for _ in (1,)}

    return C.x


# end
def h(a):
    __class__ = 1

    class C:
        x = [__class__ for _ in (1,)]

        def f(self):
            return __class__

        y = __class__

    return C.x
