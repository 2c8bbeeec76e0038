"""What the report says of each entry, as a full_code file and README.md tell it."""

from typing import Any, Dict, List, Optional, Sequence, Tuple

from depyf.interrupts import pass_on
from depyf.model import Entry, Function, GraphBreak, Run
from depyf.report import words
from depyf.report.overview import Node, nodes_of
from depyf.trace.frames import parse_place


def reasons_of_failures(nodes: Sequence[Node]) -> Dict[str, str]:
    """A sentence on why a compile came to nothing, by the compile id; of ids that are there twice,
    after a reset, none.
    """
    found: Dict[str, List[str]] = {}
    for node in nodes:
        said = node.failure
        if said is None or node.is_limit or node.is_empty:
            continue
        at = " at %s:%d" % (said["file"], said["line"]) if said["file"] and said["line"] else ""
        text = " It was stopped%s: %s" % (at, said["why"])
        uncut = said["then"].partition(", so ")[0]
        text += " %s." % uncut if "cannot split" in uncut else ""
        found.setdefault(str(node.entry.get("compile_id")), []).append(text)
    return {key: texts[0] for key, texts in found.items() if len(texts) == 1}


def nodes_by_entry(run: Run, nodes: Optional[Sequence[Node]] = None) -> Dict[int, Node]:
    """What the report says of each entry, by the entry's id; {} where it cannot be made.

    Args:
        run: the run.
        nodes: those of its document, where they are known.
    """
    try:
        nodes = nodes_of([run.to_json()]) if nodes is None else nodes
        return {id(entry): node for entry, node in zip(run.entries(), nodes)}
    except Exception:  # torch's own words stand there then
        pass_on()
        return {}


def reasons_in_words(entry: Entry, node: Optional[Node]) -> List[str]:
    """Why a function was compiled again, each with its guard and the line that made it."""
    if node is None or len(node.reasons) != len(entry.reasons):
        return [" ".join(reason.split()) for reason in entry.reasons]
    # the causes: of those that are the same but for a value the first stands for all
    causes: Dict[Tuple[Any, ...], List[Any]] = {}
    for number, said in enumerate(node.reasons):
        cause = tuple(said[one] for one in ("kind", "row", "name", "file", "line"))
        if not said["name"]:
            cause += (said["words"],)
        causes.setdefault(cause, []).append(said)
    found = []
    for said, *others in causes.values():
        text = said["words"]
        failed = words.with_modules(said["failed"])
        # a value that has no name of the program's has one here, that of the words
        if failed and "`%s`" % failed not in text and not words.is_on_stack(said):
            text += " (%s`%s`)" % (words.of_which_guard(said), failed)
        if said["file"] and said["line"]:
            text += words.guarded_at(said, "%s:%d" % (said["file"], said["line"]))
        if others:
            tried = [one["tried"] for one in others if one["tried"]][:_TRIED]
            text += "; likewise %d more compile%s%s" % (
                len(others),
                "" if len(others) == 1 else "s",
                " (%s%s)" % (", ".join(tried), ", …" * (len(others) > len(tried))) if tried else "",
            )
        found.append((said["tried"] + ": " if said["tried"] else "") + text)
    return [" ".join(text.split()) for text in found]


def reached_from(graph_break: GraphBreak, function: Optional[Function], entry: Entry) -> str:
    """From which line of the compiled function a break is reached that is in what this calls."""
    if function is not None and entry._broke_at and graph_break is entry.breaks[-1]:
        own = function.filename, entry._broke_at
        return ", reached from %s:%d" % own if parse_place(graph_break.location) != own else ""
    frames = []
    for text in graph_break.user_stack:
        found = parse_place(text)
        if found is not None:
            frames.append(found + (text.rpartition(" in ")[2].strip(),))
    of_it = [
        at
        for at, (path, _, name) in enumerate(frames)
        if function is not None and path == function.filename and name == function.name
    ]
    if not of_it or of_it[-1] == len(frames) - 1:
        return ""
    return ", reached from %s:%d" % frames[of_it[-1]][:2]


#: compiles that are named in a line on why a function was compiled again
_TRIED = 8


def breaks_in_words(entry: Entry, node: Optional[Node]) -> List[str]:
    """Why the graph broke, for each break of a compile, and what torch calls it."""
    if node is None or len(node.breaks) != len(entry.breaks):
        return [" ".join(one.reason.split()) for one in entry.breaks]
    found = []
    for said in node.breaks:
        why, what = said["why"].rstrip("."), said["what"].rstrip(".")
        text = why if what == why else "%s (torch: %s)" % (why, what)
        found.append(" ".join(text.split()))
    return found
