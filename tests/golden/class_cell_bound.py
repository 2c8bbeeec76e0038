# `__class__` and `__classcell__` where the source binds them itself.
def outer():
    class Store:
        def method(self):
            nonlocal __class__
            __class__ = 1

    class Remove:
        def method(x):
            nonlocal __class__
            del __class__
            super()

    class Global:
        global __class__
        __class__ = 42

        def method():
            __class__

    class Cell:
        __classcell__ = 42


def maker():
    if False:
        __class__ = None

    def method(self):
        return __class__

    return method
