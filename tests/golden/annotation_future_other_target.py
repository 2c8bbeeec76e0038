# `from __future__` stands above what makes the compiler see annotations of which nothing is left.
from __future__ import annotations

if 0:
    x: int
if q:
    (q): int = 1
