"""Guards that failed: what a changed size, type, value or object asks for, and the pairs.

Which row a guard has is decided by its text in `depyf.report.words`, by the row's key. `{name}` is
the thing as torch names it, `{variable}` the same where it is one plain name, `{index}` a
dimension, `{before}` a value, `{marks}` are calls that mark sizes as dynamic.
"""

from depyf.advice.recompiles import (
    containers,
    counters,
    floats,
    identity,
    integers,
    lists,
    modes,
    objects,
    sizes,
)
from depyf.advice.recompiles.integers import FORMATTED_FIRST

__all__ = ["BY_KEY", "FORMATTED_FIRST", "ROWS"]

ROWS = (
    *sizes.ROWS,
    *integers.ROWS,
    *counters.ROWS,
    *floats.ROWS,
    *modes.ROWS,
    *lists.ROWS,
    *containers.ROWS,
    *objects.ROWS,
    *identity.ROWS,
)

BY_KEY = {one.key: one for one in ROWS}
