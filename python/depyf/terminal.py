"""Places in terminal output that a click opens.

A place is written as `path:line`, which the terminals of VS Code, PyCharm and most others open by
themselves. Where the stream is a terminal, the text is a hyperlink (OSC 8) as well.
"""

import os
import re
import sys
from typing import Any, List, Optional, Tuple

from depyf import paths

_PLACE = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)')
#: the other form; a path with a line break in it only where the place is all there is, or a frame
_SHORT_PLACE = re.compile(r"(?P<path>[^\n]+?):(?P<line>\d+)(?![\d.])")
_BROKEN_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?= in \S|\Z)", re.DOTALL)
_LINE_OF_FRAME = re.compile(r'", line \d+')
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


def parse_place(text: str) -> Optional[Tuple[str, int]]:
    """(path, line) of 'File "path", line N...' or 'path:N...'; None where no place is named."""
    match = _PLACE.match(text) or _SHORT_PLACE.match(text) or _BROKEN_PLACE.match(text)
    return (match.group("path"), int(match.group("line"))) if match else None


#: how many lines a path may have
_MOST_LINES = 8


def lines_with_whole_paths(text: str) -> List[str]:
    """The lines of a text; that of a frame whose path has line breaks is one, with these in it."""
    lines = text.splitlines()
    if not any(map(_begins_a_path, lines)):
        return lines
    pieces, whole, at = text.splitlines(True), [], 0
    while at < len(pieces):
        last = at
        if _begins_a_path(pieces[at]):
            following = range(at + 1, min(at + _MOST_LINES, len(pieces)))
            end = next((one for one in following if _LINE_OF_FRAME.search(pieces[one])), at)
            if not any(one.lstrip().startswith('File "') for one in pieces[at + 1 : end + 1]):
                last = end
        whole.append("".join(pieces[at:last]) + lines[last])
        at = last + 1
    return whole


def _begins_a_path(line: str) -> bool:
    """Whether a line names a file, and the name does not end in it."""
    return line.lstrip().startswith('File "') and not _LINE_OF_FRAME.search(line)
