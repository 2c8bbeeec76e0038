# Annotations that are kept as strings.
from __future__ import annotations

x: list[int] = []


def f(a: int, b: dict[str, int] | None = None) -> tuple[int, ...]:
    return a, b


class C:
    y: C


def constants(a: Callable[..., None], b: Literal['a (b', 'c']) -> Callable[..., Tuple[1, ...]]:
    return a
