"""torch's structured trace."""

import logging
import sys
from typing import Any, Dict, FrozenSet, List, Optional

from depyf.torch.compat.probes import DYNAMO_HOOKS, probe
from depyf.torch.compat.unseen import find_set_eval_frame

TRACE_LOGGER = "torch.__trace"


def find_trace_structured() -> Any:
    def find() -> Any:
        from torch._logging._internal import trace_structured

        return trace_structured

    return probe("structured trace", find)


def trace_logger() -> Optional[logging.Logger]:
    """The logger that carries torch's structured trace, None where torch has none (2.2)."""
    return logging.getLogger(TRACE_LOGGER) if find_trace_structured() is not None else None


class _AskedHandlers(List[Any]):
    """The handlers of the trace logger while depyf's is the only one.

    torch computes a record, its payload as JSON included, when the logger has handlers at all, and
    most records (timings for a profiler's view, descriptions of tensors) are of no use here. So
    when torch's `trace_structured` asks whether there are handlers, the answer is that there are
    none for those.
    """

    unwanted: FrozenSet[str] = frozenset()
    ours: Any = None

    def __bool__(self) -> bool:
        if len(self) != 1 or self[0] is not self.ours:
            return len(self) > 0
        frame = sys._getframe(1)
        code = frame.f_code
        if "trace_structured" not in code.co_name:
            return True
        given = frame.f_locals
        name = given.get("name")
        if isinstance(name, str) and name in self.unwanted:
            return False
        change = find_set_eval_frame() if DYNAMO_HOOKS in sys.modules else None
        before = change(None) if change is not None else None
        if change is None or before is None:
            return True
        # Dynamo looks at each frame that this thread runs now, so at those of logging and json too.
        # It is called again where Dynamo does not look, and this call ends as without a handler.
        try:
            ask = find_trace_structured()
            own = ask.__code__
            names = own.co_varnames[: own.co_argcount + own.co_kwonlyargcount]
            ask(**{one: given[one] for one in names if one in given})
        finally:
            change(before)
        return False

    def copy(self) -> "_AskedHandlers":
        """The same, for logging, which from CPython 3.14 on takes a handler out of a copy."""
        found = _AskedHandlers(self)
        found.ours, found.unwanted = self.ours, self.unwanted
        return found


def add_trace_handler(handler: logging.Handler, unwanted: FrozenSet[str]) -> None:
    """Adds a handler of the structured trace, for which torch does not compute the records of these
    names.
    """
    logger = logging.getLogger(TRACE_LOGGER)
    logger.addHandler(handler)
    handlers = _AskedHandlers(logger.handlers)
    handlers.ours, handlers.unwanted = handler, unwanted
    logger.handlers = handlers


def remove_trace_handler(handler: logging.Handler) -> None:
    """Ends what `add_trace_handler` began; handlers that others added stay."""
    logger = logging.getLogger(TRACE_LOGGER)
    logger.removeHandler(handler)
    logger.handlers = list(logger.handlers)


def find_intern_table() -> Any:
    def find() -> Any:
        from torch._logging.structured import INTERN_TABLE

        return INTERN_TABLE

    return probe("interned names of files", find)


def interned_names() -> Dict[int, str]:
    """Number -> file name, as used in the stacks of the structured trace."""
    table = find_intern_table()
    if not isinstance(table, dict):
        return {}
    return {number: text for text, number in list(table.items())}
