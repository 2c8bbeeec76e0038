"""`depyf.expect`: a block that may break and recompile no more than it says, for tests and CI."""

from typing import Any, Dict, Optional

from depyf import summary
from depyf.model import Run
from depyf.torch import compat
from depyf.torch.capture import capture


class Exceeded(AssertionError):
    """torch.compile did more than was expected; the message says what, where, and what helps.

    Attributes:
        run: everything that was compiled in the block.
    """

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


class expect(capture):
    """Watches torch.compile inside the block and raises at its end if it did more than is allowed.

    Example:
        >>> with depyf.expect(breaks=0, recompiles=0):
        ...     train_one_step()

    Args:
        breaks: how many graph breaks are allowed; None allows all.
        recompiles: how many compiles of a function that was compiled before.
        compile_seconds: how many seconds of compiling.
    Raises:
        Exceeded: at the end of the block, unless the block itself raised.
        ValueError: for a number below 0.
        ImportError: on entering, when torch is not installed.
    """

    @compat.not_traced
    def __init__(
        self,
        breaks: Optional[int] = None,
        recompiles: Optional[int] = None,
        compile_seconds: Optional[float] = None,
    ) -> None:
        super().__init__()
        self._allowed: Dict[str, Any] = {
            "breaks": breaks,
            "recompiles": recompiles,
            "compile_seconds": compile_seconds,
        }
        for name, number in self._allowed.items():
            if number is not None and not number >= 0:
                raise ValueError("%s=%s is not a number of 0 or more" % (name, number))

    @compat.not_traced
    def __exit__(self, kind: Any = None, value: Any = None, trace: Any = None) -> None:
        session = self._session
        super().__exit__(kind, value, trace)
        if session is None or kind is not None:
            return
        over = summary.over_budget(session.run.to_json(), **self._allowed)
        if over:
            over += filter(None, [summary.numbers_explained("\n".join(over))])
            raise Exceeded("torch.compile: " + "\n".join(over), session.run)
