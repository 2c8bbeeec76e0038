"""What the commands say on standard error, which may be closed, full, or a pipe that nobody reads:
the message is lost then, and the exit code stays what it is.
"""

import sys

TYPE_CHECKING = False  # as type checkers read it; the command loads this module first
if TYPE_CHECKING:
    from typing import Optional, TextIO


class StandardError:
    """A stream that may be closed, or closed later: what cannot be written goes nowhere."""

    def __init__(self, stream: "Optional[TextIO]") -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text) if self._stream is not None else len(text)
        except (OSError, ValueError):
            return len(text)

    def flush(self) -> None:
        try:
            if self._stream is not None:
                self._stream.flush()
        except (OSError, ValueError):
            pass

    def isatty(self) -> bool:
        try:
            return self._stream is not None and self._stream.isatty()
        except (OSError, ValueError):
            return False


def complain(text: str) -> None:
    """Writes to standard error, where that can be."""
    stream = StandardError(sys.stderr)
    stream.write(text)
    stream.flush()
