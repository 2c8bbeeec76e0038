# Names that start with two underscores are private to their class.
class A:
    __x = 1

    def __m(self):
        return self.__x

    def n(self, a):
        self.__y = a.__z
        return self.__m()
