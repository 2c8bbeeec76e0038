"""Running chosen compiled code without guards: `TorchCompileWrapperWithCustomDispatcher`."""

import threading
import types
from typing import Any, Callable, Dict, List, Optional

from depyf.torch import compat

# programs ask with `except ImportError` around the import whether this can be used
compat.require_torch()

__all__ = ["TorchCompileWrapperWithCustomDispatcher"]


class TorchCompileWrapperWithCustomDispatcher:
    """A callable whose subclass decides itself which compiled code runs, instead of torch's guards.

    A subclass sets its attributes, then calls `super().__init__(torch.compile(self.forward),
    use_custom_dispatcher=True)`, defines `forward`, and chooses in `__call__`:
    `self.compiled_callable(...)` lets torch dispatch and compile, `self.compiled_codes` lists what
    was compiled so far, and inside `with self.dispatch_to_code(index):` a call of
    `self.forward(...)` runs that code, with no guards and no torch.compile around it.

    Example:
        >>> class Model(TorchCompileWrapperWithCustomDispatcher):
        ...     def __init__(self):
        ...         super().__init__(torch.compile(self.forward), use_custom_dispatcher=True)
        ...     def forward(self, x):
        ...         return x + 1
        ...     def __call__(self, x):
        ...         if not self.compiled_codes:
        ...             return self.compiled_callable(x)
        ...         with self.dispatch_to_code(0):
        ...             return self.forward(x)

    Args:
        compiled_callable: what `torch.compile(self.forward)` returned.
        use_custom_dispatcher: False leaves every call to torch; then `compiled_codes` stays empty.
    """

    def __init__(
        self, compiled_callable: Callable[..., Any], use_custom_dispatcher: bool = True
    ) -> None:
        self.compiled_callable = compiled_callable
        self.original_code_object: types.CodeType = type(self).forward.__code__
        self.compiled_codes: List[types.CodeType] = []
        self.use_custom_dispatcher = use_custom_dispatcher
        self._dispatch_lock = threading.RLock()
        self._dispatches: Dict[int, _Dispatch] = {}
        self._hook: Any = None
        if use_custom_dispatcher:
            self._hook = compat.register_weak_bytecode_hook(self, "bytecode_hook")

    def bytecode_hook(
        self, old_code: types.CodeType, new_code: types.CodeType
    ) -> Optional[types.CodeType]:
        """Called by torch for every compiled frame.

        Keeps the code of this object's own `forward`.
        """
        if old_code is self.original_code_object and self._is_mine():
            self.compiled_codes.append(new_code)
        return None

    def _is_mine(self) -> bool:
        # all instances of a class share one code object; the frame that is compiled holds the
        # instance
        scope = compat.frame_locals()
        names = self.original_code_object.co_varnames
        if scope is None or not names or names[0] not in scope:
            return True
        return scope[names[0]] is self

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What is compiled; a subclass defines it."""
        raise NotImplementedError(
            "a subclass of TorchCompileWrapperWithCustomDispatcher must define forward"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Lets torch dispatch; a subclass overrides it to choose."""
        return self.compiled_callable(*args, **kwargs)

    def dispatch_to_code(self, index: int) -> "_Dispatch":
        """What to enter so that `self.forward` runs `self.compiled_codes[index]` directly.

        Raises:
            IndexError: nothing was compiled under that index; the message says how much there is.
        """
        try:
            code = self.compiled_codes[index]
        except IndexError:
            raise IndexError(
                "there are %d compiled code objects, and no number %d: "
                "call self.compiled_callable first" % (len(self.compiled_codes), index)
            ) from None
        # made once for each code: this is on the path of every call
        found = self._dispatches.get(index)
        if found is None or found.code is not code or found.function is not type(self).forward:
            found = self._dispatches[index] = _Dispatch(self, code)
        return found


class _Dispatch:
    """Puts a function on the instance (not on the class, so that other instances are not concerned)
    and takes it away.
    """

    __slots__ = ("code", "function", "_bound", "_names", "_acquire", "_release", "_before")

    def __init__(
        self, owner: TorchCompileWrapperWithCustomDispatcher, code: types.CodeType
    ) -> None:
        self.code = code
        self.function = type(owner).forward
        self._bound = types.MethodType(_rebuilt(self.function, code), owner)
        self._names = owner.__dict__
        self._acquire = owner._dispatch_lock.acquire
        self._release = owner._dispatch_lock.release
        self._before: List[Any] = []  # blocks may be entered inside each other

    def __enter__(self) -> None:
        self._acquire()
        names = self._names
        self._before.append(names.get("forward"))
        names["forward"] = self._bound

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        before = self._before.pop()
        if before is None:
            del self._names["forward"]
        else:
            self._names["forward"] = before
        self._release()


def _rebuilt(function: Callable[..., Any], code: types.CodeType) -> types.FunctionType:
    rebuilt = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    rebuilt.__kwdefaults__ = function.__kwdefaults__
    return rebuilt
