"""README.md of a dump: lines that fit a terminal."""

import re
from typing import Iterable, List

#: columns of a line, unless a name, a path or a link alone is longer
_WIDEST = 100
#: what is not broken: code, links, words
_WORD = re.compile(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+")
#: how a list's entry begins, below which its further lines stand
_ENTRY = re.compile(r" *(?:[-*]|\d+\.) ")
#: what begins a heading, a list or a quotation at the begin of a line
_BEGINS = re.compile(r"(?:[-+*>]|#+|\d+[.)])$")
_KEPT = ("#", "|", "```", "<")


def in_columns(lines: Iterable[str]) -> List[str]:
    """The lines, long ones of prose and of lists as several; those in a fence as they are."""
    found: List[str] = []
    fenced = False
    for line in (one for text in lines for one in text.split("\n")):
        fenced ^= line.startswith("```")
        if fenced or len(line) <= _WIDEST or line.startswith(_KEPT):
            found.append(line)
        else:
            found += _broken(line)
    return found


def _broken(line: str) -> List[str]:
    entry = _ENTRY.match(line)
    begin = entry.group() if entry is not None else ""
    rows = [begin]
    for word in _WORD.findall(line[len(begin) :]):
        more = "" if rows[-1] in (begin, " " * len(begin)) else " "
        if more and len(rows[-1]) + 1 + len(word) > _WIDEST and not _BEGINS.match(word):
            rows.append(" " * len(begin))
            more = ""
        rows[-1] += more + word
    return rows
