# python: >=3.13
# A class lists the attributes that its functions set as they are spelt.
class F:
    def set(self):
        self._F__x = 1
        self.__y = self._F__x

        def inner():
            self._F__z = lambda: self.__x

        return inner
