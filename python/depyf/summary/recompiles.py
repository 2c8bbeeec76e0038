"""The recompiles of a run as text."""

import os
import re
from typing import Any, Dict, List, Optional, Tuple

from depyf.schema import Document
from depyf.summary.breaks import nothing_compiled, plain
from depyf.summary.counting import many
from depyf.terminal import place, shown
from depyf.trace.frames import frames_of_text, parse_comment

_GUARD_COMMENT = re.compile(r"(?<!\s)\s+# .*$", re.DOTALL)


def reason_parts(reason: str, filename: str = "") -> Tuple[str, Optional[Tuple[str, int]]]:
    """(text, (path, line) or None) of torch's reason for a recompile: the guard, and the user's
    line that made it.

    Args:
        filename: of the function that was compiled again; where torch shortens paths, only lines of
            this file are found.
    """
    frames = frames_of_text(reason)
    where = frames[-1][:2] if frames else None
    # up to 2.9 torch tells a place alone, with the beginning of the path left out
    shortened = parse_comment(reason[reason.find("#") :]) if where is None else None
    if shortened is not None and filename.endswith(shortened.path):
        where = filename, shortened.line
    text = _GUARD_COMMENT.sub("", reason)
    return " ".join(text.split()) or " ".join(reason.split()), where


def recompiles_text(document: Document, links: bool = False) -> str:
    """The recompiles of each function, those for the same thing together: the guards that failed
    on earlier entries, and what usually helps. A group takes a few lines, however large it is.
    """
    from depyf.report import overview

    groups: Dict[Any, List[Any]] = {}
    stopped = []
    nodes = overview.nodes_of([document])
    for node in nodes:
        if node.is_limit:
            stopped.append(node)
        elif node.reasons:
            first = node.reasons[0]
            about = first["row"], first["name"], first["kind"], tuple(first["help"])
            groups.setdefault((node.place, node.called, about), []).append(node)
    lines = []
    for group in groups.values():
        node = group[0]
        ids = [one.entry["compile_id"] for one in group]
        lines.append(
            "%s: %s compiled again %s[%s], %.2f s"
            % (
                node_place(node, links),
                shown(node.called),
                "" if len(group) == 1 else "%d times " % len(group),
                ", ".join(ids[:_MOST_IDS] + ["…"] * (len(ids) > _MOST_IDS)),
                sum(one.seconds for one in group),
            )
        )
        alone = len(group) == 1
        # of a group what they have in common, then what other entries did not fit for
        rows = [(one, one.reasons[0]) for one in group]
        lines += _reason_lines(rows, alone, links)
        told = {said["words"] for _, said in rows}
        others: Dict[str, Tuple[Any, Dict[str, Any]]] = {}
        for one in group:
            for said in one.reasons[1:]:
                if alone or said["words"] not in told:
                    others.setdefault(said["tried"] if alone else said["words"], (one, said))
        lines += _reason_lines(list(others.values()), alone, links)
        if node.caller[1]:
            lines.append(
                "    called from %s: %s"
                % (place(node.caller[0], node.caller[1], links), shown(node.caller[2]))
            )
        lines.extend("    help: " + plain(hint) for hint in node.reasons[0]["help"])
    for node in stopped:
        lines.append(
            "%s: torch stopped compiling %s at its next compile [%s]: calls that fit none of its "
            "%s run uncompiled"
            % (
                node_place(node, links),
                shown(node.called),
                node.entry["compile_id"],
                many(overview.compiled_times(nodes, node), "compile"),
            )
        )
    return "\n".join(lines or ["no recompiles"] + nothing_compiled(document))


#: of a group of recompiles that are shown
_MOST_IDS, _MOST_REASONS = 8, 4


def _reason_lines(rows: List[Tuple[Any, Dict[str, Any]]], alone: bool, links: bool) -> List[str]:
    """A line for each reason, with the compile that it is of where there are several."""
    lines = [
        _reason_line(one, said, links, "" if alone else "[%s] " % one.entry["compile_id"])
        for one, said in rows[:_MOST_REASONS]
    ]
    more = len(rows) - _MOST_REASONS
    return lines + ["    and %d more" % more] * (more > 0)


def _reason_line(node: Any, said: Dict[str, Any], links: bool, of: str) -> str:
    from depyf.report import words

    failed = words.with_modules(said["failed"])
    guard = words.of_which_guard(said) + shown(failed)
    # once where the words hold the guard itself; what is on the stack has the name of the words
    is_told = "`%s`" % failed in said["words"] or words.is_on_stack(said)
    _, made = reason_parts(said["raw"], node.place[0])
    if os.path.isabs(said["file"]) and said["line"]:  # see `words.place_reason`
        made = said["file"], said["line"]
    if made and "at %s: " % place(*made) in said["words"]:
        made = None
    return "    %s%s%s%s%s" % (
        of,
        said["tried"] + ": " if said["tried"] else "",
        plain(said["words"]),
        "" if is_told else " (%s)" % guard,
        words.guarded_at(said, place(made[0], made[1], links)) if made else "",
    )


def node_place(node: Any, links: bool) -> str:
    """Where the function of a compile is."""
    filename, line = node.place
    return place(filename, line, links) if filename else "?"
