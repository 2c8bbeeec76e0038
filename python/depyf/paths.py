"""Paths where there may be no current folder: a program can remove it, and what is written and said
of the program afterwards needs none.
"""

import os


def absolute(path: str) -> str:
    """`os.path.abspath`; without a current folder a relative path stays as it is."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def real(path: str) -> str:
    """`os.path.realpath`; without a current folder a relative path stays as it is."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path
