# python: >=3.11
# Bodies on the row of `def`: an indentation cannot tell `pass` from `None`.
def foo():
    pass


def f1():
    pass


def foo(a, b):
    pass


def names(*, a=1):
    pass


class C:
    def foo(self):
        pass

    def bars(self):
        pass

    def nothing(self):
        return None


def foo(a, b):
    return None


class D:
    def throw(self, *args):
        pass

    async def throws(self, a, /, b, *, c, **args):
        pass

    async def throws(self, a, /, b, *, c, **args):
        return None


def bar():
    return
