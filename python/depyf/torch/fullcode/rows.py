"""Python on rows of at most 100 columns: calls, conditions, docstrings and comments."""

import ast
import functools
import pprint
import re
import sys
from typing import Any, Iterable, List, Optional, Sequence

from depyf import legend
from depyf.compiling import parse
from depyf.interrupts import pass_on

INDENT = "    "
WIDTH = 100


def in_comment(text: str) -> str:
    """The text on one line, as a comment may have it."""
    return " ".join(text.replace("\0", "\\0").split())


def with_words(rows: Sequence[str], said: str) -> List[str]:
    """The rows of a condition, with a comment on what it asks."""
    if not said:
        return list(rows)
    if len(rows) == 1 and len(rows[0]) + len(said) + 4 <= WIDTH:
        return [rows[0] + "  # " + said]
    return ["            # " + row for row in legend.rows(said, WIDTH - 14)] + list(rows)


@functools.lru_cache(maxsize=4096)  # entries of one function have most conditions in common
def on_rows(condition: str) -> List[str]:
    """`and condition`, on several rows where it is too wide for one."""
    indent = " " * 12
    line = indent + "and " + condition
    if len(line) <= WIDTH or "\n" in condition:
        return [line]
    negated = "not " if condition.startswith("not ") else ""
    try:
        tree: Any = parse(condition[len(negated) :], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass_on()
        return [line]
    if sys.version_info < (3, 8):  # no ends of nodes
        return [line]
    parts = _arguments(tree, condition[len(negated) :])
    if parts is None:
        rows = _filled(_pieces("and " + condition), WIDTH - 16)
        return [indent + rows[0]] + [indent + INDENT + row for row in rows[1:]]
    return call_on_rows("%sand %s%s" % (indent, negated, parts[0]), parts[1:], "", WIDTH)


def _arguments(tree: Any, text: str) -> Optional[List[str]]:
    """The function of a call and its arguments, as written; None where it is no plain call."""
    if not isinstance(tree, ast.Call) or not tree.args:
        return None
    if any(one.arg is None for one in tree.keywords):
        return None
    raw = text.encode("utf-8")  # in which columns are counted
    parts = [
        raw[one.col_offset : one.end_col_offset].decode("utf-8")
        for one in [tree.func] + tree.args + [one.value for one in tree.keywords]
    ]
    for at, one in enumerate(tree.keywords, len(tree.args) + 1):
        parts[at] = "%s=%s" % (one.arg, parts[at])
    return parts


def call_on_rows(
    head: str, arguments: Sequence[str], tail: str, width: int, brackets: str = "()"
) -> List[str]:
    """`head(arguments)tail` on rows of at most `width` columns, where the arguments allow it."""
    begin, end = brackets[0], brackets[1]
    line = head + begin + ", ".join(arguments) + end + tail
    if len(line) <= width or not arguments:
        return [line]
    indent = " " * (len(head) - len(head.lstrip()))
    pieces = []
    for number, one in enumerate(arguments, 1):
        comma = ", " if number < len(arguments) else ""
        room = width - len(indent) - 5
        pieces += [one + comma] if len(one) <= room else _pieces(one + comma)
    inside = [indent + INDENT + row for row in _filled(pieces, width - len(indent) - 4)]
    return [head + begin] + inside + [indent + end + tail]


_TEXT_OR_GAP = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"| |\.(?=[A-Za-z_])""")


def _pieces(text: str) -> List[str]:
    """An expression in pieces, between which Python allows a line to end in brackets: at spaces,
    and before the name of an attribute.
    """
    found, at = [""], 0
    for match in _TEXT_OR_GAP.finditer(text):
        found[-1] += text[at : match.start()]
        at = match.end()
        if match.group() == ".":
            found.append(".")
        else:
            found[-1] += match.group()
            if match.group() == " ":
                found.append("")
    found[-1] += text[at:]
    return [one for one in found if one]


def _filled(pieces: Iterable[str], width: int) -> List[str]:
    """Pieces on rows, as many on one as it has room for."""
    rows = [""]
    for one in pieces:
        if rows[-1] and len(rows[-1]) + len(one.rstrip()) > width:
            rows.append("")
        rows[-1] += one
    return [row.rstrip() for row in rows]


def docstring_rows(text: str) -> List[str]:
    """A sentence as the docstring of a function, on two rows where it is too wide for one."""
    lines = legend.rows(text, WIDTH - 16, whole_words=True)
    if len(lines) < 2:
        return ['    """%s"""' % text]
    return ['    """' + lines[0]] + [INDENT + line for line in lines[1:]] + ['    """']


@functools.lru_cache(maxsize=64)
def on_lines(text: str) -> str:
    """A literal on lines that fit. Most functions of a run meet one global state."""
    return pprint.pformat(ast.literal_eval(text), width=88, compact=True)


def in_docstring(text: str) -> str:
    """The text on one line, as a docstring may have it: CPython 3.14 compiles none with half a
    character, nor with its escape.
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return in_comment(text).replace("\\", "\\\\").replace('"', "'")
