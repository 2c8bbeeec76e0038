"""What a recompile or a failure comes from: the breaks, functions and objects that cause it."""

import re
from typing import Any, Dict, FrozenSet, List, Set, Tuple

from depyf.advice import NO_ACTION, given, settings_in
from depyf.terminal import place


def seconds_spared(node: Any, nodes: List[Any]) -> float:
    """The seconds that dynamic=True saves of a recompile: it leaves a compile for all values, which
    takes as long as the recompile; what it spares is that for one value, where that is shorter.
    """
    tried = node.reasons[0]["tried"] if node.reasons else ""
    first = [
        one.seconds
        for one in nodes
        if one.frame == node.frame and tried and one.entry.get("compile_id") == tried
    ]
    return float(min([node.seconds] + first))


#: a setting with which sizes that depend on values are in the graph
_OF_SIZES = "capture_dynamic_output_shape_ops"


def next_breaks(cause: Dict[str, Any], advice: str) -> Tuple[Tuple[str, int], ...]:
    """(file, line) of the breaks that torch meets once it traces past one in a function that others
    call, with a size that it does not know, in the order in which they are met. It traces up to
    there for each of the functions around, which may take longer than what the change saves.
    """
    around = {node.frame for node in cause["nodes"]}
    if cause["kind"] != "break" or _OF_SIZES not in settings_in(advice) or len(around) < 2:
        return ()
    met: Dict[Tuple[str, int], None] = {}
    after = [one for node in cause["nodes"] for one in node.children]
    seen = set()
    for one in after:
        met.update(((cut["file"], cut["line"]), None) for cut in one.cuts if cut["line"])
        if one.key not in seen:
            after += one.children
        seen.add(one.key)
    met.pop((cause["break"]["file"], cause["break"]["line"]), None)
    return tuple(met)


def outermost(node: Any) -> Tuple[Any, ...]:
    """The function whose call led to a compile: no rest of one, nor what compiled code calls."""
    met: List[Any] = []
    while not any(node is one for one in met):  # a dump may hold parts that call each other
        met.append(node)
        if node.is_resume and node.callers:
            node = node.callers[0]
        elif node.outer is not None:
            node = node.outer
    return tuple(node.frame)


def of_other_objects(cause: Dict[str, Any], nodes: List[Any]) -> List[Any]:
    """The compiles of a method for other objects than the first that it was compiled for: with one
    compile for what holds them, none of them is made, whatever else its reason is.
    """
    from depyf.report import overview

    name = overview.attribute_of(cause["reason"]["name"])
    frame = cause["nodes"][0].frame
    made = [(one, overview.of_object(one.entry).get(name)) for one in nodes if one.frame == frame]
    known = [(one, value) for one, value in made if value is not None]
    others = [one for one, value in known if value != known[0][1]]
    return cause["nodes"] + [one for one in others if one not in cause["nodes"]]


def breaks_causing(
    cause: Dict[str, Any], causes: List[Dict[str, Any]]
) -> FrozenSet[Tuple[str, int]]:
    """(file, line) of the breaks without which the reason of a recompile is none; empty where it
    stays, as for an argument that the program's own call gives, or what an object or a global
    holds.
    """
    from depyf.report import savings

    nodes = cause["nodes"]
    if cause["kind"] == "failure" and not cause["failure"]["help"]:
        return _made_by(nodes)  # a comprehension that the function around it would have taken in
    if cause["kind"] != "recompile":
        return frozenset()
    if nodes and all(one.reasons and one.reasons[0]["row"] == MADE_BEFORE for one in nodes):
        return _before_all(nodes, causes)
    ways = [savings.made_inside(one) for one in nodes]
    if all(ways):
        return _made_by(list({one.key: one for way in ways for one in way}.values()))
    places: Set[Tuple[str, int]] = set()
    for node in nodes:
        found = {
            (one["break"]["file"], one["break"]["line"])
            for one in causes
            if one["kind"] == "break" and one["break"]["help"] and node.is_resume
            if any(each in node.callers for each in one["nodes"])
            if savings.is_of_break(node, one)
        }
        below = [each for one in node.callers for each in one.cuts_below(node.resumes_at)]
        if not found or not all(each["help"] for each in below):
            return frozenset()
        places |= found | {(each["file"], each["line"]) for each in below}
    return frozenset(places)


#: the row of a value that a call makes before a graph break
MADE_BEFORE = "made before a break"


def _before_all(nodes: List[Any], causes: List[Dict[str, Any]]) -> FrozenSet[Tuple[str, int]]:
    """(file, line) of the breaks between what makes the values of some recompiles and what uses
    them; empty where another value differs, too, or there is no advice for one of the breaks.
    """
    from depyf.report import words

    places: Set[Tuple[str, int]] = set()
    for node in nodes:
        reason, whole = node.reasons[0], node.whole()
        every = [reason["name"], reason["beside"], *reason["differing"]]
        names = [words.argument_of(re.sub(r"^len\((.*)\)$", r"\1", one)) for one in every if one]
        at = node.place[0], node.resumes_at
        lines = [given.made_before(at, one) for one in names] if node.is_resume else []
        found: FrozenSet[Tuple[str, int]] = frozenset()
        if lines and all(lines):
            found = _met_since(node, min(min(one) for one in lines), causes)
        elif all(given.made_by_caller(whole.called_at, whole.place, one) for one in names):
            found = _made_by([whole])
        if not found:
            return frozenset()
        places |= found
    return frozenset(places)


def _met_since(node: Any, line: int, causes: List[Dict[str, Any]]) -> FrozenSet[Tuple[str, int]]:
    """(file, line) of the breaks of a function from a line on up to one of its rests; empty where
    there is no advice for one of them.
    """
    places: Set[Tuple[str, int]] = set()
    work, seen = [node], set()
    while work:
        rest = work.pop()
        seen.add(id(rest))
        found = {
            (one["break"]["file"], one["break"]["line"])
            for one in causes
            if one["kind"] == "break" and one["break"]["help"]
            if any(each in rest.callers for each in one["nodes"])
        }
        below = [each for one in rest.callers for each in one.cuts_below(rest.resumes_at)]
        if not found or not all(each["help"] for each in below):
            return frozenset()
        places |= found | {(each["file"], each["line"]) for each in below}
        before = [one for one in rest.callers if one.is_resume and one.resumes_at >= line]
        work += [one for one in before if id(one) not in seen]
    return frozenset(places)


def _made_by(nodes: List[Any]) -> FrozenSet[Tuple[str, int]]:
    """(file, line) of the breaks without which none of the functions of some compiles would be a
    compile of its own: torch gave up what calls them, or could not take them into the graph. Empty
    where one of them has another caller, or there is no advice for such a break.
    """
    places: Set[Tuple[str, int]] = set()
    for node in (one for node in nodes for one in node.siblings if not one.is_limit):
        outer = node.outer
        if outer is None or outer.is_limit:
            return frozenset()
        met = [outer.failure] if outer.failure else outer.breaks_inside(node)
        found = {(one["file"], one["line"]) for one in met if one["line"]}
        if not found or not all(one.get("help") for one in met):
            return frozenset()
        places |= found
    return frozenset(places)


def recompiled_for(limit: Any, nodes: List[Any]) -> Tuple[str, str, List[Any]]:
    """(what made torch compile a function again and again until it gave it up, what helps, the
    compiles that were made for it); ("", "", []) where torch did not tell.
    """
    from depyf.report import words

    recompiles = [one for one in nodes if one.frame == limit.frame and one.reasons]
    of_it = [one.reasons[0] for one in recompiles]
    met = [(one["kind"], one["name"]) for one in of_it]
    if not met:
        return "", "", []
    # the last of those for what is met most often: why the call that was one too many did not fit
    most = max(met[::-1], key=met.count)
    reason = of_it[len(met) - 1 - met[::-1].index(most)]
    grows = reason["row"].startswith("growing list")
    what = "`%s` grows from call to call" % reason["name"] if grows else reason["words"]
    where = place(reason["file"], reason["line"], False) if reason["line"] else ""
    told = "What makes it recompile: %s%s." % (what, where and words.guarded_at(reason, where))
    helped = reason["help"] if reason["row"] not in NO_ACTION else ()
    kept = _KEPT_ACROSS.search(reason["words"])
    if kept is not None and not helped:
        helped = [_OF_KEPT % place(limit.place[0], int(kept.group("line")), False)]
    made = [one for one, why in zip(recompiles, met) if why == most]
    return told, helped[0] if helped else "", made


#: how the words of a recompile end that a graph break causes by a value that it hands on
_KEPT_ACROSS = re.compile(r"was freed: .*across the graph break at line (?P<line>\d+)\b")
_OF_KEPT = (
    "Remove the graph break at %s, as the advice for that line says: without it no value is kept "
    "across it, and the recompiles are gone, too. A higher limit only delays this."
)
