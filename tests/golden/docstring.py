"""The module's docstring.

It has lines of its own.
"""


def f():
    """One line."""


def g():
    """Several lines.

    With an indented one:
        so.
    """
    return 1


def h():
    r"""Back\slashes and 'quotes'."""
    return 2


class C:
    """A class."""

    def m(self):
        """A method.

        Of some lines.
        """
        return self
