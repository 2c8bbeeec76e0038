"""What a model refers to without keeping it alive."""

import weakref
from typing import Any


class LiveObject:
    """A weak reference that is absent, and not an error, for what cannot be referred to weakly."""

    __slots__ = ("_ref",)

    def __init__(self, target: Any = None) -> None:
        self._ref = None
        if target is not None:
            try:
                self._ref = weakref.ref(target)
            except TypeError:
                pass

    def get(self) -> Any:
        """The object, or None when it has died or was never there."""
        return self._ref() if self._ref is not None else None
