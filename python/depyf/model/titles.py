"""Names of functions, resume functions and backward passes in texts for a reader."""

import re
from typing import List


def resumed_after(title: str, line: int) -> str:
    """How a reader is told of the rest of a function behind a graph break.

    Args:
        title: what the function itself is called.
        line: of the break.
    """
    return "%s, resumed after line %d" % (title, line)


#: the part of such a title up to the line and its file
RESUMED = re.compile(r", resumed after line \d+(?: of [^,]+)?")


def told_apart(title: str, apart: str) -> str:
    """The title of a resume function with what tells it from another one of that title.

    Args:
        title: as `resumed_after` makes it, with or without where its code begins.
        apart: as "(2nd of 2)" with a blank before it, or "".
    """
    if not RESUMED.search(title):
        return title + apart
    return RESUMED.sub(lambda match: match.group() + apart, title, count=1) if apart else title


COMPILED_AUTOGRAD = " (compiled autograd)"


def backward_of(functions: List[str]) -> str:
    """What a backward pass is called that compiled autograd traced into one function.

    Args:
        functions: those that it is the backward of, as far as they are known.
    """
    if not functions:
        return "backward pass" + COMPILED_AUTOGRAD
    first = functions[:2] if len(functions) < 3 else [functions[0], "%d others"]
    named = " and ".join(first).replace("%d", str(len(functions) - 1))
    return "backward of %s%s" % (named, COMPILED_AUTOGRAD)


def is_backward_pass(title: str) -> bool:
    """Whether it is one of the names that `backward_of` gives."""
    return title.endswith(COMPILED_AUTOGRAD)


#: where the code of a backward pass is that compiled autograd traced
TRACED_BACKWARD = "a whole backward pass, which compiled autograd traced: its code is in no file"
