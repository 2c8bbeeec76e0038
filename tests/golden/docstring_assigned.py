# python: >=3.11
# An assignment to __doc__ is no docstring: -OO would remove one.
__doc__ = 'module'


class C:
    __doc__ = 'class'


class D:
    """A docstring."""
