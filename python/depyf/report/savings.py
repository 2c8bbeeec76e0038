"""How many seconds of compiling a program saves without one of its graph breaks.

The parts of a function on both sides of a break are compiled apart. Joined, they are one compile
for each compile that has a reason which stays: for an argument of the caller's own, for what a
global or an object holds. A joined compile takes at least as long as its longest part, and at most
as long as all of them: it is taken to be in the middle.
"""

import re
from typing import Any, Dict, List, Sequence, Set, Tuple

from depyf.advice import given, uses
from depyf.report import words

#: `overview.Cause` and `overview.Node`
Cause = Dict[str, Any]
Node = Any


def without_breaks(causes: Sequence[Cause]) -> Dict[str, float]:
    """Seconds that each compile takes because of some breaks alone, by its key.

    Args:
        causes: of breaks that are removed together, of those of `overview.causes`; `discarded` of
            each are the seconds of analysis that torch threw away there.
    """
    calls, joined = _calls(causes)
    saved: Dict[str, float] = {}
    for cause in causes:  # analysis that torch began again to cut the graph there
        kept = _begun_again(cause, causes)
        saved.update((key, cost) for key, cost in cause["discarded"].items() if key not in kept)
    again = 0.0
    for parts in calls:
        if any(is_of_break(parts[0], cause, causes) for cause in causes):
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


def _begun_again(cause: Cause, causes: Sequence[Cause]) -> Set[str]:
    """The keys of the compiles of a break that torch traces up to another one without some breaks,
    that of the cause among them: it begins the analysis again there in place of here.
    """
    removed = {_identity(one["break"]) for one in causes}
    by_frame: Dict[Any, List[Node]] = {}
    for node in cause["nodes"]:
        by_frame.setdefault(node.frame, []).append(node)
    cut = {frame for frame, met in by_frame.items() if _is_cut_after(met, removed)}
    around = uses.function_around(cause["break"]["file"], cause["break"]["line"])
    # what follows in the function of the line follows also where that is called in another graph
    of_line = any(around is not None and _function_of(by_frame[one][0]) is around for one in cut)
    return {node.key for node in cause["nodes"] if of_line or node.frame in cut}


def _function_of(node: Node) -> Any:
    return uses.function_starting_at(*node.place) or uses.function_around(*node.place)


def _is_cut_after(begin: Sequence[Node], removed: Set[Tuple[Any, ...]]) -> bool:
    """Whether some compiles, or the rests of their functions, have a break that is not removed."""
    work, seen = list(begin), set()
    while work:
        node = work.pop()
        if node.key not in seen:
            seen.add(node.key)
            if any(_identity(one) not in removed for one in node.cuts):
                return True
            work += node.children
    return False


def is_of_break(node: Node, cause: Cause, causes: Sequence[Cause] = ()) -> bool:
    """Whether the reason of a recompile goes away with a break: a value that comes from the break,
    or one that compiled code makes for a function which it then takes into its graph.

    Args:
        causes: of the breaks that are removed together with it.
    """
    if not node.reasons:
        return False
    reason = node.reasons[0]
    taken_in = made_inside(node)
    if taken_in:
        removed = {_identity(one["break"]) for one in causes}
        # what is made further outside reaches it through functions that have breaks of their own
        return taken_in == [node] or _breaks_of(taken_in) <= removed
    at = cause["break"]["file"], node.resumes_at
    # what is beside it and stays takes a compile as before
    names = [one for one in (reason["beside"], *reason["differing"]) if one]
    told = [reason] + [dict(reason, name=one, failed=one, raw="") for one in names]
    return all(_hands_on_of_break(node, one, at) for one in told)


def _hands_on_of_break(node: Node, reason: words.Said, at: Tuple[str, int]) -> bool:
    """Whether a value that a rest is given comes from the break at a line: what an object on the
    stack holds, such as that of a method, is there without the break.
    """
    if not node.hands_on(reason):
        return False
    if words.is_on_stack(reason):
        return not words.is_of_kept_object(reason)
    return given.comes_from(at, words.argument_of(reason["name"]))


def made_inside(node: Node) -> List[Node]:
    """The functions that are to be taken into the graph of what calls them, so that a recompile has
    no reason: its own, and those through which it is given what compiled code makes. [] where none
    makes what its reason is about.
    """
    if not node.reasons:
        return []
    reason = node.reasons[0]
    whole = node.whole()
    if words.is_of_global(reason) or node.hands_on(reason):
        return []
    names = [words.argument_of(one) for one in (reason["name"], reason["beside"]) if one]
    if any(map(given.is_of_object, names)) and reason["row"] != "value of each object":
        return []  # the object's own state changes in the graph of what calls it, too
    if whole is not node and any(given.is_assigned(whole.place, name) for name in names):
        return []
    ways = [_way_to_maker(whole, name) for name in names]
    return max(ways, key=len) if ways and all(ways) else []


def _way_to_maker(node: Node, name: str) -> List[Node]:
    """The functions from a compile's own to the one to which compiled code gives what it makes;
    [] where code that is not compiled gives it.
    """
    way: List[Node] = []
    while node.outer is not None and node not in way:
        way.append(node)
        if given.made_inside(node.called_at, node.place, name) or _is_of_named(node, name):
            return way
        name = given.handed_on(node.called_at, node.place, name)
        if not name:
            break
        node = node.outer.whole()
    return []


def _is_of_named(node: Node, name: str) -> bool:
    """Whether it is about the object of a method that one function calls at several places, so that
    each place has an object of its own.
    """
    if not given.is_of_object(name) or node.outer is None:
        return False
    around = node.outer.whole().frame
    calls = [one for one in node.siblings if one.outer and one.outer.whole().frame == around]
    return len({one.called_at for one in calls if one.called_at[1]}) > 1


def _breaks_of(taken_in: Sequence[Node]) -> Set[Tuple[Any, ...]]:
    """The breaks that keep some functions out of the graphs of what calls them."""
    return {
        _identity(met)
        for one in taken_in
        for met in (one.outer.breaks_inside(one) if one.outer is not None else ())
    }


def _calls(causes: Sequence[Cause]) -> Tuple[List[List[Node]], float]:
    """(the parts that a joined function would compile in one call, for each of its compiles; the
    seconds that a compile of all of them takes).
    """
    parents: Dict[str, List[Node]] = {}  # of a part: the parts whose code leads to it
    parts: Dict[str, Node] = {}
    removed = {_identity(one["break"]) for one in causes}
    for node in {one.key: one for cause in causes for one in cause["nodes"]}.values():
        parts[node.key] = node
        after = _rests_after(node, removed)
        inside = []
        for one in node.frames:
            met = {_identity(each) for each in node.breaks_inside(one)}
            if met and met <= removed:
                inside.append(one)
        for one in after + inside:
            parts[one.key] = one
            parents.setdefault(one.key, []).append(node)
    calls: Dict[str, List[Node]] = {}
    met_at = set()
    whole = []  # seconds of the calls that compile all parts
    for one in sorted(parts.values(), key=_when):
        known = parents.get(one.key, [])
        parent = one.parent if one.parent in known else None
        if known and parent is None:
            parent = max(known, key=lambda other: (other.began <= one.began, other.began))
        group = calls.get(parent.key) if parent is not None else None
        at = (parent.key if parent is not None else "", one.frame)
        if parent is None or group is None or at in met_at:
            calls[one.key] = [one]
            if parent is None:
                whole.append(calls[one.key])
        else:
            calls[one.key] = group
            group.append(one)
        if parent is not None:
            met_at.add(at)
    found = list({id(group): group for group in calls.values()}.values())
    return found, min(map(_joined, whole), default=0.0)


def _joined(parts: List[Node]) -> float:
    """The seconds that one compile of some parts takes."""
    seconds = [one.seconds for one in parts]
    return (max(seconds) + sum(seconds)) / 2


def _when(node: Node) -> Tuple[float, List[int]]:
    # torch numbers functions in the order of their first compiles
    return node.began, [int(one) for one in re.findall(r"\d+", str(node.entry.get("compile_id")))]


def _rests_after(node: Node, removed: Set[Tuple[Any, ...]]) -> List[Node]:
    """What a compile goes on with after one of some breaks of it."""
    ways = [
        node.way_to(raw)
        for raw, told in zip(node.entry.get("breaks") or (), node.breaks)
        if _identity(told) in removed
    ]
    lines = {way[0][1] for way in ways if way}
    if not lines or len(node.cuts) < 2:
        return list(node.children)
    return [one for one in node.children if one.resumes_at in lines]


def _identity(met: Dict[str, Any]) -> Tuple[Any, ...]:
    return met["file"], met["line"], met["what"]
