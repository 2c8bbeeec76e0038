"""`depyf run --advise`: the changes that are worth most, with a patch where one can be written.

A patch is written from the program's syntax tree, for the plain forms of a statement only. What is
changed is text between columns of one statement, so that the rest of the file stays as it is.
"""

import ast
import difflib
import functools
import heapq
import os
import re
import textwrap
import tokenize
from collections import namedtuple
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Sequence, Set, Tuple

from depyf import compiling
from depyf.advice import MODES, NO_ACTION, OF_LIST, OUTSIDE, breaks, sides, uses
from depyf.schema import Document
from depyf.terminal import place, short_path, shown

#: `seconds` of compiling that it would save at most, each counted once: `each` has them by the key
#: of the compile (`overview.Node.key`) that took them; `kind` as in `overview.causes`; `words` say
#: what happened at `file` and `line`, `advice` what to change; `patch` is a unified diff, or "";
#: `row` is that of `depyf.advice`, `function` what torch compiled, as `overview.Node.frame`;
#: `caller` is the reader's own line (file, line, code) that led into a library's, ("", 0, "") for
#: none; `gave_up`: after how many compiles torch gave the function up, 0 where it did not; `within`
#: are the (file, line) of the breaks without which the function would be no compile of its own;
#: `also` are the changes that the same patch or advice makes elsewhere, `gone` those of which
#: nothing is left after it, both with the costliest first; `shown_at`
#: is (file, line) of what is to be edited, where that is not the place of the cause; `outermost`
#: are the functions, as `function`, whose calls led there: those of the program's torch.compile;
#: `unsure`: (file, line) of the breaks that stay, and because of which torch may need more time
#: after the change than before, so that `seconds` are no figure, the first that is met first;
#: `cause` is the one of `overview.causes`; `alone` are the seconds that it would save without the
#: changes above it, where `seconds` are what is left after them
Change = namedtuple(
    "Change",
    "seconds kind file line words advice patch row function caller gave_up each within also gone "
    "shown_at outermost unsure cause alone",
)

#: what a patch asks of a run: the file that it began with, and its nodes
_Known = namedtuple("_Known", "program nodes")

_GAVE_UP = (
    "torch stopped compiling the function after %d compile%s: calls that fit none of them run "
    "uncompiled"
)
#: recompiles without advice that are told; the rest is counted
_MOST_LEFT = 3
#: other places of one change that are named; the rest is counted
_NAMED = 4


def changes(document: Document, most: int = 3) -> List[Change]:
    """The changes worth most in a run, the one that saves most first; failures are among them.

    A function that torch gave up is among them whatever it saves: it runs uncompiled at each call.
    To be among them, the seconds of a graph break count twice: a break costs time at each call,
    too.
    Changes of one patch or advice are one change with the seconds of all. What needs no action is
    no change, nor is a limit that was reached by a recompile that is listed, nor what another
    change leaves nothing of: a function that is a compile of its own because of a break alone.
    The numbers of changes are those of all of them, from three on.

    Args:
        document: see `depyf.summary.load`.
        most: how many.
    """
    return Advice(document).listed(most)[:most]


class Advice:
    """The changes of a run, found once for all that tell of them: the terminal, the dump's README,
    the page.

    Attributes:
        document: the run.
        nodes: as `overview.nodes_of` gives them, with what is advised here as what helps first.
        causes: as `overview.causes` gives them.
        found: a change for each cause for which there is advice, the most important first.
    """

    def __init__(self, document: Document, nodes: Optional[Sequence[Any]] = None) -> None:
        from depyf.report import overview

        self.document = document
        self.nodes = overview.nodes_of([document]) if nodes is None else list(nodes)
        self.causes = overview.causes(self.nodes)
        self.found = _found(document, self.nodes, self.causes)
        for one in self.found:
            _lead_with(one)
        self._listed: Dict[int, List[Change]] = {}

    def listed(self, most: int = 3) -> List[Change]:
        """All changes in the order in which they are numbered: the `most` that are worth most by
        what each saves, then the others by what each saves.
        """
        most = min(most, _CHOSEN)
        if most not in self._listed:
            self._listed[most] = _listed(self.found, most)
        return self._listed[most]

    def ranked(self) -> Dict[int, Tuple[int, str, str]]:
        """What the list of changes has of causes, for what lists these.

        Returns:
            By the id of a cause: its place in the order; what its change saves, or where that is
            counted; and what is said of it instead of advice where another change leaves nothing
            of it.
        """
        found: Dict[int, Tuple[int, str, str]] = {}
        for change in self.listed():
            at = place(*_shown_at(change), False)
            told = "Nothing is left of it after the change at %s." % at
            rows = [(change, _saved(change), "")]
            rows += [(one, "counted at " + at, "") for one in change.also]
            rows += [(one, "counted at " + at, told) for one in change.gone]
            for one, saved, gone in rows:
                found.setdefault(id(one.cause), (len(found) + 1, saved, gone))
        return found

    def brief(self) -> List[str]:
        """The changes that are worth most as the lines of a list in Markdown, without patches."""
        rows = []
        for number, one in enumerate(self.listed()[:_CHOSEN], 1):
            file, line = _shown_at(one)
            words = " ".join(one.words.split()) + _gave_up(one, number, {}) + _left_out(one)
            words += "" if words.endswith(".") else "."
            head = "%d. %s, %s: %s" % (number, _saved(one), place(file, line, False), words)
            rows.append(shown("%s Change: %s" % (head, " ".join(one.advice.split()))))
        return rows

    def heads(self) -> List[Tuple[Dict[str, Any], str, str]]:
        """(cause, what its change saves, advice) of each change, in their order."""
        return [(one.cause, _saved(one), one.advice) for one in self.listed()]


#: changes that are worth most, and stand before the others
_CHOSEN = 3


def _lead_with(change: Change) -> None:
    """Has the advice of a change stand first where its break is told elsewhere, without what was
    passed over for it.
    """
    said = change.cause.get("break") or change.cause.get("failure")
    if said is None or not change.advice:
        return
    known = said["file"], said["line"], said["row"]
    for node in change.cause["nodes"]:
        for one in node.breaks + ([node.failure] if node.failure else []):
            if (one["file"], one["line"], one["row"]) == known and one["help"][:1]:
                at = one["help"].index(change.advice) if change.advice in one["help"] else None
                one["help"] = [change.advice] if at is None else one["help"][at:]
                one["patches"] = [""] if at is None else one["patches"][at:]


def _listed(found: List[Change], most: int) -> List[Change]:
    """See `Advice.listed`."""
    merged = _without_done(_one_for_each_advice(_without_gone(_merged(found))))
    every = [each for one in merged for each in (one,) + one.also + one.gone]
    recompiled = {one.function for one in every if one.kind == "recompile"}
    kept = [one for one in found if one.row != "limit" or one.function not in recompiled]
    if len(kept) < len(found):
        return _listed(kept, most)
    order = _Order(merged)
    chosen = _taken_one_by_one(merged, {}, order.rank, most, order.told)
    places = {id(one.cause) for one in chosen}
    taken: Dict[str, float] = {}
    first = _taken_one_by_one(chosen, taken, order.by_saving)
    others = [one for one in merged if id(one.cause) not in places]
    return first + _taken_one_by_one(others, taken, order.by_saving)


def _taken_one_by_one(
    changes: List[Change],
    taken: Dict[str, float],
    rank: Callable[[Change], Tuple[Any, ...]],
    most: Optional[int] = None,
    told: Optional[Set[Any]] = None,
) -> List[Change]:
    """The changes in the order in which each is the first of those left, with the `seconds` that
    are left of it after those before it; of those that are alike, the first given.

    Args:
        taken: what those above save, by the keys of compiles, to which theirs is added.
        rank: by which the least is the first.
        most: how many are wanted.
        told: the functions that those above keep from running uncompiled, as `taken`.
    """
    waiting = [(rank(one), at) for at, one in enumerate(_left(one, taken) for one in changes)]
    heapq.heapify(waiting)
    found: List[Change] = []
    while waiting and (most is None or len(found) < most):
        at = heapq.heappop(waiting)[1]
        one = _left(changes[at], taken)
        if waiting and (rank(one), at) > waiting[0]:  # less is left of it than before
            heapq.heappush(waiting, (rank(one), at))
            continue
        found.append(one)
        if told is not None:
            told |= _spares(one)
        if not one.unsure:
            taken.update((key, max(value, taken.get(key, 0.0))) for key, value in one.each.items())
    return found


def _left(change: Change, taken: Dict[str, float]) -> Change:
    """A change with the seconds that it saves beyond those that are taken."""
    left = [max(0.0, value - taken.get(key, 0.0)) for key, value in change.each.items()]
    return change._replace(seconds=sum(left), alone=sum(change.each.values()))


#: a setting in an advice or a patch
_SETTING = re.compile(r"\btorch\._dynamo\.config\.\w+ = True")


def _without_done(ordered: List[Change]) -> List[Change]:
    """The changes, without those that make a setting alone which is a part of one above them."""
    kept: List[Change] = []
    for one in ordered:
        made = re.findall(r"(?m)^\+(?!\+)(.+)$", one.patch)
        alone = one.advice.startswith(made[-1]) if made and _SETTING.match(made[-1]) else False
        at = next(
            (at for at, each in enumerate(kept) if alone and made[-1] in each.advice), len(kept)
        )
        if at < len(kept):
            kept[at] = _joined([kept[at], one])._replace(patch=kept[at].patch or one.patch)
        else:
            kept.append(one)
    return kept


def _found(document: Document, nodes: List[Any], causes: List[Dict[str, Any]]) -> List[Change]:
    """A change for each cause for which there is advice, the most important first."""
    from depyf.report import overview

    found = []
    reasons = []  # of the recompiles among them
    gave_up = {node.frame for node in nodes if node.is_limit}
    known = _Known(_program_of(document, nodes), nodes)
    for cause in causes:
        said = cause.get("reason") or cause.get("break") or cause["failure"]
        within = _breaks_causing(cause, causes)
        if said["row"] in NO_ACTION or not said["help"] and not within:
            continue
        node = cause["nodes"][0]
        file, line = (said["file"], said["line"]) if cause["kind"] != "recompile" else node.place
        if cause["kind"] == "failure" and not line:
            file, line = node.place
        words = said["words"] if cause["kind"] == "recompile" else said["why"]
        words += _beside(cause) if cause["kind"] == "recompile" else ""
        stopped = cause["kind"] == "recompile" and node.frame in gave_up
        caller = node.caller if cause["kind"] == "recompile" else said["caller"]
        if not caller[1] and cause["kind"] == "failure":
            caller = node.caller
        advice, patch = "", ""
        if said["help"]:
            of_compile = _outermost(node)[1] if cause["kind"] == "recompile" else ("", 0)
            advice, patch = _first_patch(said, file, line, known, caller, of_compile)
        if said["row"] == "global state" and "grad mode" in words and known.program:
            switched = uses.mode_switched_at(known.program)
            advice += _SWITCHED % place(known.program, switched, False) if switched else ""
        each = cause["each"]
        again = cause["nodes"] if cause["kind"] == "recompile" else []
        if said["row"] == "limit":
            whys = [_recompiled_for(one, nodes) for one in cause["nodes"]]
            words += "".join(dict.fromkeys(" " + told for told, _, _ in whys if told))
            advice = next((helped for _, helped, _ in whys if helped), advice)
            again = [one for _, _, made in whys for one in made]
            within = _breaks_causing({"kind": "recompile", "nodes": again}, causes)
            each = overview.joined(each, {one.key: one.seconds for one in again})
        if said["row"] == "value of each object":
            again = _of_other_objects(cause, nodes)
            each = overview.joined(each, {one.key: one.seconds for one in again})
        if again and _FROM_THE_SECOND in advice:
            each = dict(each, **{again[0].key: 0.0})  # the recompile for the second value stays
        if again and "dynamic=True)" in advice and _FROM_THE_SECOND not in advice:
            each = dict(each, **{one.key: _spared(one, nodes) for one in again if one.key in each})
        told = (sum(each.values()), cause["kind"], file, line, words, advice, patch)
        more = {"row": said["row"], "function": node.frame, "caller": caller, "each": each}
        more["gave_up"] = overview.compiled_times(nodes, node) if stopped else 0
        more.update(within=within, cause=cause)
        more["unsure"] = _next_breaks(cause, advice)
        if said["row"] == "branch" and advice.startswith(("torch.where", "torch.cond")):
            left = uses.values_needed_in_sides(file, line)  # there the graph breaks instead
            more["unsure"] += tuple((file, one) for one in left)
        more["outermost"] = frozenset(map(_outermost, cause["nodes"]))
        more["shown_at"] = _read_at(said, (file, line)) if cause["kind"] == "recompile" else None
        found.append(Change(*told, also=(), gone=(), alone=0.0, **more))
        reasons.append(cause.get("reason") or {})
    one_for_each = _with_one_advice_for_a_line(_merged_by_value(found, reasons, known))
    return sorted(one_for_each, key=_rank)


#: what is told beside grad mode, which is often changed together with the mode of a module
_SWITCHED = (
    " Where a module is in training mode at one call and not at another, which %s changes, torch "
    "compiles for each, too."
)


def _program_of(document: Document, nodes: List[Any]) -> str:
    """The file that a run began with, "" where it is not known: a path that is relative is so to
    where the program ran, which the files of its functions tell.
    """
    named = str(document.get("program") or "")
    if named and not os.path.isabs(named):
        end = os.sep + os.path.normpath(named)
        return next((file for file, _ in (one.place for one in nodes) if file.endswith(end)), named)
    return named


def _with_one_advice_for_a_line(found: List[Change]) -> List[Change]:
    """The changes, with what helps where torch gave a function up at a line for all that is told of
    that line: a graph that is cut there when another function is compiled needs no other change.
    """
    gave_up = {(one.file, one.line, one.row): one for one in found if _fails(one)}
    kept = []
    for one in found:
        first = gave_up.get((one.file, one.line, one.row)) if one.kind == "break" else None
        same = {"advice": first.advice, "patch": first.patch} if first is not None else {}
        kept.append(one._replace(**same))
    return kept


def _read_at(said: Dict[str, Any], function_at: Tuple[str, int]) -> Optional[Tuple[str, int]]:
    """The place of the program that reads or changes the value of a recompile; None where torch
    does not tell, and where it is a library's.
    """
    from depyf.report import words

    file = said["file"]
    if file and not os.path.isabs(file) and function_at[0].endswith(file):
        file = function_at[0]
    of_value = said["kind"] in ("value", "container") and said["line"] and os.path.isabs(file)
    return (file, said["line"]) if of_value and not words.in_library(file) else None


def _shown_at(change: Change) -> Tuple[str, int]:
    return change.shown_at or (change.file or "?", change.line)


def _merged_by_value(
    found: List[Change], reasons: List[Dict[str, Any]], known: "_Known"
) -> List[Change]:
    """The changes with one for each value: a recompile for which another value, too, was a constant
    is joined to the change of that value, with what helps besides.
    """
    of_value = {
        (change.function, reason["name"]): at
        for at, (change, reason) in enumerate(zip(found, reasons))
        if reason and not reason["beside"]
    }
    kept: List[Optional[Change]] = list(found)
    for at, reason in enumerate(reasons):
        first = of_value.get((found[at].function, reason["beside"])) if reason else None
        if first is not None and reason["beside"]:
            change = _joined([one for one in (kept[first], found[at]) if one is not None])
            own = reason["own"]
            advice = change.advice if own in change.advice else "%s %s" % (change.advice, own)
            patch = change.patch
            set_there = re.findall(r"(?m)^\+(torch\.\S+ = \S+)$", patch)
            if len(set_there) == 1 and "torch.compile(..., dynamic=True)" in own:
                where = change.file, change.line, known, change.caller[:2]
                patch = _patch(set_there[0], *where, dynamic=True) or patch
            kept[first], kept[at] = change._replace(advice=advice, patch=patch), None
    return [one for one in kept if one is not None]


def _spared(node: Any, nodes: List[Any]) -> float:
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


#: a setting with which numbers that depend on values are in the graph
_OF_NUMBERS = "capture_scalar_outputs = True"
#: a setting with which sizes that depend on values are in the graph
_OF_SIZES = "capture_dynamic_output_shape_ops = True"


def _next_breaks(cause: Dict[str, Any], advice: str) -> Tuple[Tuple[str, int], ...]:
    """(file, line) of the breaks that torch meets once it traces past one in a function that others
    call, with a size that it does not know, in the order in which they are met. It traces up to
    there for each of the functions around, which may take longer than what the change saves.
    """
    around = {node.frame for node in cause["nodes"]}
    if cause["kind"] != "break" or _OF_SIZES not in advice or len(around) < 2:
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


def _outermost(node: Any) -> Tuple[Any, ...]:
    """The function whose call led to a compile: no rest of one, nor what compiled code calls."""
    met: List[Any] = []
    while not any(node is one for one in met):  # a dump may hold parts that call each other
        met.append(node)
        if node.is_resume and node.callers:
            node = node.callers[0]
        elif node.outer is not None:
            node = node.outer
    return tuple(node.frame)


def _of_other_objects(cause: Dict[str, Any], nodes: List[Any]) -> List[Any]:
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


def _breaks_causing(
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


def _without_gone(merged: List[Change]) -> List[Change]:
    """The changes, with those of which another leaves nothing as its `gone`."""
    kept = list(merged)
    for one in merged:
        for at, other in enumerate(kept):
            removed = {
                (each.file, each.line)
                for each in (other,) + other.also
                if not each.within and each.kind != "recompile"
            }
            if all(each.within and each.within <= removed for each in (one,) + one.also):
                kept[at] = _and_gone(other, one)
                kept.remove(one)
                break
    return sorted(kept, key=_rank)


def _and_gone(change: Change, gone: Change) -> Change:
    from depyf.report import overview

    each = overview.joined(change.each, gone.each)
    more = change.gone + (gone._replace(also=()),) + gone.also
    whole = change._replace(each=each, seconds=sum(each.values()), gone=more)
    return whole._replace(unsure=_staying(whole))


def _recompiled_for(limit: Any, nodes: List[Any]) -> Tuple[str, str, List[Any]]:
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
    told = "What makes it recompile: %s%s." % (
        what,
        where and ", " + words.guarded_at(reason, where),
    )
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
#: a setting that makes a number symbolic from its second value on
_FROM_THE_SECOND = "allow_unspec_int_on_nn_module"
#: what begins the sentence of the other reasons of a recompile
_BESIDE = ". Earlier compiles did not fit for other reasons, too: "
#: other reasons that are named beside one
_MOST_BESIDE = 2


def _beside(cause: Dict[str, Any]) -> str:
    """What else the compiles of a cause differ in from earlier ones: to mend one may spare none."""
    first = cause["reason"]
    others = [
        one["words"].partition("; ")[0]
        for node in cause["nodes"]
        for one in node.reasons[1:]
        if one["name"] != first["name"] and one["row"] not in MODES and not one["of_another"]
    ]
    named = list(dict.fromkeys(others))[:_MOST_BESIDE]
    return _BESIDE + "; ".join(named) if named else ""


#: a break costs time at each call, too, which its seconds of compiling leave out
_OF_A_BREAK = 2
#: parts of all compiling; what differs by less is no difference, as times vary from run to run
_PARTS = 40
#: seconds of a compile that count
_LEAST = 0.005


def _weight(one: Change) -> float:
    return one.seconds * (_OF_A_BREAK if one.kind == "break" else 1)


class _Order:
    """The order of some changes: by parts of all compiling, so that two runs of a program have one
    order; what is alike in that by the number of compiles, and then by place.

    Attributes:
        told: the functions that a change before keeps from running uncompiled.
    """

    def __init__(self, found: Sequence[Change]) -> None:
        from depyf.report import overview

        every: Dict[str, float] = {}
        for one in found:
            every = overview.joined(every, one.each)
        self.part = max(sum(every.values()) / _PARTS, _LEAST)
        self.told: Set[Any] = set()

    def rank(self, one: Change) -> Tuple[Any, ...]:
        """What runs uncompiled and would not after the change first, of a function once, then what
        costs most: which changes are listed.
        """
        spared = _spares(one) - self.told
        return (not spared, bool(one.unsure)) + self._by(one, _weight(one))

    def by_saving(self, one: Change) -> Tuple[Any, ...]:
        """What saves most first."""
        return (bool(one.unsure),) + self._by(one, one.seconds)

    def _by(self, one: Change, seconds: float) -> Tuple[Any, ...]:
        compiles = sum(1 for value in one.each.values() if value >= _LEAST)
        return -round(seconds / self.part), -compiles, _shown_at(one)


def _spares(one: Change) -> Set[Any]:
    """The functions that run uncompiled, and would not after a change."""
    return {
        each.function
        for each in (one,) + one.gone
        if each.gave_up > 0 or each.row == "limit" or _fails(each) and not _line_left(one, each)
    }


def _rank(one: Change) -> Tuple[Any, ...]:
    return not _spares(one), bool(one.unsure), -_weight(one)


def _fails(one: Change) -> bool:
    return one.kind == "failure" and one.row not in ("nothing to compile", "limit")


def _merged(found: List[Change]) -> List[Change]:
    """The changes with those of one patch, of one advice without a patch, or of the objects that
    one method serves, joined.
    """
    groups: Dict[Tuple[Any, ...], List[Change]] = {}
    for one in _as_removed(found):
        # a recompile that a break causes is not a separate change: see `_without_gone`
        apart = (one.within, one.words if one.within else "")
        same: Tuple[Any, ...] = (one.patch, "" if one.patch else one.advice)
        if one.row == "value of each object":  # whatever they differ in, one compile holds them
            same = one.row, one.function
        groups.setdefault(same + apart, []).append(one)
    costly = [sorted(group, key=_by_cost) for group in groups.values()]
    return sorted(map(_joined, costly), key=_rank)


def _as_removed(found: List[Change]) -> List[Change]:
    """The changes, with a recompile as one that no break causes where no patch or advice removes
    all of its breaks: those that are left make a rest that guards the same.
    """
    removed: Dict[Tuple[str, str], Set[Tuple[str, int]]] = {}
    for one in found:
        if not one.within and one.kind != "recompile":
            places = removed.setdefault((one.patch, "" if one.patch else one.advice), set())
            places.add((one.file, one.line))
    kept = []
    for one in found:
        apart = one.kind == "recompile" and not any(map(one.within.issubset, removed.values()))
        one = one._replace(within=frozenset()) if apart else one
        if one.within or one.advice:
            kept.append(one)
    return kept


def _by_cost(one: Change) -> Tuple[bool, float]:
    """As `_rank`, with what costs most first, whatever is left of it after a change."""
    return _rank(one)[0], -one.cause["cost"]


def _joined(group: List[Change]) -> Change:
    """The first of some changes, with the others as its `also`."""
    from depyf.report import overview, savings

    first = group[0]
    each = functools.reduce(overview.joined, [one.each for one in group])
    flat = [one for other in group[1:] for one in (other._replace(also=(), gone=()),) + other.also]
    gone = tuple(one for other in group for one in other.gone)
    more = {"also": first.also + tuple(flat), "gone": gone}
    breaks_of = [one.cause for one in (first,) + more["also"] if one.kind == "break"]
    if len(breaks_of) > 1:  # without all of them more is compiled together than without each
        each = overview.joined(each, savings.without_breaks(breaks_of))
    unsure = tuple(dict.fromkeys(place for one in group for place in one.unsure))
    whole = first._replace(seconds=sum(each.values()), each=each, unsure=unsure, **more)
    return whole._replace(unsure=_staying(whole))


def _staying(change: Change) -> Tuple[Tuple[str, int], ...]:
    """What a change has as `unsure`, without the breaks that it removes itself."""
    removed = {
        (one.file, one.line)
        for one in (change,) + change.also + change.gone
        if one.kind != "recompile"
    }
    return tuple(place for place in change.unsure if place not in removed)


def _one_for_each_advice(merged: List[Change]) -> List[Change]:
    """The changes with those without a patch joined to one of the same advice with a patch."""
    patched: Dict[str, Change] = {}
    for one in merged:
        if one.patch:
            patched.setdefault(one.advice, one)
    kept = []
    for one in merged:
        first = patched.get(one.advice)
        if one is first:
            others = [each for each in merged if each.advice == one.advice and not each.patch]
            kept.append(_joined([one] + others))
        elif one.patch or first is None:
            kept.append(one)
    return sorted(kept, key=_rank)


def text(
    document: Document, links: bool = False, most: int = 3, advice: Optional[Advice] = None
) -> str:
    """The changes as text for a terminal.

    Args:
        advice: the changes of the document, where they are known.
    """
    from depyf.report import overview

    rows = []
    advice = Advice(document) if advice is None else advice
    nodes, causes, found = advice.nodes, advice.causes, advice.found
    listed = advice.listed(most)
    top, others = listed[:most], listed[most:]
    given_up: Dict[Any, int] = {}  # function -> the number of the change at which that is told
    for number, one in enumerate(top, 1):
        file, line = _shown_at(one)
        head = "%d. %s  %s" % (number, _saved(one), place(file, line, links))
        told = [_plain(one.words + _gave_up(one, number, given_up) + _left_out(one))]
        told += _elsewhere(one, number, given_up, links)
        told += [
            _FIRST % place(*_shown_at(each), links) for each in _float_first(one, top + others)
        ]
        told += ["change: " + _plain(one.advice)] + _not_patched(one, nodes, links)
        told += _longer(one, links)
        told += _gone(one, number, given_up, links)
        told[:0] = _called_from(one, links)
        rows.append("\n   ".join([head] + told))
        if one.patch and not _waits(one, top[: number - 1]):
            rows.append(textwrap.indent(shown(one.patch.rstrip("\n")), "   "))
    rows += _together(top, nodes)
    if others:
        options = {"break": "--breaks", "recompile": "--recompiles", "failure": ""}
        given = sorted({options[each.kind] for one in others for each in (one,) + one.also} - {""})
        more = "and %d more" % len(others)
        folder = document.get("folder")  # else to see them takes another run
        known = shown(short_path(folder)) if isinstance(folder, str) else ""
        shows = "depyf report --advise " + known if known else ""
        shows = shows or "depyf run %s" % " or ".join(given) if shows or given else ""
        rows.append(more + (": " + shows if shows else ""))
    rows += _compiled_anyway(top, causes, links)
    normal = _normal(causes, links)
    rows = rows or ["nothing to advise"]
    if normal:
        rows += ["what needs no action:"] + normal
    rows += _without_advice(found, causes, links) + _hinted(causes, links)
    rows += _drawn_by_torch(nodes, links)
    skips = document.get("cudagraph_skips") or ()
    if skips:
        rows.append("torch ran graphs without CUDA graphs:")
        rows += ["   " + shown(one) for one in skips if isinstance(one, str)]
    avoidable = overview.avoidable(nodes)
    if avoidable:
        rows.append(_WENT_TO + (_COUNTS_TWICE if overview.overlap(avoidable) else "") + ":")
    for cost in avoidable:
        detail = ": " + cost["details"][0] if cost["details"] else ""
        beside = len(cost["details"]) - 1
        if beside > 0:
            detail += " and for %d other reason%s" % (beside, "" if beside == 1 else "s")
        rows.append(shown("%9.2f s  %s%s" % (cost["seconds"], cost["what"], detail)))
        if cost["help"]:
            rows.append(shown("%12s%s" % ("", cost["help"])))
    return "\n".join(rows)


#: the heading of rows that tell what compiling was for; what can be saved is told of the changes
_WENT_TO = "compile time by what it was for"
_COUNTS_TWICE = ", where a compile can count in several rows"


def _waits(change: Change, above: List[Change]) -> bool:
    """Whether a change is to be made after one that does not stand above it."""
    from depyf.report.words.stacks import short_place

    first = re.match(r"First change (.+?), where ", change.advice)
    told = {short_place(*_shown_at(each)) for one in above for each in (one,) + one.also}
    return first is not None and not set(first.group(1).split(", ")) <= told


def _saved(change: Change) -> str:
    """What a change saves, in words."""
    if change.unsure:
        return "may save or cost compile time"
    more = " more" if change.alone - change.seconds >= 0.005 else ""
    return (
        "up to %.2f s%s" % (change.seconds, more)
        if change.seconds >= 0.005
        else ("no%s compile time" % more)
    )


def _without_advice(found: List[Change], causes: List[Dict[str, Any]], links: bool) -> List[str]:
    """The costliest recompiles for which there is no advice, so that their seconds have a reason,
    and how many more there are.
    """
    from depyf.report import overview

    at_limit = {key for one in found if one.row == "limit" for key in one.each}
    left = [
        cause
        for cause in causes
        if cause["kind"] == "recompile" and not cause["reason"]["help"]
        if not overview.is_normal(cause) and cause["cost"] >= 0.005
        if cause["reason"]["row"] not in NO_ACTION and not at_limit.issuperset(cause["each"])
        if not _breaks_causing(cause, causes)
        # a compile that failed is told with its failure
        if not all(one.failure and one.failure["help"] for one in cause["nodes"])
    ]
    rows = []
    for cause in left[:_MOST_LEFT]:
        node = cause["nodes"][0]
        where = node.caller if node.caller[1] else node.place
        told = place(where[0] or "?", where[1], links), _plain(cause["reason"]["words"])
        rows.append("%9.2f s  %s  %s" % ((cause["cost"],) + told))
    more = left[_MOST_LEFT:]
    if more:
        rows.append("%9.2f s  in %d more" % (sum(one["cost"] for one in more), len(more)))
    return ["recompiles for which there is no advice that was tested:"] * bool(rows) + rows


def _drawn_by_torch(nodes: List[Any], links: bool) -> List[str]:
    """That numbers of numpy's are none of its generator in a graph, so that results differ."""
    from depyf.report import overview

    drawn = overview.numpy_draws(nodes)
    if not drawn:
        return []
    called = ", ".join(dict.fromkeys(one[0] for one in drawn))
    places = _first_of([place(file, line, links) for _, file, line in drawn], "%d more")
    form = (
        "results differ from those without torch.compile: in a graph, torch draws the numbers of "
        "%s (%s) with its own generator, so which calls are compiled changes them. With "
        "torch._dynamo.config.use_numpy_random_stream = True numpy draws them, outside of the graph"
    )
    return [form % (called, ", ".join(places))]


def _hinted(causes: List[Dict[str, Any]], links: bool) -> List[str]:
    """The costliest breaks and failures for which there is no advice, with torch's own hints, word
    for word.
    """
    rows: List[str] = []
    for cause in causes:
        said = cause.get("break") or cause.get("failure")
        if said and not said["help"] and said["hints"] and len(rows) < 3:
            where = "%9.2f s  %s  " % (
                cause["cost"],
                place(said["file"] or "?", said["line"], links),
            )
            rows.append(where + _plain(said["why"]))
            rows += [shown("%12s%s" % ("", " ".join(one.split()))) for one in said["hints"]]
    return ["torch's own hints, where there is no advice that was tested:"] * bool(rows) + rows


def _compiled_anyway(top: List[Change], causes: List[Dict[str, Any]], links: bool) -> List[str]:
    """The breaks that are not listed although the compiles after them took more than the least of
    the changes saves, as a report of the breaks has it: why they save less.
    """
    from depyf.report import overview

    least = min([one.seconds for one in top if not one.unsure], default=0.0)
    every = [each for one in top for each in (one,) + one.also + one.gone]
    listed = {(each.file, each.line) for each in every if each.kind != "recompile"}
    rows = []
    for cause in causes:
        said = cause.get("break")
        if not said or not said["help"] or said["row"] in NO_ACTION or overview.is_normal(cause):
            continue
        saved = sum(cause["each"].values())
        cost = cause["cost"]
        if (said["file"], said["line"]) in listed or cost < 0.005 or cost <= max(least, 2 * saved):
            continue
        where = place(said["file"] or "?", said["line"], links)
        told = "up to %.2f s  %s  %s" % (saved, where, _plain(said["why"]))
        rows.append("   %s %s" % (told, _plain(said["help"][0])))
    head = "breaks that are not listed, as most of what is compiled after them would be compiled "
    head += "without them, too, together with what is before the break:"
    return [head] * bool(rows) + rows[:_MOST_LEFT]


def _normal(causes: List[Dict[str, Any]], links: bool) -> List[str]:
    """The costliest recompiles that are normal, so that their seconds have a reason."""
    told = []
    for cause in causes:
        said = cause.get("reason")
        if said and said["help"] and said["row"] in NO_ACTION and cause["cost"] >= 0.005:
            told.append((cause["cost"], cause["nodes"][0], said))
    rows = []
    for seconds, node, said in sorted(told, key=lambda one: -one[0])[:3]:
        where = node.caller if node.caller[1] else node.place
        words = "%s. %s" % (said["words"], said["help"][0])
        rows.append("%9.2f s  %s  %s" % (seconds, place(where[0], where[1], links), _plain(words)))
    return rows


def _unrolled(change: Change, links: bool) -> List[str]:
    """That torch takes a loop into the graph once nothing in it keeps the function out of it."""
    of_loop = (breaks.LOOP.help[0].text, breaks.LEAVES.help[0].text)
    if not _fails(change) or change.advice in of_loop:
        return []
    file, line = _met_at(change)
    loops = [at for kind, at in uses.uncut_around(file, line) if kind != "try"] if line else []
    form = (
        "then torch unrolls the loop at %s: it traces each round, and compiles again for another "
        "number of rounds"
    )
    return [form % place(file, loops[0], links)] if loops else []


def _longer(change: Change, links: bool) -> List[str]:
    """What is told of a change after which torch may need more time to compile."""
    if not change.unsure:
        return _unrolled(change, links)
    form = (
        "then the graph breaks at %s: torch traces up to there for each function around this line, "
        "so it may need longer than before, unless that break is removed, too"
    )
    file, line = change.unsure[0]
    return [form % place(file, line, links)]


def _not_patched(change: Change, nodes: List[Any], links: bool) -> List[str]:
    """The functions whose torch.compile is to be given dynamic=True, and is not in the patch."""
    if not re.search(r"(?m)^\+.*\bdynamic=True", change.patch):
        return []
    every = (change,) + change.also
    covered = {_outermost(one.cause["nodes"][0]) for one in every if one.patch}
    asked = [frame for one in every if "dynamic=True" in one.advice for frame in one.outermost]
    first = {tuple(node.frame): node for node in reversed(nodes)}
    left = [first[one] for one in dict.fromkeys(asked) if one not in covered and one in first]
    rows = [
        "not in the patch: give the torch.compile of %s dynamic=True, too: %s"
        % (shown(node.title), place(node.place[0] or "?", node.place[1], links))
        for node in sorted(left, key=lambda node: node.place)
    ]
    return _first_of(rows, "not in the patch: %d more")


def _called_from(change: Change, links: bool) -> List[str]:
    """The reader's own line behind a place in a library."""
    file, line, code = change.caller
    if not line or (file, line) == (change.file, change.line):
        return []
    return ["called from your line %s: %s" % (place(file, line, links), shown(code.strip()))]


def _gave_up(change: Change, number: int, told: Dict[Any, int]) -> str:
    """That torch gave the function up; of each function once, with the number of that change
    afterwards.
    """
    if not change.gave_up:
        return ""
    before = told.setdefault(change.function, number)
    if before != number:
        return ". torch stopped compiling the function: see %d" % before
    return ". " + _GAVE_UP % (change.gave_up, "" if change.gave_up == 1 else "s")


#: what to do before sizes become symbolic
_FIRST = (
    "first: change the float at %s, as its own advice says: torch compiles again for each value of "
    "it, with dynamic=True, too"
)
#: rows of floats that torch makes symbolic, so that one compile is for all values
_SYMBOLIC_FLOATS = ("float", "float attribute", "float that decides")


def _float_first(change: Change, every: List[Change]) -> List[Change]:
    """What is about a float of the same compiled function of which torch makes a constant, also
    where sizes are symbolic: without a change of it, each of its values takes a compile.
    """
    if "(..., dynamic=True)" not in change.advice or change.row.startswith("float"):
        return []
    called = frozenset().union(*(each.outermost for each in (change,) + change.also))
    for one in [each for found in every for each in (found,) + found.also]:
        if one.row.startswith("float") and one.row not in _SYMBOLIC_FLOATS:
            if one.outermost & called:
                return [one]
    return []


def _left_out(change: Change) -> str:
    """Why a change is among those worth most, whatever it saves of compiling."""
    failing = [one for one in (change,) + change.also + change.gone if _fails(one)]
    if not failing:
        return ""
    names = list(dict.fromkeys(_subject(one.cause["nodes"][0]) for one in failing))
    told = names[0] if len(names) == 1 else "%s and %d more" % (names[0], len(names) - 1)
    end = "" if change.words.endswith(".") else "."
    form = "%s %s run%s uncompiled at each call because of it; that time is not counted."
    return form % (end, told, "s" if len(names) == 1 else "") + _kept_so(change, failing[0])


def _subject(node: Any) -> str:
    """A function, or the rest of one, where a sentence begins."""
    form = "The rest of %s after line %d"
    return form % (node.title, node.resumes_at) if node.is_resume else str(node.title)


def _met_at(failing: Change) -> Tuple[str, int]:
    """(file, line) at which a function that torch gave up is left: it breaks there, or calls what
    breaks; line 0 where torch does not tell.
    """
    node = failing.cause["nodes"][0]
    ways = [node.way_to(raw) for raw in node.entry.get("breaks") or ()]
    return next((way[0] for way in reversed(ways) if way), (node.place[0], 0))


def _line_left(change: Change, failing: Change) -> int:
    """The line that may keep a function uncompiled after a change, as torch has not met it yet; 0
    for none.
    """
    file, begin = failing.cause["nodes"][0].place
    at_once = {(one.file, one.line) for one in (change,) + change.also + change.gone}
    at_once.add(_met_at(failing))
    of_numbers = _OF_NUMBERS not in change.advice
    left = [
        line
        for line in uses.values_needed_in(file, begin, of_numbers)
        if (file, line) not in at_once
    ]
    behind = [line for line in left if line > _met_at(failing)[1]]
    return (behind or left or [0])[0]


def _kept_so(change: Change, failing: Change) -> str:
    line = _line_left(change, failing)
    form = " %s may keep it so: that line needs a tensor's values, too."
    return form % place(failing.cause["nodes"][0].place[0], line, False) if line else ""


def _together(top: List[Change], nodes: List[Any]) -> List[str]:
    """A line about what several changes save together, where a compile counts at more than one."""
    top = [one for one in top if not one.unsure]
    if all(one.alone - one.seconds < 0.005 for one in top):
        return []
    form = "together up to %.2f of the %.2f s of compiling: each counts what those above it leave"
    return [form % (sum(one.seconds for one in top), sum(node.seconds for node in nodes))]


#: words of a recompile for a size
_IS_SIZE = re.compile(r"\.?size\(\d+\)")
_OF_CALLER = (
    "; where a size that the function around is given changes with it, torch compiles that again"
)


def _gone(change: Change, number: int, given_up: Dict[Any, int], links: bool) -> List[str]:
    """Lines that name the recompiles that a change also removes, and that torch stopped compiling
    because of them.
    """
    rows: List[str] = []
    for one in change.gone:
        words = _plain(one.words.partition(_BESIDE)[0] + _gave_up(one, number, given_up))
        told = any(_OF_CALLER in row for row in rows)
        words += _OF_CALLER if _IS_SIZE.search(words) and not told else ""
        rows.append("also removes: %s  %s" % (place(one.file or "?", one.line, links), words))
    return _first_of(rows, "also removes: %d more")


def _elsewhere(change: Change, number: int, given_up: Dict[Any, int], links: bool) -> List[str]:
    """Lines that name the other places of a change, with their words where those differ."""
    rows = []
    for one in change.also:
        stopped = "" if one.function in given_up else _gave_up(one, number, given_up)
        same_words = one.words == change.words and not stopped
        words = ", for the same reason" if same_words else "  " + _plain(one.words + stopped)
        file, line = _shown_at(one)
        row = "also %s%s" % (place(file, line, links), words)
        same = same_words and (file, line) == _shown_at(change)
        if not same and row not in rows:
            rows.append(row)
    return _first_of(rows, "also %d more")


def _first_of(rows: List[str], form: str) -> List[str]:
    """The first rows, and how many more there are."""
    more = len(rows) - _NAMED
    return rows if more <= 0 else rows[:_NAMED] + [form % more]


def _plain(words: str) -> str:
    return shown(" ".join(words.replace("`", "").split()))


def _first_patch(
    said: Dict[str, Any],
    file: str,
    line: int,
    known: "_Known",
    caller: Tuple[str, int, str] = ("", 0, ""),
    of_compile: Tuple[str, int] = ("", 0),
) -> Tuple[str, str]:
    """(advice, patch) of the first advice that has a patch, else of the first; of a branch with a
    side that is no value, of the advice for those.

    Args:
        caller: the reader's line that calls a library's function: file, line, code.
        of_compile: where the function begins whose torch.compile led there.
    """
    if said["row"] == "branch" and _has_effects(file, line):
        begin = OF_LIST if _makes_list(file, line) else OUTSIDE
        if begin == OUTSIDE:
            begin = _of_loop(said) or begin  # what a round decides, the next one needs
        for one in said["help"]:
            if one.startswith(begin):
                return one, ""
    if said["row"] == "item that decides" and len(said["help"]) > 1:
        # what is decided in another function is seldom something that a tensor can decide
        decided = uses.decided_at(file, line)
        same = uses.in_same_function(file, line, decided)
        if same and _chooses_a_value(file, decided):
            return said["help"][0], ""
        # what a round of a loop decides, the next one needs; a function that a loop calls is one
        # already
        of_loop = _of_loop(said)
        if of_loop == breaks.LOOP.help[0].text:
            in_loop = any(kind != "try" for kind, _ in uses.uncut_around(file, line))
            of_loop = of_loop if in_loop else ""
        return of_loop or said["help"][1], ""
    leaves = not uses.asks_for_none(file, line) or uses.ends_loop_around(file, line)
    if breaks.LEAVES.help[0].text in said["help"] and leaves:
        return breaks.LEAVES.help[0].text, ""
    if said["row"] in breaks.OF_NONE or said["row"] == "value of each object":
        return said["help"][0], ""
    if said["row"] in _PUT_OFF and _passes_changing_number(said, file, line, known):
        return said["help"][0], ""  # torch cannot put it off
    if said["row"] == "dynamic shape" and uses.calls(file, "tolist"):
        return said["help"][0], ""  # with the setting, torch may end in an error there
    if said["row"] == "print" and uses.in_autograd_function(file, line):
        return said["help"][0], ""  # what torch would print later is lost there
    for advice, wanted in zip(said["help"], said["patches"]):
        patch = ""
        if wanted.startswith("torch.compile") and of_compile != (file, line):
            patch = _patch(wanted, *of_compile, known) if of_compile[1] else ""
        if wanted and not patch:
            patch = _patch(wanted, file, line, known, caller[:2])
        if patch:
            return advice, patch
    return said["help"][0], ""


def _of_loop(said: Dict[str, Any]) -> str:
    """What helps where the loop around a break is the problem; "" where it is none."""
    texts = [breaks.LEAVES.help[0].text, breaks.LOOP.help[0].text]
    return next((one for one in texts if one in said["help"]), "")


#: rows of what torch can do at the end of the graph, where no number that changes is given to it
_PUT_OFF = ("print", "warning", "log function")


def _passes_changing_number(said: Dict[str, Any], file: str, line: int, known: "_Known") -> bool:
    """Whether a line gives a number to a call because of which torch compiled again."""
    from depyf.report import words

    if words.in_library(file) and said["caller"][1]:
        file, line = said["caller"][:2]
    given = uses.given_names(file, line)
    return any(
        reason["name"] in given and words.is_number(reason["before"])
        for node in (known.nodes if given else ())
        for reason in node.reasons
    )


def _parsed(file: str) -> Optional[Tuple[str, ast.Module]]:
    """(source, tree) of a file; None where it cannot be read."""
    try:
        with tokenize.open(file) as stream:
            source = stream.read()
    except (OSError, SyntaxError, ValueError, UnicodeError):
        return None
    tree = uses.parsed(file)
    return (source, tree) if tree is not None else None


def _has_effects(file: str, line: int) -> bool:
    """Whether a branch does what torch.where cannot: a side raises, leaves a loop, returns no
    tensor, or calls something for its effect.
    """
    parsed = _parsed(file)
    for node in uses.walked(parsed[1]) if parsed is not None else ():
        if isinstance(node, ast.If) and node.lineno == line:
            return any(_is_effect(one) for one in node.body + node.orelse)
    return False


def _chooses_a_value(file: str, line: int) -> bool:
    """Whether a line decides between values, as torch.where can: not the length of a range, nor
    whether something is printed. True where its source is not there.
    """
    parsed = _parsed(file)
    if parsed is None:
        return True
    nodes = [one for one in uses.walked(parsed[1]) if getattr(one, "lineno", 0) == line]
    for one in nodes:
        if isinstance(one, ast.If):
            chosen = [each.value for each in one.body + one.orelse if isinstance(each, ast.Assign)]
            return not _has_effects(file, line) and not any(map(_is_size, chosen))
    return any(isinstance(one, ast.IfExp) for one in nodes)


#: functions whose results are sizes where a side of a branch chooses one
_SIZES = ("dim", "int")


def _is_size(node: ast.expr) -> bool:
    """Whether an expression is plainly a size: what takes one takes no tensor in its place."""
    called = getattr(node, "func", None)
    return uses.is_size(node) or getattr(called, "attr", getattr(called, "id", "")) in _SIZES


def _makes_list(file: str, line: int) -> bool:
    """Whether the only thing that a branch does is to make a list of each element of one."""
    parsed = _parsed(file)
    for node in uses.walked(parsed[1]) if parsed is not None else ():
        if isinstance(node, ast.If) and node.lineno == line:
            return all(
                isinstance(one, ast.Assign) and isinstance(one.value, ast.ListComp)
                for one in node.body + node.orelse
            )
    return False


def _is_effect(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Return, ast.Assign)):
        return not _may_be_tensor(node.value)
    return isinstance(node, (ast.Raise, ast.Break, ast.Continue, ast.Expr))


#: expressions that torch.where cannot take
_NO_TENSORS = (
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.JoinedStr,
    ast.Lambda,
)


def _may_be_tensor(node: Optional[ast.expr]) -> bool:
    """Whether torch.where can take what an expression gives."""
    if isinstance(node, _NO_TENSORS):
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (bool, int, float))
    return node is not None


def _patch(
    wanted: str,
    file: str,
    line: int,
    known: "_Known",
    caller: Tuple[str, int] = ("", 0),
    dynamic: bool = False,
) -> str:
    """The diff of a change; "" where none can be written.

    Args:
        dynamic: that the torch.compile of the function is given dynamic=True besides.
    """
    from depyf.report import words

    of_program = ("torch._dynamo.config.", "torch.fx.experimental._config.", "lr=")
    function_at = file, line
    compiled_elsewhere = wanted.startswith("torch.compile") and words.in_library(file or "")
    if wanted.startswith(of_program) or compiled_elsewhere:
        # a setting is the program's, wherever the line is that asks for it, and so is what a
        # library's class is made with
        file = known.program or file
        line = 0 if compiled_elsewhere else line
    called_at = caller[1] if compiled_elsewhere and _same(caller[0], file) else 0
    if not file or words.in_library(file) or re.search(r"\b[A-Z]{3,}\b", wanted.split("(")[-1]):
        if not wanted.startswith("torch.where"):
            return ""
    parsed = _parsed(file)
    if parsed is None:
        return ""
    source, tree = parsed
    if wanted.startswith("torch.where"):
        changed = _with_where(source, tree, line, _is_float(known, file))
    elif wanted == "torch.compile(..., dynamic=True)":
        changed = _with_dynamic(source, tree, line, called_at)
    elif wanted.startswith(("torch._dynamo.config.", "torch.fx.experimental._config.")):
        changed = _with_setting(source, tree, wanted)
    elif " in place of math." in wanted:
        changed = _with_torchs_math(source, tree, line, wanted)
    elif wanted.startswith("lr="):
        changed = _with_rate(source, tree)
    elif wanted.startswith("torch._dynamo.") and "mark_" in wanted:
        changed = _with_marks(source, tree, line, wanted)
    else:
        changed = None
    if changed is None or changed == source or not _compiles(changed):
        return ""
    if dynamic and _same(function_at[0], file):
        moved = function_at[1] + changed.count("\n") - source.count("\n")
        changed = _with_dynamic(changed, compiling.places_of(changed), moved) or changed
    name = short_path(file)
    if name.startswith(os.pardir):  # `patch -p1` takes no such names; from the root it finds this
        name = os.path.abspath(file)
    name = name.lstrip("/")
    return "".join(
        difflib.unified_diff(
            source.splitlines(True), changed.splitlines(True), "a/" + name, "b/" + name, n=1
        )
    )


def _compiles(source: str) -> bool:
    try:
        compiling.places_of(source)
        return True
    except SyntaxError:
        return False


def _segment(source: str, node: ast.AST) -> Optional[str]:
    """The text of a node, None where this Python does not tell where nodes end."""
    get = getattr(ast, "get_source_segment", None)  # 3.8+
    return get(source, node) if get else None


_FLOATS = frozenset("torch.%s" % one for one in ("float32", "float64", "float16", "bfloat16"))


def _is_float(known: "_Known", file: str) -> bool:
    """Whether all tensors that the guards of a file's functions name have one dtype, of floats."""

    found = set()
    for node in known.nodes:
        if node.place[0] == file:
            for guard in node.entry.get("guards") or ():
                if str(guard.get("text") or "").startswith("check_tensor("):
                    found |= set(re.findall(r", (torch\.\w+), device=", guard["text"])) or {""}
    return len(found) == 1 and found <= _FLOATS


def _with_where(source: str, tree: ast.Module, line: int, is_float: bool) -> Optional[str]:
    """`if C: t = a` as `t = torch.where(C, a, t)`; with `else: t = b`, or two returns, likewise."""
    for body in _bodies(tree):
        for index, node in enumerate(body):
            if isinstance(node, ast.If) and node.lineno == line and hasattr(node, "end_lineno"):
                following = body[index + 1] if index + 1 < len(body) else None
                return _where_of(source, tree, node, following, is_float)
    return None


def _bodies(tree: ast.AST) -> Iterator[List[Any]]:
    for node in uses.walked(tree):
        for field in ("body", "orelse", "finalbody"):
            found = getattr(node, field, None)
            if isinstance(found, list):
                yield found


def _function_around(tree: ast.Module, node: Any) -> Any:
    """The innermost function around a statement, or None."""
    around = [one for one, _ in _functions(tree) if one.lineno <= node.lineno <= one.end_lineno]
    return max(around, key=lambda one: one.lineno) if around else None


def _where_of(
    source: str, tree: ast.Module, node: Any, following: Any, is_float: bool
) -> Optional[str]:
    if len(node.body) != 1 or len(node.orelse) > 1:
        return None
    function = _function_around(tree, node)
    asked = sides.condition_of(function, node.test) if function is not None else None
    if asked is None:
        return None
    then, last = node.body[0], node.end_lineno
    chosen: List[Any] = []
    begin = ""
    if isinstance(then, ast.Assign) and len(then.targets) == 1:
        target = then.targets[0]
        if not isinstance(target, ast.Name):
            return None
        begin = target.id + " = "
        if not node.orelse:  # the name must have a value before
            known = target.id in sides.bound(function, node.lineno)
            chosen = [then.value, target] if known else []
        else:
            other = node.orelse[0]
            same = (
                isinstance(other, ast.Assign)
                and len(other.targets) == 1
                and isinstance(other.targets[0], ast.Name)
                and other.targets[0].id == target.id
            )
            chosen = [then.value, other.value] if same else []
    elif isinstance(then, ast.Return):
        other = node.orelse[0] if node.orelse else following
        if isinstance(other, ast.Return):
            chosen = [then.value, other.value]
            begin, last = "return ", other.end_lineno
    if not chosen or not all(chosen) or not sides.are_plain(function, *chosen):
        return None
    if not sides.have_one_dtype(function, is_float, *chosen):
        return None  # torch.where would give the dtype that holds both
    condition, swapped = asked
    parts = [_segment(source, one) for one in [condition] + chosen[:: -1 if swapped else 1]]
    lines = source.splitlines(True)
    written = "%s%storch.where(%s)\n" % (" " * node.col_offset, begin, ", ".join(map(str, parts)))
    return "".join(lines[: node.lineno - 1] + [written] + lines[last:])


def _is_compile(node: ast.AST, names: Set[str]) -> bool:
    """Whether a decorator or call is of torch.compile, of a module's `compile`, or of one of the
    names that the program has for torch.compile.
    """
    name = node.func if isinstance(node, ast.Call) else node
    return uses.is_compile(name) or uses.path_of(name) in names


def _compilers(tree: ast.Module) -> Set[str]:
    """The names that a program has for torch.compile, or for a `functools.partial` of it."""
    partial, found = {"partial", "functools.partial"}, {"torch.compile"}
    for node in uses.walked(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                name = one.asname or one.name
                found |= {name + ".compile"} if one.name == "torch" else set()
                partial |= {name + ".partial"} if one.name == "functools" else set()
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                if (node.module, one.name) == ("torch", "compile"):
                    found.add(one.asname or one.name)
                elif (node.module, one.name) == ("functools", "partial"):
                    partial.add(one.asname or one.name)
    for node in uses.walked(tree):
        if isinstance(node, ast.Assign):
            value: Any = node.value
            if isinstance(value, ast.Call) and uses.path_of(value.func) in partial and value.args:
                value = value.args[0]
            if uses.path_of(value) in found:
                found |= {uses.path_of(one) for one in node.targets} - {""}
    return found


def _with_dynamic(source: str, tree: ast.Module, line: int, called_at: int = 0) -> Optional[str]:
    """dynamic=True in the torch.compile of the function at the line, a decorator or a call; at line
    0, or one that only calls a library's function, in the only torch.compile of the program, or in
    that of what line `called_at` calls.
    """
    found = _compiles_of(tree, line) if line else []
    if not found and not (line and _is_function(tree, line)):
        names = _compilers(tree)
        calls = [node for node in uses.walked(tree) if isinstance(node, ast.Call)]
        calls = [node for node in calls if _is_compile(node, names)]
        if len(calls) > 1 and called_at:
            calls = _made_for(tree, called_at, calls)
        found = list(calls) if len(calls) == 1 else []
    edits: List[Tuple[int, int, int, str]] = []
    for node in found:
        if not hasattr(node, "end_lineno"):
            return None  # a node has its end from 3.8 on
        last: Any = node
        if not isinstance(node, ast.Call):
            edits.append((last.end_lineno, last.end_col_offset, 0, "(dynamic=True)"))
        elif not any(one.arg == "dynamic" for one in node.keywords):
            inner = ", dynamic=True)" if node.args or node.keywords else "dynamic=True)"
            edits.append((last.end_lineno, last.end_col_offset - 1, 1, inner))
    for edit in sorted(edits, reverse=True):
        source = _replaced(source, *edit)
    return source if edits else None


def _with_torchs_math(source: str, tree: ast.Module, line: int, wanted: str) -> Optional[str]:
    """`torch.cos` in place of `math.cos` on some lines, and tensors in place of what the calls of
    the compiled function at a line give it; None where a call is not found, or not plain.
    """
    functions, _, tensors = wanted.partition("; ")
    if functions.count(":") != 1:
        return None  # lines of several files
    of_math = re.findall(r"\bmath\.\w+", functions)
    lines = [int(one) for one in re.findall(r"\d+", functions.rpartition(":")[2])]
    edits = [
        (node.lineno, node.func.col_offset, uses.path_of(node.func), "torch." + node.func.attr)
        for node in uses.walked(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.lineno in lines and uses.path_of(node.func) in of_math
    ]
    found = next(
        (one for one in _functions(tree) if _first_line(one[0]) <= line <= one[0].lineno), None
    )
    if found is None or {one[0] for one in edits} != set(lines) or not lines:
        return None
    function, owner = found
    calls = _calls_of_compiled(tree, function, owner)
    for call in calls:
        given = uses.given_by(call, function)
        for name, rest in re.findall(r"torch\.as_tensor\((\w+)(.*?)\)(?:; |$)", tensors):
            value = given.get(name)
            text = _segment(source, value) if value is not None else None
            if not text or "\n" in text or value is None:
                return None
            edits.append(
                (value.lineno, value.col_offset, text, "torch.as_tensor(%s%s)" % (text, rest))
            )
    if not calls:
        return None
    for at, column, text, made in sorted(edits, reverse=True):
        source = _replaced(source, at, column, len(text.encode("utf-8")), made)
    return source


def _calls_of_compiled(
    tree: ast.Module, function: Any, owner: Optional[ast.ClassDef]
) -> List[ast.Call]:
    """The calls of a function that is compiled by its decorator, or by the name that the result of
    its torch.compile has.
    """
    names = _compilers(tree)
    called = set()
    if owner is None and any(_is_compile(one, names) for one in function.decorator_list):
        called.add(function.name)
    made = _calls_with(tree, function.name, owner.name if owner is not None else "", names)
    for node in uses.walked(tree):
        if isinstance(node, ast.Assign) and len(made) == 1 and node.value is made[0]:
            called |= {uses.path_of(one) for one in node.targets} - {""}
    return [
        node
        for node in uses.walked(tree)
        if isinstance(node, ast.Call) and uses.path_of(node.func) in called
    ]


def _made_for(tree: ast.Module, line: int, calls: List[ast.Call]) -> List[ast.Call]:
    """Those of some calls whose results have the name of what a line calls."""
    called = {
        uses.path_of(node.func)
        for node in uses.walked(tree)
        if isinstance(node, ast.Call) and node.lineno == line
    }
    return [
        node.value
        for node in uses.walked(tree)
        if isinstance(node, ast.Assign)
        and node.value in calls
        and any(uses.path_of(target) in called - {""} for target in node.targets)
        and isinstance(node.value, ast.Call)
    ]


def _same(file: str, other: str) -> bool:
    return bool(file) and os.path.realpath(file) == os.path.realpath(other)


def _compiles_of(tree: ast.Module, line: int) -> List[ast.AST]:
    """Each torch.compile of the function at a line, as all of them share its compiles: its
    decorator, or calls with its name, with objects of its class, with one of its methods, or with
    what the function around it returns.
    """
    names = _compilers(tree)
    for node, owner in _functions(tree):
        if _first_line(node) <= line <= node.lineno:
            decorators = node.decorator_list + (owner.decorator_list if owner is not None else [])
            found = [one for one in decorators if _is_compile(one, names)]
            owned = owner.name if owner is not None else ""
            maker = _maker_of(tree, node)
            return found[:1] or list(_calls_with(tree, node.name, owned, names, maker))
    return []


def _maker_of(tree: ast.Module, function: Any) -> str:
    """The function that defines and returns another; "" where there is none."""
    others = [one for one, _ in _functions(tree) if one is not function]
    maker = max(
        (one for one in others if function in uses.walked(one)),
        key=lambda one: int(one.lineno),
        default=None,
    )
    if maker is None:
        return ""
    returned = [one.value for one in ast.walk(maker) if isinstance(one, ast.Return) and one.value]
    return maker.name if any(uses.path_of(one) == function.name for one in returned) else ""


def _first_line(function: Any) -> int:
    return min([function.lineno] + [one.lineno for one in function.decorator_list])


def _is_function(tree: ast.Module, line: int) -> bool:
    """Whether a function begins at a line."""
    return any(_first_line(node) <= line <= node.lineno for node, _ in _functions(tree))


def _functions(tree: ast.AST) -> Iterator[Tuple[Any, Optional[ast.ClassDef]]]:
    """The functions of a program, each with the class that it is a method of."""
    methods = {
        id(one): node
        for node in uses.walked(tree)
        if isinstance(node, ast.ClassDef)
        for one in node.body
    }
    for node in uses.walked(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, methods.get(id(node))


def _calls_with(
    tree: ast.Module, name: str, owner: str, names: Set[str], maker: str = ""
) -> List[ast.Call]:
    """Each torch.compile whose argument is a function of that name, what the function `maker`
    returns, or an object of the class `owner`: `Net(...)`, or a name that is assigned nothing else,
    or a method of it.
    """
    made: Dict[str, Set[str]] = {}  # name -> names of what is called to make it
    for node in uses.walked(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                made.setdefault(uses.path_of(target), set()).add(_maker(node.value))
    found = []
    for node in uses.walked(tree):
        if isinstance(node, ast.Call) and _is_compile(node, names) and node.args:
            given = node.args[0]
            fits = False
            if owner:
                if isinstance(given, ast.Attribute) and given.attr == name:
                    given = given.value  # torch.compile(net.forward)
            else:
                fits = isinstance(given, ast.Name) and given.id == name
            by = owner or maker
            if by and not fits:
                fits = _maker(given) == by or made.get(uses.path_of(given)) == {by}
                fits = fits or made.get(uses.path_of(given)) == {by, "compile"}
            if fits:
                found.append(node)
    return found


def _maker(node: ast.AST) -> str:
    """The class that an expression calls, also as `Net().eval()` and `Net().to(device)`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            node = node.func.value
            continue
        return uses.path_of(node.func).rpartition(".")[2]
    return ""


def _with_rate(source: str, tree: ast.Module) -> Optional[str]:
    """`lr=1e-3` as `lr=torch.tensor(1e-3)`, where the program makes one optimizer, and writes no
    other learning rate in the tensor's place.
    """
    if uses.rate_written(tree):
        return None
    found = [
        one.value
        for node in uses.walked(tree)
        if isinstance(node, ast.Call)
        for one in node.keywords
        if one.arg == "lr"
    ]
    written = _segment(source, found[0]) if len(found) == 1 else None
    if not written or isinstance(found[0], ast.Call) or found[0].lineno != found[0].end_lineno:
        return None
    length = len(written.encode("utf-8"))
    tensor = "torch.tensor(%s)" % written
    return _replaced(source, found[0].lineno, found[0].col_offset, length, tensor)


def _replaced(source: str, line: int, column: int, length: int, written: str) -> str:
    lines = source.splitlines(True)
    raw = lines[line - 1].encode("utf-8")  # columns of the tree count bytes
    raw = raw[:column] + written.encode("utf-8") + raw[column + length :]
    lines[line - 1] = raw.decode("utf-8")
    return "".join(lines)


def _with_setting(source: str, tree: ast.Module, wanted: str) -> Optional[str]:
    """A setting after the import of torch, and those that follow it, at the top of the program."""
    last, known = None, set()
    for node in tree.body:
        is_import = isinstance(node, (ast.Import, ast.ImportFrom)) and hasattr(node, "end_lineno")
        if is_import and isinstance(node, ast.Import):
            known |= {one.name.split(".")[0] for one in node.names if not one.asname}
        if "torch" in known:
            if not is_import:  # it may be what runs the program
                break
            last = node
    if last is None:
        return None
    lines = source.splitlines(True)
    end = int(getattr(last, "end_lineno"))
    given = re.match(r"\w+", wanted.rpartition("(")[2])  # add(logging.Logger.info)
    name = given.group() if given else ""
    needed = name in ("logging", "warnings") and name not in known
    written = ["import %s\n" % name] * needed + ["\n" + wanted + "\n"]
    return "".join(lines[:end] + written + lines[end:])


def _with_marks(source: str, tree: ast.Module, line: int, wanted: str) -> Optional[str]:
    """Marks before the only call of the function at the line, where what is passed has a name."""
    marks = [re.match(r"^([\w.]+)\((\w+), (\d+)\)$", one) for one in wanted.split(" and ")]
    function = next(
        (
            node
            for node in uses.walked(tree)
            if isinstance(node, ast.FunctionDef) and _first_line(node) <= line <= node.lineno
        ),
        None,
    )
    if function is None:
        return None
    calls = []
    for body in _bodies(tree):
        for statement in body:
            if isinstance(statement, (ast.Expr, ast.Assign)):
                for node in ast.walk(statement.value):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                        if node.func.id == function.name:
                            calls.append((statement, node))
    if len(calls) != 1:
        return None
    statement, call = calls[0]
    lines = source.splitlines(True)
    before = lines[statement.lineno - 1][: statement.col_offset]
    parameters = [one.arg for one in function.args.args]
    written = []
    for mark in marks:
        if mark is None or mark.group(2) not in parameters or before.strip():
            return None
        position = parameters.index(mark.group(2))
        passed = call.args[position] if position < len(call.args) else None
        if not isinstance(passed, ast.Name):
            return None
        written.append("%s%s(%s, %s)\n" % (before, mark.group(1), passed.id, mark.group(3)))
    return "".join(lines[: statement.lineno - 1] + written + lines[statement.lineno - 1 :])
