# Texts of annotations in which brackets, quotes and tuples of constants meet.
from __future__ import annotations

x: N(fields=[('foo', 'int')])
y: [('a', 1)]
w: [(1, 2), 3]
v: Callable[..., int]


def f(a: [(1, 2)], b: {'k': [('x',)]}) -> g([(1, 2)]):
    return a
