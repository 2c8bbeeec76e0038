"""What torch's frame evaluation takes for granted of a code object.

docs/frame_contract.md has the sources.
"""

import types
from typing import Optional, Tuple

from depyf.plain import file_of

_CO_VARARGS = 0x4
_CO_VARKEYWORDS = 0x8
_COUNTS = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount")
# What decides which kind of frame the interpreter makes, and who owns it.
_FRAME_FLAGS = {
    0x1: "CO_OPTIMIZED",
    0x2: "CO_NEWLOCALS",
    _CO_VARARGS: "CO_VARARGS",
    _CO_VARKEYWORDS: "CO_VARKEYWORDS",
    0x20: "CO_GENERATOR",
    0x80: "CO_COROUTINE",
    0x200: "CO_ASYNC_GENERATOR",
}


def argument_names(code: types.CodeType) -> Tuple[str, ...]:
    """The names of all arguments, `*args` and `**kwargs` included, in the order of their slots."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & _CO_VARARGS) + bool(code.co_flags & _CO_VARKEYWORDS)
    return code.co_varnames[:count]


def file_is_text(code: types.CodeType) -> bool:
    """Whether the name of the file of `code` can be encoded as UTF-8.

    Torch formats the stack while it compiles, and raises an exception in the program for a frame
    where that is not so.
    """
    try:
        file_of(code).encode()
    except UnicodeEncodeError:  # a half of a character, from a name that the system gave
        return False
    return True


def violation(original: types.CodeType, replacement: types.CodeType) -> Optional[str]:
    """None where a frame of `replacement` can be filled from one of `original`, else what differs.

    Torch copies arguments, locals, cells and the closure from the user's frame by position (by
    name in 2.2 on CPython 3.11), and does not look whether they fit.
    """
    for what in _COUNTS:
        found, expected = getattr(replacement, what, 0), getattr(original, what, 0)
        if found != expected:
            return "%s is %d, expected %d" % (what, found, expected)
    differing = original.co_flags ^ replacement.co_flags
    for flag, name in _FRAME_FLAGS.items() if differing else ():
        if differing & flag:
            return "%s is %s" % (name, "missing" if original.co_flags & flag else "set")
    found, expected = argument_names(replacement), argument_names(original)
    if found != expected:
        return "arguments are %r, expected %r" % (found, expected)
    for what in ("co_cellvars", "co_freevars"):
        found, expected = getattr(replacement, what), getattr(original, what)
        if found != expected:
            return "%s is %r, expected %r" % (what, found, expected)
    names = original.co_varnames
    if replacement.co_varnames[: len(names)] != names:
        return "locals are %r, expected to begin with %r" % (replacement.co_varnames, names)
    return None
