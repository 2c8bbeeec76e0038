# A class body may declare the names that the compiler gives to variables of its own.
class Global:
    global __classdict__
    __classdict__ = 5


class Class:
    global __class__
    __class__ = 5


class Annotations:
    global __conditional_annotations__
    __conditional_annotations__ = 5


def f():
    __classdict__ = __conditional_annotations__ = __class__ = 1

    class Namespace:
        nonlocal __classdict__
        __classdict__ = 'v'

    class Names:
        nonlocal __conditional_annotations__
        __conditional_annotations__ = 'v'

    class Cell:
        nonlocal __class__
        __class__ = 'v'

    return Namespace, Names, Cell
