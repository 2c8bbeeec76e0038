"""The guards that a line of the user's code made, as text."""

import os
import re
from typing import Dict, List, Set, Tuple

from depyf.schema import Document
from depyf.summary.counting import all_entries, many
from depyf.terminal import shown
from depyf.trace.frames import parse_place, places_of_comment
from depyf.trace.guard_text import MARK


def folded_marks(count: int, things: str) -> str:
    """That many guards of torch's own which ask that nothing of some tensors is marked."""
    return "%s that no size is marked (mark_dynamic and its like) of %s" % (
        many(count, "guard"),
        things,
    )


def guards_text(document: Document, line: str, links: bool = False) -> str:
    """The guards that a line of the user's code made.

    Args:
        document: see `load`.
        line: "12", or "file.py:12".
        links: write places as hyperlinks.
    Raises:
        ValueError: `line` is neither.
    """
    match = re.match(r"^(?:(?P<file>.+):)?(?P<line>\d+)$", line)
    if not match:
        raise ValueError("--guards %s: expected a line number, or FILE:LINE" % line)
    number, ending = int(match.group("line")), match.group("file")
    from depyf.report import words

    # torch shortens paths from the front: a file of the reader's own is known by its name
    own = {
        os.path.basename(one["filename"])
        for one in document["functions"]
        if not words.in_library(one["filename"])
    }
    lines: List[str] = []
    others: Set[Tuple[str, int]] = set()
    marks: Dict[Tuple[int, str], List[str]] = {}
    for function, entry in all_entries(document):
        for guard in entry.get("guards") or ():
            places = [parse_place(text) for text in guard.get("user_stack") or ()]
            places += places_of_comment(guard.get("comment") or "")
            names = [
                (os.path.basename(found[0]), found[1]) for found in places if found is not None
            ]
            others.update(name for name in names if name[0] in own)
            if any(
                found is not None
                and found[1] == number
                and (
                    ending is None or os.path.normpath(found[0]).endswith(os.path.normpath(ending))
                )
                for found in places
            ):
                head = "%s [%s] " % (
                    shown(function.get("qualname") or function["name"]) if function else "?",
                    entry["compile_id"],
                )
                mark = MARK.match(guard["text"])
                if mark:
                    marks.setdefault((len(lines), head), []).append(mark.group("of"))
                    continue
                kind = guard["kind"] + ": " if guard["kind"] else ""
                lines.append(head + kind + shown(guard["text"]))
    for (place_of, head), tensors in reversed(list(marks.items())):
        things = ", ".join(dict.fromkeys(words.short(name) for name in tensors))
        lines.insert(place_of, head + folded_marks(len(tensors), shown(things)))
    if lines:
        return "\n".join(lines)
    told = ", ".join("%s:%d" % (shown(name), where) for name, where in sorted(others)[:20])
    return "no guards from line %s%s" % (line, "; there are guards from " + told if told else "")
