# python: >=3.13
# The compiler strips docstrings: one that is not stripped was assigned.
class A:
    __doc__ = '    Not.\n\n    Stripped.\n    '
    x = 1


class B:
    __doc__ = 'a\tb'
    x = 1
