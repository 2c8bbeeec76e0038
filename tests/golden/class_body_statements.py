# Any statement may stand in a class body.
class A:
    for i in range(3):
        print(i)
    if i:
        x = 1
    else:
        x = 2
    try:
        import json
    except ImportError:
        json = None
    with open('f') as f:
        data = f.read()
    del i


class Renamed:
    __qualname__ = 'Other.Name'
    __module__ = 'other'

    def f(self):
        return self.__x


class Inner:
    x = __qualname__
