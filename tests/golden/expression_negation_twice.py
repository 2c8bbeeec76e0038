# python: >=3.13
# bool() by two negations is an operation of its own.
def f(self):
    return not not self._segments
