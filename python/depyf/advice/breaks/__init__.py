"""Graph breaks and compiles that failed: torch's number or name, plain words, and the pairs.

The rows are in modules by what they are about: a row, its words and its programs are in one place.
"""

from depyf.advice import NORMAL
from depyf.advice.breaks import (
    branches,
    calls,
    compiles,
    functions,
    iterators,
    logs,
    numbers,
    operators,
    shapes,
    sparse,
    tensors,
    training,
)
from depyf.advice.breaks.branches import OF_CONDITIONS, OF_FLOATS
from depyf.advice.breaks.functions import FORMAT, FORMATTED_OUTSIDE
from depyf.advice.breaks.gradients import OF_GRADIENTS, OF_KEPT, OF_NAN
from depyf.advice.breaks.indices import ALSO_NEEDED
from depyf.advice.breaks.library import LIBRARY
from depyf.advice.breaks.loops import LEAVES, LOOP, ROUNDS, WHILE
from depyf.advice.breaks.numbers import (
    ALSO_USED,
    COUNTED_FIRST,
    DECIDED_FIRST,
    DRAWN_FIRST,
    LENGTHENED_FIRST,
    VALUED_FIRST,
)
from depyf.advice.breaks.returned import OF_RETURNED
from depyf.advice.breaks.shapes import LISTED_FIRST

__all__ = [
    "ALSO_NEEDED",
    "ALSO_USED",
    "AROUND",
    "BECOME_TENSORS",
    "BY_KEY",
    "COMPILE_AROUND",
    "COUNTED_FIRST",
    "DECIDE",
    "DECIDED_FIRST",
    "DRAWN_FIRST",
    "FORMAT",
    "FORMATTED_OUTSIDE",
    "LEAVES",
    "LENGTHENED_FIRST",
    "LIBRARY",
    "LISTED_FIRST",
    "LOOP",
    "MISSING_TOOLS",
    "OF_CONDITIONS",
    "OF_FLOATS",
    "OF_GRADIENTS",
    "OF_KEPT",
    "OF_LOOPS",
    "OF_NAN",
    "OF_NONE",
    "OF_RETURNED",
    "REPEAT",
    "ROUNDS",
    "ROWS",
    "VALUED_FIRST",
]

#: the first that fits is taken, so that a row stands before those that are less exact
ROWS = (
    *branches.BY_DRAWN_NUMBERS,
    WHILE,
    *branches.ROWS,
    *numbers.ROWS,
    *shapes.ROWS,
    *training.ROWS,
    *iterators.ROWS,
    *functions.ROWS,
    *logs.ROWS,
    *operators.ROWS,
    *sparse.ROWS,
    *calls.ROWS,
    *compiles.ROWS,
    *tensors.ROWS,
)

BY_KEY = {one.key: one for one in ROWS}

#: what a backend lacks on this machine, which its exception tells somewhere in its text
MISSING_TOOLS = tuple(one for one in ROWS if one.key in ("no compiler", "no Python.h", "no Triton"))

#: rows of what Python decides by a tensor's value: in a loop, the next round needs the decision
DECIDE = (
    "branch",
    "branch on a number",
    "branch that leaves out more",
    "branch that replaces",
    "branch that skips",
    "any or all",
    "tensors that are compared",
    "member of a tensor",
    "item that decides",
)

#: what helps where the loop around a break is the problem
OF_LOOPS = tuple(one.help[0].text for one in (LEAVES, ROUNDS, LOOP))

#: rows of loops that are the problem themselves, and not their bodies
REPEAT = (WHILE.key, "loop by a drawn number")

#: rows whose advice has the code before and after some lines compiled by itself
COMPILE_AROUND = ("packed sequence", LIBRARY.key)

#: rows after whose advice a tensor stands where a Python number was
BECOME_TENSORS = tuple(
    key for key in BY_KEY if key == "item" or key.startswith(("item ", "list of "))
)

#: rows of branches whose first advice is for those that ask whether there is anything at all
OF_NONE = ("branch on a number", "dynamic shape that decides", "dynamic shape that is counted")

#: rows whose advice is about the compiled function or a setting, and not about the line that broke
AROUND = NORMAL + (
    "lr_scheduler",
    "DDP",
    "training step",
    "optimizer that torch excludes",
    "data loader",
    "limit",
    "nothing to compile",
    "nothing to compile any more",
    "nothing to compile on a side",
    "backend",
    "backward",
    "rnn",
    "packed sequence",
    "no fake kernel",
    "no fake kernel in a library",
    "cached property",
)
