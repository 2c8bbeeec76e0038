"""The functions that torch gave up, so that they run as plain Python."""

from typing import Any, Dict, Iterable, List, Sequence, Tuple

from depyf.advise.change import Change, fails
from depyf.terminal import place, shown

#: the row of a function that never had anything to compile
_NEVER_COMPILED = "nothing to compile"
#: the row of a backward pass, behind which a training step has its other parts
BACKWARD = "backward"
#: functions that are named in a line; the rest is counted
_MOST_NAMED = 3


def uncompiled(nodes: Sequence[Any], links: bool) -> str:
    """The functions that torch gave up, as a list in one line; "" for none."""
    from depyf.report import words

    found: Dict[Tuple[Any, ...], str] = {}
    for node in nodes:
        said = node.failure
        ended = words.skipped_at(node.run, node.entry)
        never = said is None or said["raised"] or said["row"] == _NEVER_COMPILED
        if ended is None and never and not is_step(node):
            continue
        limit = ", for calls that fit none of its compiles (recompile limit)"
        filename, line = node.place
        named = shown(node.called) + (" " + place(filename, line, links) if filename else "")
        named += ", from compile %s on" % node.key if ended is not None else ""
        found.setdefault((node.place, node.called), named + limit * node.is_limit)
    told = list(found.values())[:_MOST_NAMED]
    if len(found) > _MOST_NAMED:
        told.append("%d more" % (len(found) - _MOST_NAMED))
    return "; ".join(told)


def is_step(node: Any) -> bool:
    """Whether a compile found nothing to compile in the rest of a function behind a backward pass,
    from which compiled code is called, as that of an optimizer's step: it runs as plain Python.
    """
    if not (node.is_resume and node.is_empty and node.frames):
        return False
    met = [one for caller in node.callers for one in caller.breaks]
    return any(one["row"] == BACKWARD and one["line"] == node.resumes_at for one in met)


def takes_step_out(change: Change) -> bool:
    """Whether what a change is about takes a training step out of compiled code."""
    if change.row == BACKWARD and change.kind == "break":
        every = [one.cause for one in (change,) + change.also]
        rests = [child for one in every for node in one["nodes"] for child in node.children]
        return any(map(is_step, rests))
    return bool(change.row == "training step")


def left_untold(nodes: Iterable[Any], listed: List[Change]) -> List[Any]:
    """The compiles after which torch gave up a function of which no change says so."""
    every = [one for change in listed for one in (change,) + change.also + change.gone]
    told = {node.frame for one in every if fails(one) for node in one.cause["nodes"]}
    return [one for one in nodes if one.frame not in told and not one.is_limit]
