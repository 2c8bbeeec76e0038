"""Places in terminal output that a click opens.

A place is written as `path:line`, which the terminals of VS Code, PyCharm and most others open by
themselves. Where the stream is a terminal, the text is a hyperlink (OSC 8) as well.
"""

import os
import re
import sys
from typing import Any, Optional

from depyf import paths

#: control characters, those that turn the direction of text, and halves of characters, which no
#: stream encodes
_CONTROL = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def hyperlinks(stream: Any) -> bool:
    """True where `stream` shows hyperlinks.

    That is a terminal that is not "dumb", or any stream where FORCE_HYPERLINK is set.
    """
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced not in ("", "0")
    if os.environ.get("TERM", "") in ("dumb", "") or os.environ.get("NO_COLOR"):
        return False
    try:
        return bool(stream.isatty())
    except Exception:
        return False


def tell(text: str) -> None:
    """Prints to standard output. Where nobody reads it any more (`| head`), it and all that follows
    go nowhere, so that the command still does its work and ends with its exit code.
    """
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def shown(text: object) -> str:
    """The text with escapes for what could move the cursor, colour or reorder what follows."""
    return _CONTROL.sub(lambda match: repr(match.group())[1:-1], str(text))


def on_one_line(path: str) -> str:
    """A path as `shown` does, with what would break the line escaped, too."""
    return shown(path).replace("\n", "\\n").replace("\t", "\\t")


def short_path(path: str) -> str:
    """The path relative to the current folder where it lies below it, else as it is."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # the folder was removed; another drive
        return path
    return path if relative.startswith(os.pardir) else relative


def place(path: str, line: Optional[int] = None, links: bool = False) -> str:
    """`path:line`, as a hyperlink where `links` is true.

    Args:
        path: a file; names such as "<string>" are written as they are.
        line: a line number, or None.
        links: see `hyperlinks`.
    """
    text = on_one_line(short_path(path)) + (":%d" % line if line else "")
    if not links or path.startswith("<"):
        return text
    from urllib.parse import quote

    target = "file://" + quote(paths.absolute(path))
    return "\033]8;;%s%s\033\\%s\033]8;;\033\\" % (target, "#%d" % line if line else "", text)
