"""Doing something once a module has been imported by whoever needs it."""

import importlib.util
import sys
from typing import Any, Callable


class WhenImported:
    """A finder on `sys.meta_path` that waits for the import of one module, then goes.

    When a module is first imported can matter to a program: it may set environment variables first,
    and torch.distributed.nn.functional keeps the process group that there is by then as a default
    argument, and with it the group's threads, for as long as the process runs.

    Args:
        name: the module; it must not have been imported yet.
        action: called when the module's code has run. What it raises, the import raises.
    """

    def __init__(self, name: str, action: Callable[[], object]) -> None:
        self._name = name
        self._action = action
        self._searching = False
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """What the other finders find, with a loader that tells when it is done."""
        if name != self._name or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._searching = False
        loader: Any = getattr(spec, "loader", None)
        if hasattr(loader, "exec_module"):
            load = loader.exec_module

            def load_and_tell(module: Any) -> None:
                del loader.exec_module
                load(module)
                if self in sys.meta_path:
                    self.remove()
                    self._action()

            loader.exec_module = load_and_tell
        return spec

    def remove(self) -> None:
        """No longer waits."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
