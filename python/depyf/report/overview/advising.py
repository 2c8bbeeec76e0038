"""What helps with recompiles, where several compiles have to be looked at together."""

import re
from typing import Any, Dict, List, Sequence, Set, Tuple

from depyf import advice
from depyf.advice import breaks, conditions, flows, given, uses
from depyf.report import words
from depyf.report.overview.guards import (
    asked_for,
    attribute_of,
    changing_floats,
    differing_in,
    known_of,
    numbers_beside,
    of_object,
)
from depyf.report.overview.node import Node


def tell_differing(nodes: Sequence[Node]) -> None:
    """Says in the advice for a recompile what else has to change to spare it."""
    for node in nodes:
        for reason in node.reasons[:1]:
            if not reason["help"] or reason["of_another"]:
                continue
            if reason["row"] in advice.NORMAL + advice.NO_ACTION + ("value of each object",):
                continue
            tried = node.tried(reason["tried"])
            others = _differing_least(node, reason)
            if reason["beside"]:  # told already, with what makes it symbolic
                lengths = [one for one in others if one[0].startswith("len(")]
                others = [one for one in lengths if one[0] != "len(%s)" % reason["beside"]]
            owner = _changed_whole(reason)  # one change of all that it holds
            if owner:
                beside = [one for one in others if not one[0].startswith(owner + "[")]
                if reason["row"] == "text" and len(beside) < len(others):
                    words.describe_texts(reason)
                others = beside
            value = asked_for(node.entry, reason["name"])
            if reason["row"] == "none" and "." in reason["name"] and value[:1] in ("'", '"'):
                words.describe_set_later(reason, value)
            if others:
                words.describe_differing(reason, others)
            elif tried is not None and not reason["beside"]:
                words.describe_numbers(reason, numbers_beside(reason, tried, node.entry))


def _differing_least(node: Node, reason: words.Said) -> List[Tuple[str, str, str]]:
    """As `differing_in`, of the earlier compile that differs in least of those that do not fit for
    the same as a reason: without it, that one may fit.
    """
    same = [one for one in node.reasons if (one["row"], one["name"]) == _what(reason)]
    tried = [node.tried(one["tried"]) for one in [reason] + same]
    return min((differing_in(reason, one, node.entry) for one in tried if one), key=len, default=[])


def _what(reason: words.Said) -> Tuple[str, str]:
    return reason["row"], reason["name"]


def _changed_whole(reason: words.Said) -> str:
    """The dict or list of whose values the advice for a recompile covers all; "" for none."""
    if reason["row"] == "text":
        match = _ELEMENT.match(reason["name"])
        return match.group("owner") if match else ""
    if reason["row"] in ("growing dict", "dict that is filled", "dict that is given keys"):
        return str(reason["name"]).partition("[")[0]
    return reason["name"].partition("[")[0] if reason["row"] == "counter in a dict" else ""


#: an element of a list by its place
_ELEMENT = re.compile(r"^(?P<owner>[A-Za-z][\w.]*)\[\d+\]$")


def advise_of_objects(nodes: Sequence[Node]) -> None:
    """Where one method serves several objects, such as layers, each has a compile of its own for
    each state: what is normal of the first is spared for the others by what helps them all.
    """
    told: Dict[Tuple[Any, ...], words.Said] = {}  # of a frame: why it is compiled for each object
    normal: Dict[Tuple[Any, ...], Node] = {}  # of a frame and a row: the first that is normal
    for node in nodes:
        for reason in node.reasons[:1]:
            if reason["row"] == "value of each object":
                told.setdefault(node.frame, reason)
                if reason["help"] and uses.used_in_turn(*node.place):
                    words.describe_in_turn(reason)
            if reason["row"] not in advice.NO_ACTION:
                continue
            first = normal.setdefault((node.frame, reason["row"]), node)
            known = told.get(node.frame)
            if known is None or first is node:
                continue
            before = of_object(first.entry).get(attribute_of(known["name"]))
            now = of_object(node.entry).get(attribute_of(known["name"]))
            if before is not None and now is not None and before != now:
                words.describe_state_of_object(reason, known, before, now)


def advise_of_floats(nodes: Sequence[Node]) -> None:
    """Where torch asks for a number that it computed from a float, it names no line of the program:
    what helps is what helps at the line that uses the float, which an earlier compile told.
    """
    told: Dict[Tuple[Any, ...], words.Said] = {}
    for node in nodes:
        for reason in node.reasons:
            known = told.get((node.frame, reason["name"]))
            if reason["kind"] == "value":
                told.setdefault((node.frame, reason["name"]), reason)
            elif known is not None and words.is_of_float(reason["raw"]):
                reason.update({key: known[key] for key in ("row", "help", "patches")})


def advise_of_constants(nodes: Sequence[Node]) -> None:
    """Where what is computed from a number turned out to be a constant, as `max(lengths)` in a
    range, a compile for any number spares little: what helps there helps for the number as well.
    """
    later: Dict[Tuple[Any, ...], List[words.Said]] = {}
    for node in reversed(nodes):
        known = later.setdefault(node.frame, [])
        for reason in node.reasons:
            computed = [
                one
                for one in known
                if one["name"] != reason["name"]
                and conditions.asks_of(one["name"] + " == ", reason["name"])
            ]
            if computed and reason["kind"] == "value" and reason["row"] in words.SYMBOLIC:
                reason.update({key: computed[-1][key] for key in ("row", "help", "patches")})
        known += [one for one in node.reasons[:1] if one["kind"] == "value" and one["help"]]


def advise_limits(nodes: Sequence[Node]) -> None:
    """Where torch makes no compile any more, what helps is what would have spared those before: of
    the one that was not made nothing else is known.
    """
    before: Dict[Tuple[Any, ...], List[Node]] = {}
    for node in nodes:
        known = before.setdefault(node.frame, [])
        if not node.is_limit:
            known.append(node)
            continue
        told = {(one["kind"], one["name"]): one for other in known for one in other.reasons[:1]}
        source = next((one.function["source"] for one in known if one.function), "")
        settings = next((one.entry.get("metrics") for one in known), None) or {}
        for reason in node.reasons:
            same = told.get((reason["kind"], reason["name"]))
            if same is not None:
                reason.update({key: same[key] for key in ("row", "help", "patches")})
                reason["listed"] = True
            else:
                words.describe_static(reason, settings.get("settings"), str(source or ""))


def advise_of_globals(nodes: Sequence[Node]) -> None:
    """Where a graph break has torch compile a method by itself, and the code that calls it reaches
    the object by a global, a setting for numbers of modules helps only while the break is there.
    """
    for node in nodes:
        for reason in node.reasons:
            if any(words.OF_MODULES in one for one in reason["patches"]):
                name = _global_to(node.whole(), words.argument_of(reason["name"]))
                if name:
                    words.describe_reached(reason, node.whole().title, name)


def _global_to(node: Node, name: str) -> str:
    """The global by which compiled code around a compile reaches what that has as a name; "" for
    none, and where it is not known.
    """
    met: Set[int] = set()
    while node.outer is not None and id(node) not in met:
        met.add(id(node))  # a dump may hold parts that call each other
        root, is_global = given.reached_by(node.called_at, node.place, name)
        if is_global or not root:
            return root
        name = root + "." if root == "self" else root
        node = node.outer.whole()
    return ""


def advise_of_strings(nodes: Sequence[Node]) -> None:
    """Where a number becomes symbolic, or is so in a function that torch gave up, torch may lose a
    string that is made of it, once the change of a recompile is made: that string comes first.
    """
    limited = {node.frame for node in nodes if node.is_limit}
    for node in nodes:
        given_up = node.frame in limited
        for reason in node.reasons[:1]:
            settings = [one for one in reason["patches"] if "allow_unspec_int" in one]
            if reason["help"] and (settings or given_up) and reason["row"] not in _OF_STRINGS:
                reached = _reached(nodes, node)
                told = [each for one in reached for each in one.reasons]
                names = {one["name"] for one in told if words.is_number(one["before"])}
                names |= {name for one in reached for name in known_of(one.entry).numbers}
                places = {one.place for one in reached}
                places |= {(one["file"], one["line"]) for one in told}
                words.name_formatted(reason, sorted(places), names - {""})


def advise_of_sides(nodes: Sequence[Node]) -> None:
    """Where a branch on a tensor is to be computed in the graph, a float that changes may become a
    constant of it by what a side calls: it is to be a tensor first.
    """
    for node in nodes:
        for said in node.breaks:
            at = uses.decided_at(said["file"], said["line"]) or said["line"]
            lines = uses.lines_of_sides(said["file"], at)
            if said["row"] not in breaks.DECIDE or not lines:
                continue
            function = uses.function_around(said["file"], at)
            names = {
                name
                for one in nodes
                if one.place[0] == said["file"] and _function_of(one) is function
                for name in changing_floats(one)
            }
            used = [
                one
                for one in flows.number_uses((said["file"], at), names)
                if one.kind == flows.OPERATOR and one.file == said["file"] and one.line in lines
            ]
            if used:
                words.name_floats_of_sides(said, used)


def _function_of(node: Node) -> Any:
    """The function of the program that a compile, or the rest that it is of, is in."""
    return uses.function_starting_at(*node.place) or uses.function_around(*node.place)


#: rows whose advice is about the string, or what is shown, itself
_OF_STRINGS = ("integer in a text", "number that decides what is shown")


def _reached(nodes: Sequence[Node], first: Node) -> List[Node]:
    """The compiles of a function, of its rests, and of what these call."""
    work = [one for one in nodes if one.frame == first.frame]
    found: Dict[int, Node] = {}
    while work:
        node = work.pop()
        if id(node) not in found:
            found[id(node)] = node
            work += node.children + node.frames
    return list(found.values())


def drop_marks_inside(nodes: Sequence[Node]) -> None:
    """Drops advice to mark a tensor before the call for the rest of a function that compiled code
    calls: the tensor may be made there.
    """
    for node in nodes:
        if node.is_resume and node.whole().outer is not None:
            for reason in node.reasons:
                words.drop_marks(reason)
