# A class may declare what the compiler stores in it, and bind what later compilers store.
def f():
    __class__ = 3
    __module__ = 1
    __qualname__ = 4

    class A:
        nonlocal __class__
        __class__ = 42

        def g():
            return __class__

    class B:
        nonlocal __module__, __qualname__
        __qualname__ = 3

    class C:
        global __qualname__
        x = 1

    return A, B, C, __class__
