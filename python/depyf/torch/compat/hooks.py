"""Dynamo's bytecode hooks."""

import sys
import types
import weakref
from typing import Any, Callable, List, Optional

from depyf.imports import WhenImported
from depyf.interrupts import pass_on
from depyf.plain import attribute_of, file_of, text_of
from depyf.torch.compat.probes import (
    DYNAMO_HOOKS,
    _unavailable,
    note_unavailable,
    probe,
    require_torch,
)
from depyf.torch.compat.unseen import hide_from_dynamo


class _LaterHook:
    """The handle of a bytecode hook that is registered when Dynamo has been imported."""

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._handle: Any = WhenImported(DYNAMO_HOOKS, self._register)

    def _register(self) -> None:
        register = find_register_bytecode_hook()
        hide_from_dynamo()
        try:
            self._handle = register(self._hook) if register is not None else None
        except Exception as error:
            pass_on()
            note_unavailable("bytecode hook", "%s: %s" % (type(error).__name__, error))

    def remove(self) -> None:
        """Ends the hook, or the wait for it."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None


def find_register_bytecode_hook() -> Any:
    def find() -> Any:
        from torch._dynamo.convert_frame import register_bytecode_hook

        return register_bytecode_hook

    return probe("bytecode hook", find)


def register_bytecode_hook(
    hook: Callable[[types.CodeType, types.CodeType], Optional[types.CodeType]],
) -> Any:
    """Registers a hook `(original, transformed) -> replacement or None`; returns a handle with
    `remove()`, or None.

    Dynamo is not imported for that: where the program has not done so yet, the hook is registered
    when it does.
    """
    if DYNAMO_HOOKS not in sys.modules:
        return _LaterHook(hook)
    hide_from_dynamo()
    register = find_register_bytecode_hook()
    return register(hook) if register is not None else None


def _same_hook(one: Any, other: Any) -> bool:
    if type(one) is not types.MethodType or type(other) is not types.MethodType:
        return one is other
    return one.__self__ is other.__self__ and one.__func__ is other.__func__


def hooks_behind(hook: Any) -> List[str]:
    """Names of the bytecode hooks that torch calls after this one, with the places where they are
    defined.
    """

    def find() -> Any:
        from torch._dynamo.convert_frame import _bytecode_hooks

        return _bytecode_hooks

    known = probe("table of bytecode hooks", find)
    hooks = list(known.values()) if isinstance(known, dict) else []
    found = []
    places = [place for place, one in enumerate(hooks) if _same_hook(one, hook)]
    for one in hooks[places[0] + 1 :] if places else ():
        code = attribute_of(one, "__code__")
        known_as = text_of(attribute_of(one, "__qualname__"))
        name = known_as or text_of(type.__dict__["__qualname__"].__get__(type(one)))
        is_code = type(code) is types.CodeType
        place = " (%s:%d)" % (file_of(code), code.co_firstlineno) if is_code else ""
        found.append("the bytecode hook %s%s" % (name, place))
    return found


def register_weak_bytecode_hook(owner: Any, method: str) -> Any:
    """Registers a bytecode hook that calls `owner.method` while the owner lives, and removes itself
    after that.

    Raises:
        MissingTorch: torch is not installed.
        RuntimeError: this torch has no bytecode hook.
    """
    require_torch()
    target = weakref.ref(owner)

    def hook(code: types.CodeType, new_code: types.CodeType) -> Optional[types.CodeType]:
        alive = target()
        return getattr(alive, method)(code, new_code) if alive is not None else None

    handle = register_bytecode_hook(hook)
    if handle is None:
        raise RuntimeError(
            "this torch has no bytecode hook: %s" % _unavailable.get("bytecode hook")
        )
    weakref.finalize(owner, handle.remove)
    return handle
