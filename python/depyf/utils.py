"""Small helpers that programs written for the original depyf call."""

import functools
import os
import types
from typing import Any, List, Optional

from depyf.decompiler import Decompiler, get_function_signature
from depyf.plain import code_objects
from depyf.torch_wrappers import behind

__all__ = [
    "collect_all_code_objects",
    "decompile_ensure",
    "get_code_owner",
    "get_function_signature",
    "safe_create_directory",
]


def collect_all_code_objects(code: types.CodeType) -> List[types.CodeType]:
    """`code` and every code object among its constants, at any depth, outermost first."""
    return code_objects(code)


def decompile_ensure(fn: object, overwite_fn_name: Optional[str] = None) -> str:
    """The source of `fn`, or the text `'Failed to decompile.'` where there is none.

    Never raises.
    """
    try:
        return Decompiler(fn).decompile(overwite_fn_name=overwite_fn_name)
    except Exception:  # the caller asked for a text, whatever happens
        return "'Failed to decompile.'\n"


def safe_create_directory(path: str) -> None:
    """Create the folder `path` and those above it; one that exists is fine.

    Raises OSError where it cannot be made, NotADirectoryError where a file is in the way.
    """
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError(
            "%s exists and is not a folder; remove it or choose another" % path
        )
    os.makedirs(path, exist_ok=True)


def get_code_owner(fn: Any) -> Any:
    """The function whose `__code__` runs when `fn` is called: that behind a method, a
    `functools.partial`, what torch.compile made, a torch module (its `forward`), an `lru_cache`
    wrapper or an object with `__call__`. `fn` itself where there is none: a class, a code object,
    what is written in C.
    """
    current, seen = fn, set()
    while id(current) not in seen:
        seen.add(id(current))
        found = behind(current)
        if found is not None:
            current = found[0]
        elif hasattr(current, "__func__"):
            current = current.__func__
        elif hasattr(current, "__code__"):
            return current
        elif isinstance(current, (type, types.CodeType)):
            return fn
        elif isinstance(current, functools.partial):
            current = current.func
        elif hasattr(current, "__wrapped__"):
            current = current.__wrapped__
        elif hasattr(type(current), "__call__"):
            current = type(current).__call__
    return fn
