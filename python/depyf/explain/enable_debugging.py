"""`prepare_debug` and `debug` under the name of the module that held them in the original, and two
blocks that programs take from there.
"""

import contextlib
import types
from typing import Any, Callable, Iterator, Optional

from depyf.torch import compat, debug, prepare_debug

__all__ = ["debug", "enable_bytecode_hook", "patch", "prepare_debug"]


@contextlib.contextmanager
def enable_bytecode_hook(
    hook: Callable[[types.CodeType, types.CodeType], Optional[types.CodeType]],
) -> Iterator[None]:
    """Inside the block torch calls `hook(original, transformed)` for what it compiles, and runs the
    code object that it returns, if any.
    """
    compat.require_torch()
    handle = compat.register_bytecode_hook(hook)
    try:
        yield
    finally:
        if handle is not None:
            handle.remove()


@contextlib.contextmanager
def patch(parent: Any, name: str, value: Any) -> Iterator[None]:
    """Inside the block the attribute `name` of `parent` is `value`.

    Nothing is done where `parent` has none of that name: versions of torch differ in that.
    """
    if not hasattr(parent, name):
        yield
        return
    before = getattr(parent, name)
    setattr(parent, name, value)
    try:
        yield
    finally:
        setattr(parent, name, before)
