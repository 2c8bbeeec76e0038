"""Unified diffs of the advice, applied to texts in memory."""

import os
import re
from typing import Dict, List, Mapping, Optional, Tuple

from depyf.advise.source import lines_of, text_of

#: a hunk: the line where it begins in the file as it was, and its lines
_HUNK = re.compile(r"^@@ -(\d+).*@@.*\n((?:[ +\-].*(?:\n|$)|\n)+)", re.M)
_FILE = re.compile(r"^--- a/(.*)\n\+\+\+ b/.*\n", re.M)
#: so many lines at each end of a hunk need not be as they were, as for patch(1)
_FUZZ = 2


def applied(patch: str, texts: Mapping[str, str]) -> Optional[Dict[str, str]]:
    """The texts of files after a patch; None where a part of it has no place.

    Args:
        patch: as `depyf.advise` writes it: names of files are relative to the current folder, or to
            the root.
        texts: those that were changed before, by absolute path; others are read.
    """
    found = dict(texts)
    for path, hunks in _files_of(patch):
        text = found.get(path)
        if text is None:
            text = text_of(path)
        changed = None if text is None else with_hunks(text, hunks)
        if changed is None:
            return None
        found[path] = changed
    return found


def _files_of(patch: str) -> List[Tuple[str, str]]:
    """(absolute path, hunks) of each file of a patch."""
    parts = _FILE.split(patch)[1:]
    return [(_path_of(name), hunks) for name, hunks in zip(parts[::2], parts[1::2])]


def _path_of(name: str) -> str:
    path = os.path.abspath(name)
    return path if os.path.exists(path) else os.path.abspath(os.sep + name)


def with_hunks(text: str, hunks: str) -> Optional[str]:
    """A text with the hunks of a diff applied, each at the place nearest to where it was; None
    where one has no place.
    """
    lines = _rows_of(text)
    for at, hunk in _HUNK.findall(hunks):
        rows = [one or " " for one in _rows_of(hunk)]
        context = _context(rows), _context(rows[::-1])
        for fuzz in range(_FUZZ + 1):
            begin, end = (max(0, fuzz + one - max(context)) for one in context)
            part = rows[begin : len(rows) - end]
            old = [one[1:] for one in part if one[0] in " -"]
            places = [at for at in range(len(lines)) if lines[at : at + len(old)] == old]
            if places and old:
                break
        else:
            return None
        where = min(places, key=lambda place: abs(place - int(at)))
        lines[where : where + len(old)] = [one[1:] for one in part if one[0] in " +"]
    return "\n".join(lines) + "\n"


def _rows_of(text: str) -> List[str]:
    return [one.rstrip("\n") for one in lines_of(text)]


def _context(rows: List[str]) -> int:
    """How many of the rows that a hunk begins with are as they were."""
    return next((at for at, one in enumerate(rows) if one[0] != " "), len(rows))
