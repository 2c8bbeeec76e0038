"""How many seconds of compiling a program saves without one of its graph breaks.

The parts of a function on both sides of a break are compiled apart. Joined, they are one compile
for each compile that has a reason which stays: for an argument of the caller's own, for what a
global or an object holds. A joined compile takes at least as long as its longest part, and at most
as long as all of them: it is taken to be in the middle.
"""

import re
from typing import Any, Dict, List, Tuple

from depyf.advice import given
from depyf.report import words

#: `overview.Cause` and `overview.Node`
Cause = Dict[str, Any]
Node = Any


def without_break(cause: Cause) -> Dict[str, float]:
    """Seconds that each compile takes because of a break alone, by its key.

    Args:
        cause: of a break, of those of `overview.causes`, with the seconds of analysis that torch
            threw away there as its `each`.
    """
    calls, joined = _calls(cause)
    # analysis that torch began again to cut the graph there
    saved: Dict[str, float] = dict(cause["each"])
    again = 0.0
    for parts in calls:
        if is_of_break(parts[0], cause):
            saved.update({one.key: one.seconds for one in parts})
            continue
        again += max(0.0, joined - _joined(parts))
        longest = max(parts, key=lambda one: one.seconds)
        for one in parts:
            if one is not longest:
                saved[one.key] = max(saved.get(one.key, 0.0), one.seconds / 2)
    total = sum(saved.values())
    # what compiles the rest again would then compile all of it again
    share = max(0.0, total - again) / total if total else 0.0
    return {key: value * share for key, value in saved.items()}


def is_of_break(node: Node, cause: Cause) -> bool:
    """Whether the reason of a recompile goes away with a break: a value that comes from the break,
    or one that compiled code makes for a function which it then takes into its graph.
    """
    if not node.reasons:
        return False
    reason = node.reasons[0]
    if not node.is_resume:
        return is_made_inside(node)
    if not node.hands_on(reason):
        return False
    if words.is_on_stack(reason):
        return True
    at = cause["break"]["file"], node.resumes_at
    return given.comes_from(at, words.argument_of(reason["name"]))


def is_made_inside(node: Node) -> bool:
    """Whether compiled code makes what a function is given of which its reason to recompile is."""
    if not node.reasons or node.outer is None:
        return False
    reason = node.reasons[0]
    if words.is_of_global(reason):
        return False
    names = [words.argument_of(one) for one in (reason["name"], reason["beside"]) if one]
    return bool(names) and all(
        given.made_inside(node.called_at, node.place, name) for name in names
    )


def _calls(cause: Cause) -> Tuple[List[List[Node]], float]:
    """(the parts that a joined function would compile in one call, for each of its compiles; the
    seconds that a compile of all of them takes).
    """
    parents: Dict[str, List[Node]] = {}  # of a part: the parts whose code leads to it
    parts: Dict[str, Node] = {}
    same = {_identity(cause["break"])}
    for node in cause["nodes"]:
        parts[node.key] = node
        after = [one for one in node.children if _follows(node, one, cause)]
        inside = [
            one
            for one in node.frames
            if {_identity(met) for met in node.breaks_inside(one)} == same
        ]
        for one in after + inside:
            parts[one.key] = one
            parents.setdefault(one.key, []).append(node)
    calls: Dict[str, List[Node]] = {}
    met = set()
    whole = []  # seconds of the calls that compile all parts
    for one in sorted(parts.values(), key=_when):
        known = parents.get(one.key, [])
        parent = one.parent if one.parent in known else None
        if known and parent is None:
            parent = max(known, key=lambda other: (other.began <= one.began, other.began))
        group = calls.get(parent.key) if parent is not None else None
        at = (parent.key if parent is not None else "", one.frame)
        if parent is None or group is None or at in met:
            calls[one.key] = [one]
            if parent is None:
                whole.append(calls[one.key])
        else:
            calls[one.key] = group
            group.append(one)
        if parent is not None:
            met.add(at)
    found = list({id(group): group for group in calls.values()}.values())
    return found, min(map(_joined, whole), default=0.0)


def _joined(parts: List[Node]) -> float:
    """The seconds that one compile of some parts takes."""
    seconds = [one.seconds for one in parts]
    return (max(seconds) + sum(seconds)) / 2


def _when(node: Node) -> Tuple[float, List[int]]:
    # torch numbers functions in the order of their first compiles
    return node.began, [int(one) for one in re.findall(r"\d+", str(node.entry.get("compile_id")))]


def _follows(node: Node, rest: Node, cause: Cause) -> bool:
    """Whether the rest of a function is that after one of its breaks."""
    ways = [
        node.way_to(raw)
        for raw, told in zip(node.entry.get("breaks") or (), node.breaks)
        if _identity(told) == _identity(cause["break"])
    ]
    lines = {way[0][1] for way in ways if way}
    return not lines or len(node.cuts) < 2 or rest.resumes_at in lines


def _identity(met: Dict[str, Any]) -> Tuple[Any, ...]:
    return met["file"], met["line"], met["what"]
