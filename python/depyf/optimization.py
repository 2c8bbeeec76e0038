"""Running chosen compiled code without guards: `TorchCompileWrapperWithCustomDispatcher`."""

import threading
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

__all__ = ["TorchCompileWrapperWithCustomDispatcher"]


class TorchCompileWrapperWithCustomDispatcher:
    """A callable whose subclass decides itself which compiled code runs, instead of torch's guards.

    A subclass sets its attributes, then calls `super().__init__(torch.compile(self.forward), use_custom_dispatcher=True)`,
    defines `forward`, and chooses in `__call__`: `self.compiled_callable(...)` lets torch dispatch and compile,
    `self.compiled_codes` lists what was compiled so far, and inside `with self.dispatch_to_code(index):` a call of
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
        self._functions: Dict[types.CodeType, Tuple[Any, types.FunctionType]] = {}
        self._hook: Any = None
        if use_custom_dispatcher:
            from depyf.torch import compat

            self._hook = compat.register_weak_bytecode_hook(self, "bytecode_hook")

    def bytecode_hook(
        self, old_code: types.CodeType, new_code: types.CodeType
    ) -> Optional[types.CodeType]:
        """Called by torch for every compiled frame; keeps the code of this object's own `forward`."""
        if old_code is self.original_code_object and self._is_mine():
            self.compiled_codes.append(new_code)
        return None

    def _is_mine(self) -> bool:
        # all instances of a class share one code object; the frame that is compiled holds the instance
        from depyf.torch import compat

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
        """Inside the block `self.forward` runs `self.compiled_codes[index]` directly.

        Raises:
            IndexError: on entering, when nothing was compiled under that index; the message says how much there is.
        """
        return _Dispatch(self, index)

    def _direct(self, index: int) -> types.FunctionType:
        # made once for each code: this is on the path of every call
        try:
            code = self.compiled_codes[index]
        except IndexError:
            raise IndexError(
                "there are %d compiled codes, no number %d: call self.compiled_callable first"
                % (len(self.compiled_codes), index)
            ) from None
        function = type(self).forward
        known = self._functions.get(code)
        if known is None or known[0] is not function:
            known = self._functions[code] = (function, _rebuilt(function, code))
        return known[1]


class _Dispatch:
    __slots__ = ("_owner", "_index", "_before")

    def __init__(self, owner: TorchCompileWrapperWithCustomDispatcher, index: int) -> None:
        self._owner = owner
        self._index = index
        self._before: Any = _MISSING

    def __enter__(self) -> None:
        owner = self._owner
        bound = types.MethodType(owner._direct(self._index), owner)
        # on the instance and not on the class, so that other instances and threads that use them are not concerned
        owner._dispatch_lock.acquire()
        names = owner.__dict__
        self._before = names.get("forward", _MISSING)
        names["forward"] = bound

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        owner = self._owner
        try:
            if self._before is _MISSING:
                del owner.__dict__["forward"]
            else:
                owner.__dict__["forward"] = self._before
        finally:
            owner._dispatch_lock.release()


_MISSING = object()


def _rebuilt(function: Callable[..., Any], code: types.CodeType) -> types.FunctionType:
    rebuilt = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    rebuilt.__kwdefaults__ = function.__kwdefaults__
    return rebuilt
