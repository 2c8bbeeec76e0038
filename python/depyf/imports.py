"""Doing something once a module has been imported by whoever needs it."""

import importlib.util
import sys


class WhenImported:
    """A finder on `sys.meta_path` which waits for the import of one module, and takes itself away with it.

    When a module is first imported can matter to a program: it may set environment variables first, and
    torch.distributed.nn.functional keeps the process group that there is by then as a default argument, and with it the group's
    threads, for as long as the process runs.

    Args:
        name: the module; it must not have been imported yet.
        action: called when the module's code has run. What it raises, the import raises.
    """

    def __init__(self, name, action):
        self._name = name
        self._action = action
        self._searching = False
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        """What the other finders find, with a loader that tells when it is done."""
        if name != self._name or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._searching = False
        loader = getattr(spec, "loader", None)
        if hasattr(loader, "exec_module"):
            load = loader.exec_module

            def load_and_tell(module):
                del loader.exec_module
                load(module)
                if self in sys.meta_path:
                    self.remove()
                    self._action()

            loader.exec_module = load_and_tell
        return spec

    def remove(self):
        """No longer waits."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
