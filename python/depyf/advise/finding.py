"""A change for each cause of a run for which there is advice."""

import os
import re
from typing import Any, Dict, List, Optional, Tuple

from depyf.advice import MODES, NO_ACTION, settings_in, uses
from depyf.advise.causing import (
    MADE_BEFORE,
    breaks_causing,
    next_breaks,
    of_other_objects,
    outermost,
    recompiled_for,
    seconds_spared,
)
from depyf.advise.change import Change, Known, fails
from depyf.advise.choosing import first_patch
from depyf.advise.joining import joined
from depyf.advise.order import rank_of
from depyf.advise.patches import patch_for
from depyf.schema import Document
from depyf.terminal import place


def changes_of(document: Document, nodes: List[Any], causes: List[Dict[str, Any]]) -> List[Change]:
    """A change for each cause for which there is advice, the most important first."""
    from depyf.report import overview
    from depyf.report import words as words_of

    found = []
    reasons = []  # of the recompiles among them
    gave_up = {node.frame for node in nodes if node.is_limit}
    known = Known(_program_of(document, nodes), nodes)
    for cause in causes:
        said = cause.get("reason") or cause.get("break") or cause["failure"]
        within = breaks_causing(cause, causes)
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
            of_compile = outermost(node)[1] if cause["kind"] == "recompile" else ("", 0)
            advice, patch = first_patch(said, file, line, known, caller, of_compile)
        if said["row"] == "global state" and "grad mode" in words and known.program:
            switched = uses.mode_switched_at(known.program)
            advice += _SWITCHED % place(known.program, switched, False) if switched else ""
        each = cause["each"]
        again = cause["nodes"] if cause["kind"] == "recompile" else []
        if said["row"] == "limit":
            whys = [recompiled_for(one, nodes) for one in cause["nodes"]]
            words += "".join(dict.fromkeys(" " + told for told, _, _ in whys if told))
            advice = next((helped for _, helped, _ in whys if helped), advice)
            again = [one for _, _, made in whys for one in made]
            within = breaks_causing({"kind": "recompile", "nodes": again}, causes)
            each = overview.joined(each, {one.key: one.seconds for one in again})
        if said["row"] == "value of each object":
            again = of_other_objects(cause, nodes)
            each = overview.joined(each, {one.key: one.seconds for one in again})
        second = _FROM_THE_SECOND in settings_in(advice)
        if again and second:
            each = dict(each, **{again[0].key: 0.0})  # the recompile for the second value stays
        if again and "dynamic=True)" in advice and not second:
            each = dict(
                each, **{one.key: seconds_spared(one, nodes) for one in again if one.key in each}
            )
        if said["row"] == MADE_BEFORE:
            each = dict.fromkeys(each, 0.0)  # what the value is made of may take as many
        if cause["kind"] == "recompile":
            each = dict(each, **{one.key: 0.0 for one in again if _has_others(one, each)})
        told = (sum(each.values()), cause["kind"], file, line, words, advice, patch)
        more = {"row": said["row"], "function": node.frame, "caller": caller, "each": each}
        more["gave_up"] = overview.compiled_times(nodes, node) if stopped else 0
        more.update(within=within, cause=cause)
        more["unsure"] = next_breaks(cause, advice)
        if _OF_NUMBERS in settings_in(advice) and cause["kind"] != "recompile":
            sorts = uses.sorted_at(file, line)  # with such numbers torch breaks the graph there
            more["unsure"] += ((file, sorts),) * bool(sorts)
        if said["row"] == "branch" and advice.startswith(("torch.where", "torch.cond")):
            left = uses.values_needed_in_sides(file, line)  # there the graph breaks instead
            more["unsure"] += tuple((file, one) for one in left)
        more["outermost"] = frozenset(map(outermost, cause["nodes"]))
        more["shown_at"] = None
        if cause["kind"] == "recompile":
            more["shown_at"] = _read_at(said, (file, line))
        elif words_of.is_logged_alone(said["why"]) and caller[1]:
            more["shown_at"] = caller[:2]  # the reader's own line that logs
        found.append(Change(*told, also=(), gone=(), alone=0.0, **more))
        if _is_ended(found[-1], document):
            found[-1] = found[-1]._replace(ended=True)
        reasons.append(cause.get("reason") or {})
    one_for_each = _with_one_advice_for_a_line(_merged_by_value(found, reasons, known))
    return sorted(one_for_each, key=rank_of)


def _is_ended(change: Change, document: Document) -> bool:
    """Whether the program ended with an exception in code that torch made at the line of a change,
    or by the compile that it is about.
    """
    raised = document.get("raised_at") or {}
    if not document.get("error") or raised.get("by") not in _OF_TORCH:
        return False
    if _OF_TWICE in str(document["error"]):
        # it comes in the backward pass, and is of the graph whose gradient was one already
        return change.row == OF_GRADIENTS
    file, _, line = str(raised.get("program") or "").rpartition(":")
    if change.kind == "recompile":
        made = raised.get("compile_id")
        return bool(made) and any(
            one.entry.get("compile_id") == made for one in change.cause["nodes"]
        )
    places = ((change.file, change.line), change.shown_at, change.caller[:2])
    return line.isdigit() and (file, int(line)) in places


#: what the exception says of a graph of AOT Autograd that is differentiated twice, and the row of
#: what does so in a compiled function
_OF_TWICE = "does not currently support double backward"
OF_GRADIENTS = "gradient of a gradient"
#: by whose code an exception is that the program may not have without torch.compile
_OF_TORCH = ("generated", "resumed", "torch")
#: a setting with which a tensor's numbers are in the graph
_OF_NUMBERS = "capture_scalar_outputs"
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
    gave_up = {(one.file, one.line, one.row): one for one in found if fails(one)}
    kept = []
    for one in found:
        first = gave_up.get((one.file, one.line, one.row)) if one.kind == "break" else None
        if first is not None:
            one = one._replace(advice=first.advice, patch=first.patch)
        kept.append(one)
    return kept


#: rows of containers that the function itself fills
_FILLED = ("growing dict", "growing list")


def _read_at(said: Dict[str, Any], function_at: Tuple[str, int]) -> Optional[Tuple[str, int]]:
    """The place of the program that reads or changes the value of a recompile; None where torch
    does not tell, and where it is a library's.
    """
    from depyf.report import words

    file = said["file"]
    inside = uses.body_line(*function_at) if said["kind"] == "container" else 0
    if inside and said["row"] in _FILLED and (not file or words.in_library(file)):
        find = uses.fills_at if said["row"] == "growing dict" else uses.grows_in_call
        filled = find(function_at[0], inside, said["name"])
        return (function_at[0], filled) if filled else None
    if file and not os.path.isabs(file) and function_at[0].endswith(file):
        file = function_at[0]
    named = re.findall(r"\w+", said["name"]) if said["kind"] == "value" else []
    lines = uses.lines_naming(file, said["line"], named[-1]) if named else []
    line = said["line"]
    if lines and line not in lines:  # the graph is cut there, and guards what follows uses
        line = next((one for one in lines if one > line), line)
    of_value = said["kind"] in ("value", "container", "items") and said["line"]
    return (file, line) if of_value and os.path.isabs(file) and not words.in_library(file) else None


def _merged_by_value(
    found: List[Change], reasons: List[Dict[str, Any]], known: Known
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
            change = joined([one for one in (kept[first], found[at]) if one is not None])
            own = reason["own"]
            advice = _with_own(change.advice, own)
            patch = change.patch
            set_there = re.findall(r"(?m)^\+(torch\.\S+ = \S+)$", patch)
            if len(set_there) == 1 and "torch.compile(..., dynamic=True)" in own:
                where = change.file, change.line, known, change.caller[:2]
                of_compile = outermost(change.cause["nodes"][0])[1]
                patch = patch_for(set_there[0], *where, dynamic_at=of_compile) or patch
            kept[first], kept[at] = change._replace(advice=advice, patch=patch), None
    return [one for one in kept if one is not None]


def _with_own(advice: str, own: str) -> str:
    """Some advice with what helps besides another value: what is there for one value already names
    the other, too.
    """
    match = _OWN.match(own)
    if own in advice or match is None:
        return advice if own in advice else "%s %s" % (advice, own)
    name, text = match.groups()
    for one in _OWN.finditer(advice):
        if one.group(2).startswith(text):
            names = one.group(1) if name in one.group(1) else "%s and %s" % (one.group(1), name)
            return advice[: one.start(1)] + names + advice[one.end(1) :]
    return "%s %s" % (advice, own)


#: the names and the text of what helps besides another value
_OWN = re.compile(r"\bAnd for (`[^:]*`): (.*)", re.DOTALL)
#: a setting that makes a number symbolic from its second value on
_FROM_THE_SECOND = "allow_unspec_int_on_nn_module"
#: what begins the sentence of the other reasons of a recompile
BESIDE = ". Earlier compiles did not fit for other reasons, too: "
#: other reasons that are named beside one
_MOST_BESIDE = 2


def _has_others(node: Any, each: Dict[str, float]) -> bool:
    """Whether other values differ in a compile, too, or a module is in another mode, so that a
    change for one spares none of it.
    """
    if node.key not in each or not node.reasons:
        return False
    mode = str(node.reasons[0]["beside"] or "").endswith(".training")
    return mode or bool(node.reasons[0]["differing"])


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
    return BESIDE + "; ".join(named) if named else ""
