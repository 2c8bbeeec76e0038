"""The compiles of runs in their order, connected by who calls whom."""

import re
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from depyf import advice
from depyf.advice import uses
from depyf.model import is_backward_pass
from depyf.report import words
from depyf.report.overview.advising import (
    advise_limits,
    advise_of_constants,
    advise_of_floats,
    advise_of_globals,
    advise_of_objects,
    advise_of_sides,
    advise_of_strings,
    drop_marks_inside,
    tell_differing,
)
from depyf.report.overview.callers import (
    advise_callers,
    code_name,
    connect_frames,
    note_calls_made,
    traced_in,
)
from depyf.report.overview.durations import seconds_in, whole_number
from depyf.report.overview.holders import named_by_program
from depyf.report.overview.inside import tell_of_callers
from depyf.report.overview.node import Node
from depyf.report.overview.titled import Titled
from depyf.report.words.stacks import short_place
from depyf.schema import Document


def counts(nodes: Sequence[Node]) -> Tuple[int, int, int]:
    """How many compiles, recompiles and graph breaks there are."""
    recompiles = sum(1 for one in nodes if one.entry.get("reasons") and not one.is_limit)
    return len(nodes), recompiles, sum(len(one.entry.get("breaks") or ()) for one in nodes)


def nodes_of(runs: Iterable[Document]) -> List[Node]:
    """The nodes of all runs in the order of their compiles, connected by who calls whom."""
    found: List[Node] = []
    used: Dict[str, int] = {}
    for run in runs:
        prefix = "r%d:" % run["rank"] if isinstance(run.get("rank"), int) else ""
        by_global: Dict[str, List[Node]] = {}
        renamed: Dict[int, Document] = {}  # the functions that are named otherwise, by their ids
        for function in run.get("functions", ()):
            whole = named_by_program(function)
            entries = whole.get("entries", ())
            if whole is not function:
                renamed[id(function)], function = whole, whole
            siblings = [Node(run, function, entry, _key(prefix, entry, used)) for entry in entries]
            for position, node in enumerate(siblings):
                node.number, node.of, node.siblings = position + 1, len(entries), siblings
                found.append(node)
                if function.get("global_name"):
                    by_global.setdefault(function["global_name"], []).append(node)
        for entry in run.get("unattributed", ()):
            of = None if code_name(entry) else _of_frame(run, entry)
            if of is not None:  # such as a compile that was not made, at the limit
                entry = named_by_program(of, entry)["entries"][0]
            node = Node(run, renamed.get(id(of), of), entry, _key(prefix, entry, used))
            found.append(node)
            if entry.get("resumes"):
                by_global.setdefault(entry["resumes"], []).append(node)
        for node in found:
            if node.run is run:
                aliases = node.entry.get("aliases") or {}
                for name in node.entry.get("calls") or ():
                    if aliases.get(name, name) not in by_global:
                        node.uncompiled.append(name)
                    for child in by_global.get(aliases.get(name, name), ()):
                        if child is not node:
                            node.children.append(child)
                            child.callers.append(node)
        of_run = [node for node in found if node.run is run]
        floats: Dict[str, Set[str]] = {}
        for node in of_run:
            node.floats_in = floats
        _tell_resets(of_run)
        _keep_one_sided(of_run)
        _tell_apart(of_run)
        _note_begins(of_run)
        connect_frames(of_run)
        note_calls_made(of_run)
        advise_callers(of_run)
        drop_marks_inside(of_run)
        tell_of_callers(of_run)
        advise_of_objects(of_run)
        if any(one["then"] for node in of_run for one in node.breaks):
            for node in of_run:
                node.called_by_plain_code()
            tell_of_callers(of_run)
        failed = [node.failure for node in of_run if node.failure]
        met = [one for node in of_run for one in node.breaks] + failed
        words.name_needed(met)
        words.name_listed(met)
        advise_of_floats(of_run)
        advise_of_constants(of_run)
        advise_limits(of_run)
        words.name_decided([one for node in of_run for one in node.reasons])
        words.name_readers([one for node in of_run for one in node.reasons])
        tell_differing(of_run)
        advise_of_globals(of_run)
        advise_of_strings(of_run)
        advise_of_sides(of_run)
        for node in of_run:
            for said in (*node.breaks, *node.reasons, node.failure):
                if said is not None:
                    advice.keep_to_program(said)
    return found


def named_apart(run: Document) -> List[Titled]:
    """The compiles of a run, named as `nodes_of` names them, without what it finds out of each."""
    found: List[Titled] = []
    for function in run.get("functions", ()):
        found += [Titled(function, entry) for entry in function.get("entries", ())]
    for entry in run.get("unattributed", ()):
        found.append(Titled(None if code_name(entry) else _of_frame(run, entry), entry))
    _tell_resets(found)
    _tell_apart(found)
    return found


def _keep_one_sided(nodes: Sequence[Node]) -> None:
    """Where a graph breaks at a jump, its code calls a function for each side, which torch compiles
    apart: that one of them has nothing to compile says nothing of the other side.
    """
    for node in nodes:
        if node.failure and node.failure["row"] == "nothing to compile on a side":
            if any(len(one.entry.get("calls") or ()) > 1 for one in node.callers):
                node.failure = None


_OFFSET = re.compile(r"__resume_at_(\d+)_")
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, "th")
    return "%d%s" % (number, ending)


def numpy_draws(nodes: Sequence[Node]) -> List[Tuple[str, str, int]]:
    """(function of numpy.random, file, line) of the calls that are in torch's graphs, each once."""
    found: Dict[Tuple[str, str, int], None] = {}
    cut = {(one["file"], one["line"]) for node in nodes for one in node.breaks}
    for node in nodes:
        for artifact in node.entry.get("artifacts") or ():
            for place in (artifact.get("structure") or {}).get("places") or ():
                file, line = str(place[0]), whole_number(place[1])
                called = "" if words.in_library(file) else uses.numpy_draw_at(file, line)
                if called and (file, line) not in cut:  # else torch may leave out the call
                    found[called, file, line] = None
    return sorted(found, key=lambda one: one[1:])


def object_draws(nodes: Sequence[Node]) -> List[Tuple[str, str, int]]:
    """(method of a `random.Random`, file, line) of the draws of compiled code that sets the state
    of the object to what it was when torch compiled: each once.
    """
    found: Dict[Tuple[str, str, int], None] = {}
    for node in nodes:
        if "setstate" not in str(node.entry.get("transformed_bytecode") or ""):
            continue
        for artifact in node.entry.get("artifacts") or ():
            for place in (artifact.get("structure") or {}).get("places") or ():
                file, line = str(place[0]), whole_number(place[1])
                called = "" if words.in_library(file) else uses.object_draw_at(file, line)
                if called:
                    found[called, file, line] = None
    return sorted(found, key=lambda one: one[1:])


def _tell_resets(nodes: Sequence[Titled]) -> None:
    """Says of the compiles of a run in which torch._dynamo.reset() was called before or after which
    call they are.
    """
    first = min((whole_number(node.entry.get("resets")) for node in nodes), default=0)
    counts = [whole_number(node.entry.get("resets")) - first for node in nodes]
    for node, count in zip(nodes, counts):
        if not max(counts):
            continue
        at = count or 1
        node.reset = "%s %storch._dynamo.reset()" % (
            "after" if count else "before",
            "the %s " % _ordinal(at) if max(counts) > 1 else "",
        )


def _tell_apart(nodes: Sequence[Titled]) -> None:
    """Says which of the rests of a function it is that share a title, as one line has several
    breaks, and where functions of one title are.
    """
    rests: Dict[Tuple[Any, ...], Dict[str, List[Titled]]] = {}
    places: Dict[Tuple[str, str], Dict[Tuple[str, int], List[Titled]]] = {}
    for node in nodes:
        if node.is_resume:
            number = str(node.entry.get("compile_id") or "").rpartition("/")[0]
            of_title = rests.setdefault((node.place, node.called, node.reset), {})
            of_title.setdefault(number, []).append(node)
        else:
            alike = places.setdefault((node.title, node.through), {})
            alike.setdefault(node.place, []).append(node)
    for of_line in rests.values():
        if len(of_line) < 2:
            continue
        # torch names a resume function by the place of its break in the bytecode
        offsets = {number: _offset(of_line[number][0]) for number in of_line}
        order = sorted(set(offsets.values()))
        for number, alike_rests in of_line.items() if len(order) == len(of_line) else ():
            told = _ordinal(order.index(offsets[number]) + 1), len(order)
            for node in alike_rests:
                node.apart = " (%s of %d)" % told
        for number, alike_rests in of_line.items() if len(order) < len(of_line) else ():
            for node in alike_rests if number else ():
                node.apart = " (torch's function %s)" % number
    titles: Dict[Tuple[Any, ...], Set[str]] = {}
    for node in nodes:
        titles.setdefault((node.place, node.called), set()).add(node.reset)
    for node in [one for one in nodes if one.is_resume and one.reset]:
        if len(titles.get((node.place, node.called), ())) > 1:
            node.apart += " (%s)" % node.reset
    for (title, _), found in places.items():
        for place, alike_functions in found.items() if len(found) > 1 else ():
            for node in alike_functions if place[1] and not is_backward_pass(title) else ():
                node.elsewhere = " (%s)" % short_place(*place)


def _offset(node: Titled) -> int:
    name = str((node.function or {}).get("global_name") or node.entry.get("resumes") or "")
    match = _OFFSET.match(name)
    return int(match.group(1)) if match else -1


def _note_begins(nodes: Sequence[Node]) -> None:
    """When each compile began, in torch's figures; one without begins with the one before it."""
    latest = 0.0
    for node in sorted(nodes, key=_number):
        metrics = node.entry.get("metrics") or {}
        node.began = seconds_in(metrics, "start_time_us", "start_time") or latest
        if _number(node)[1:] == (
            0,
        ):  # torch numbers functions in the order of their first compiles
            latest = node.began
    for node in nodes:  # torch tells no time of the tracing of a backward pass
        if node.is_backward_pass and node.function is None:
            made = [one.began for one in nodes if traced_in(one, node)]
            node.began = min(made, default=latest)


#: what the id of a compile begins with that compiled autograd made
_AUTOGRAD = re.compile(r"^!\d+/?")
_NUMBER = re.compile(r"\d+")
_NOT_IN_KEY = re.compile(r"[^\w/!]+")


def _number(node: Node) -> Tuple[int, ...]:
    compile_id = _AUTOGRAD.sub("", str(node.entry.get("compile_id")))
    return tuple(int(one) for one in _NUMBER.findall(compile_id))


def _of_frame(run: Document, entry: Document) -> Optional[Document]:
    """The function to which torch gave the number in front of a compile's id, for compiles of which
    it tells nothing else.
    """
    frame = str(entry.get("compile_id") or "").rpartition("/")[0]
    found = None
    for function in run.get("functions", ()):
        if frame and any(
            str(one.get("compile_id")).rpartition("/")[0] == frame
            for one in function.get("entries", ())
        ):
            found = function  # numbers start again after torch._dynamo.reset(): the last one
    return found


def _key(prefix: str, entry: Document, used: Dict[str, int]) -> str:
    key = prefix + _NOT_IN_KEY.sub("_", str(entry.get("compile_id") or "?"))
    count = used[key] = used.get(key, 0) + 1
    return (
        key if count == 1 else "%s~%d" % (key, count)
    )  # ids start again after torch._dynamo.reset()
