# Private names that are spelt as the compiler mangles them. What keeps its spelling in the code
# tells the two: the name of a function or class, and what a `from` import lists.
class F:
    from a import _F__b, __c
    from a import _F__d as e, __f as g
    import _F__h.i
    import __h.i
    import j._F__k as l
    import j.__k as m

    def _F__method(self):
        return self.__method()

    def __method(self):
        def _F__inner():
            return __inner

        def __inner():
            return __inner

        return __inner

    @property
    def _F__value(self):
        return self.__h

    class _F__D:
        def _F__D__n(self):
            return self.__n

        def __n(self):
            return self.__n

    class __D:
        def _F__n(self):
            return self.__n


class __G:
    def _G__n(self):
        return self.__n

    def ___G__n(self):
        return self.__n
