"""What the reasons of a compile say: why an earlier one did not fit, and what helps."""

import ast
import re
from typing import TYPE_CHECKING, Iterable, List, Optional, Sequence, Tuple

from depyf import advice
from depyf.advice import given, uses
from depyf.report import words
from depyf.report.overview.blocking import blocking_first
from depyf.report.overview.cached import wrong_for
from depyf.report.overview.guards import (
    changed_sizes,
    constant_beside,
    counts_of_keys,
    excludes_size,
    floats_set,
    has_size,
    known_of,
    made_at,
    of_object,
    sizes_of,
    small_beside,
    state_guard,
    state_of,
    symbolic,
)
from depyf.report.words.stacks import frame_places
from depyf.schema import Document
from depyf.trace.names import resumed
from depyf.trace.frames import parse_comment
from depyf.trace.vocabulary import stack_lines

if TYPE_CHECKING:
    from depyf.report.overview.node import Node

#: torch's name for the variables of a resume function's callers
_OF_FRAME = "__nested_frame_values"


def _given_to_rest(run: Document, name: str) -> Sequence[ast.expr]:
    """What the first code that calls a resume function gives it; () where it is not there."""
    for function in run.get("functions") or ():
        for entry in function.get("entries") or ():
            calls = {name} & {*(entry.get("calls") or ()), *(entry.get("aliases") or {}).values()}
            tree = uses.tree_of(str(entry.get("source") or "")) if calls else None
            for node in ast.walk(tree) if tree is not None else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    called = node.func.id
                    if (entry.get("aliases") or {}).get(called, called) == name:
                        return node.args
    return ()


_OF_TENSOR = re.compile(r"tensor '(.+?)' ")


#: what is told where torch's cache keeps no guard of a float that a graph has as a constant
_WRONG = (
    "; the results of this compile are wrong: torch's cache gave it the graph of [%s], which is "
    "for `%s` alone (a defect of torch)"
)


def reasons_of(node: "Node", parameters: Optional[Sequence[str]]) -> List[words.Said]:
    """What the reasons of this compile say, the cause first."""
    source, line = "", 0
    if node.function and node.is_resume:
        source, line = node.function.get("source") or "", node.resumes_at
    handed: Sequence[ast.expr] = ()
    if any(_OF_FRAME in str(reason) for reason in node.entry.get("reasons") or ()):
        handed = _given_to_rest(node.run, str((node.function or {}).get("global_name")))
    found = [
        words.of_reason(str(reason), source, line, parameters, handed)
        for reason in node.entry.get("reasons") or ()
    ]
    _name_tried(node, found)
    for reason in found:
        _describe(node, reason, line)
        words.name_object_of_method(reason)
    found = blocking_first(node, _cause_first(node, found))
    wrong = wrong_for(node.entry, node.earlier()) if found else None
    if wrong is not None:
        found[0]["words"] += _WRONG % wrong
    return found


def _name_tried(node: "Node", found: List[words.Said]) -> None:
    """Says of which entry each reason is where torch (2.4 and before) tells the guards alone: one
    for each entry.

    Where several entries have the guard, those of which another reason is are left out; if there
    are still several, nothing is said.
    """
    left = [] if any(one["tried"] for one in found) else node.earlier()
    for _ in found if len(found) == len(left) else ():
        for reason in found:
            fit = left
            if len(left) > 1:
                fit = [entry for entry in left if reason["failed"] in _guards_of(entry)]
            if not reason["tried"] and len(fit) == 1:
                reason["tried"] = str(fit[0].get("compile_id"))
                left = [entry for entry in left if entry is not fit[0]]


def _guards_of(entry: Document) -> List[str]:
    return [words.short(str(one.get("text") or "")) for one in entry.get("guards") or ()]


def _describe(node: "Node", reason: words.Said, line: int) -> None:
    """Says of a reason what the guards of this compile and of the earlier one tell beside it.

    Args:
        line: of the break after which the function goes on; 0 where it is no rest of one.
    """
    _place_of_tensor(node, reason)
    words.place_reason(reason, _stacks_of(node, reason["tried"]))
    words.describe_container(reason, node.place)
    words.describe_rate(reason, node.caller[0])
    whole = str((node.function or {}).get("source") or "")
    _fill_after(reason, node.entry, whole, node.breaks, node.place)
    words.describe_decision(reason, node.place, known_of(node.entry), node.breaks)
    _compare_sizes(node, reason)
    if reason["row"] == "growing list":
        words.describe_methods(reason, node.place)
    _compare_wrapped(node, reason)
    if reason["row"] == "text" and uses.only_shown(*node.place, reason["name"]):
        reason.update(help=[], patches=[])  # nothing is computed with it
    if reason["row"] in ("flag", "text", "value"):
        words.describe_object(reason)
    if reason["row"] == "type":
        words.describe_free(reason)
    if reason["row"] in ("type", "tensor or not"):
        words.describe_dispatch(reason)
    if reason["row"] in ("length", "other length") and _has_texts(node, reason):
        words.describe_texts(reason)
    kept = words.is_kept(reason) and not words.is_of_kept_object(reason)
    if node.is_resume and reason["kind"] == "value" and kept:
        if not reason["help"] or "is for that value only" in reason["words"]:
            words.describe_kept(reason, line)
    if node.is_resume and _is_of_this_call(node, reason, line):
        if reason["row"] == "size":
            words.drop_marks(reason)  # before the call there is no such tensor
        else:
            words.describe_made_before(reason, "line %d" % line)
    if reason["kind"] == "global state":
        _compare_states(node, reason)
    if words.DYNAMIC in reason["patches"]:
        words.describe_set(reason, floats_set(node), node.place, known_of(node.entry))
    reason["words"] = words.with_modules(reason["words"])
    reason["help"] = [words.with_modules(one) for one in reason["help"]]
    handed_on = words.is_handed_on(reason["name"]) and reason["row"] not in _OF_OBJECTS
    if words.in_library(node.place[0]) and handed_on:
        # a library's wrapper hands on what it is given: no line of the reader's passes it
        words.keep_advice_of_compile(reason, node.caller)
    if node.failure and not node.is_limit:
        # torch made symbolic what changed, and failed: what spares the compile would not
        reason.update(help=[], patches=[])


#: rows of advice that is about an object, whoever passes it
_OF_OBJECTS = ("object that was freed", "another optimizer")
#: rows of advice that holds for what a function makes itself, too
_OF_ANY_VALUE = (*words.SYMBOLIC, *advice.NORMAL, *advice.NO_ACTION, "kept value", "growing cache")


def _is_of_this_call(node: "Node", reason: words.Said, line: int) -> bool:
    """Whether a reason is about a value that each call makes before a graph break, for which the
    advice is for what a call is given.

    Args:
        line: of the break.
    """
    offset = _OFFSET.match(reason["failed"]) if reason["row"] == "storage offset" else None
    name = offset.group("name") if offset else words.argument_of(reason["name"])
    if not name or not reason["help"] or words.is_of_global(reason) or words.is_on_stack(reason):
        return False
    if reason["row"] in _OF_ANY_VALUE and reason["row"] != "size":
        return False
    return bool(given.made_before((node.place[0], line), name))


#: how torch names the tensor of an offset in its memory
_OFFSET = re.compile(r"\(*(?P<name>\w+)\.storage_offset\(\)")


def _compare_sizes(node: "Node", reason: words.Said) -> None:
    """Says of a size or a number which others changed, and why it was a constant."""
    at = re.search(r"stride mismatch at index (\d+)", reason["failed"])
    if at is not None:
        sizes = sizes_of(node.tried(reason["tried"]) or {})
        dimension = words.short(reason["name"]), int(at.group(1))
        words.describe_stride(reason, sizes.get(dimension, ""))
    small = reason["row"] == "size" and node.tried(reason["tried"])
    beside = small_beside(small, node.entry) if small else None
    changed = changed_sizes(small, node.entry) if small else []
    if changed:
        words.describe_sizes(reason, changed)
    index = re.search(r"size mismatch at index (\d+)", reason["failed"])
    if beside is not None:
        words.describe_small(reason, *beside)
    elif reason["row"] in words.SYMBOLIC or reason["row"] == "growing cache":
        _say_why_constant(node, reason)
        if reason["row"] == "size" and index is not None and reason["before"] not in ("0", "1"):
            _look_at_sides(node, reason, int(index.group(1)))
        if reason["row"] in words.SYMBOLIC:
            _look_beside(node, reason)


def _cause_first(node: "Node", found: List[words.Said]) -> List[words.Said]:
    """The reasons of a compile with its cause first: an entry of another mode, or for another of a
    few values, fits in no case; why that of the same one does not is the cause. A guard that torch
    could not evaluate tells least.
    """
    apart = advice.MODES + advice.OF_A_FEW
    objects = {id(one): _other_object(node, one["tried"]) for one in found}
    for one in found:
        one["of_another"] = objects[id(one)] is not None

    def key(reason: words.Said) -> Tuple[bool, bool, bool]:
        of_another = reason["row"] in apart or _is_of_another_state(node, reason, found)
        of_another = of_another or _is_of_another_rank(node, reason, found)
        other = objects[id(reason)] is not None or bool(_wrapped_before(node, reason))
        return words.is_not_evaluated(reason), other, of_another

    found = sorted(found, key=key)
    differing = objects[id(found[0])] if found else None
    if differing is not None:  # no entry was made for this object
        words.describe_other_object(found[0], *differing)
    return found


def _other_object(node: "Node", compile_id: str) -> Optional[Tuple[str, str, str]]:
    """(attribute, its value then, its value now) by which an earlier entry was made for another
    object of a class than this one: it fits in no case, and why torch looks at first.
    """
    before, now = of_object(node.tried(compile_id) or {}), of_object(node.entry)
    for name, value in before.items():
        if now.get(name, value) != value and now[name] not in ("int", "float"):  # symbolic
            sizes = value.startswith("[")  # of a parameter, which no module changes
            if sizes or _is_of_each_object(node, name):
                return name, value, now[name]
    return None


def _is_of_each_object(node: "Node", name: str) -> bool:
    """Whether an attribute is what its object was made with: the class may be in another file
    than the function.
    """
    files = dict.fromkeys([node.place[0], *_files(node)])
    return any(uses.is_of_each_object(file, name) for file in files)


def _files(node: "Node") -> Iterable[str]:
    """The files of the lines that a compile traced, and of those that led to it."""
    for file, _ in frame_places(node.stack):
        if not words.in_library(file) or "-packages" in file:
            yield file
    for artifact in node.entry.get("artifacts") or ():
        for place in (artifact.get("structure") or {}).get("places") or ():
            yield str(place[0])


def _is_of_another_state(node: "Node", reason: words.Said, reasons: Sequence[words.Said]) -> bool:
    """Whether an entry is for another state than that of the call (a cache that is empty, a
    size of 1), where another entry, for the same state, does not fit for another reason: that
    entry is the one nearest to the call.
    """
    if reason["row"] not in advice.NO_ACTION:
        return False
    made = state_of(reason, node.entry)
    if not made or made == state_of(reason, node.tried(reason["tried"])):
        return False
    others = [one for one in reasons if one["row"] not in advice.NO_ACTION]
    return any(state_of(reason, node.tried(one["tried"])) == made for one in others)


def _is_of_another_rank(node: "Node", reason: words.Said, reasons: Sequence[words.Said]) -> bool:
    """Whether an entry is for another number of dimensions, where another entry, for that of the
    call, does not fit for another reason.
    """
    if reason["row"] != "rank":
        return False
    name = words.short(reason["name"])
    others = [node.tried(one["tried"]) for one in reasons if one["row"] != "rank"]
    ranks = [_rank(one, name) for one in others if one is not None]
    return bool(_rank(node.entry, name)) and _rank(node.entry, name) in ranks


def _rank(entry: Document, name: str) -> int:
    return sum(1 for tensor, _ in sizes_of(entry) if tensor == name)


def _say_why_constant(node: "Node", reason: words.Said) -> None:
    """Says of a size that was symbolic, and a constant of the entry that was tried all the
    same, why: dynamic=True or a mark is there already.
    """
    settings = (node.entry.get("metrics") or {}).get("settings")
    if isinstance(settings, dict) and settings.get("assume_static_by_default") is False:
        words.keep_unless_dynamic(reason)
    tried = node.tried(reason["tried"])
    at = re.search(r"size mismatch at index (\d+)", reason["failed"])
    if tried is None or at is None:
        return
    dimension = words.short(reason["name"]), int(at.group(1))
    of_tried, of_this = symbolic(tried), symbolic(node.entry)
    shared = [
        other
        for other, size in sizes_of(tried).items()
        if other != dimension and size == reason["before"]
        # one symbol for both is that of the first of them
        if (other in of_tried) != (dimension in of_tried)
        and of_this.issuperset({other, dimension} - of_tried)
    ]
    if shared:
        words.describe_equal_sizes(reason, dimension, shared[0])
    elif dimension in of_tried:
        decided = [one for one in tried.get("conditions") or () if isinstance(one, (list, tuple))]
        stacks = [[str(one) for one in stack] for stack in decided]
        words.describe_decided_size(reason, stacks)


def _look_at_sides(node: "Node", reason: words.Said, index: int) -> None:
    """Says of a size that code decides on it, where the compile for any is for none like before."""
    at = reason["name"], index, reason["before"]
    if excludes_size(node.entry, *at, file=reason["file"]):
        words.describe_sides(reason)


def _look_beside(node: "Node", reason: words.Said) -> None:
    """Says of a number that is symbolic now why that spares no compile, where it does not."""
    tried = node.tried(reason["tried"])
    if tried is None:
        return
    source = str((node.function or {}).get("source") or "")
    other = constant_beside(reason, tried, node.entry, source, node.place)
    before = {one.get("reason") for one in tried.get("breaks") or ()}
    if other is not None:
        words.describe_beside(reason, other)
    elif any(one.get("reason") not in before for one in node.entry.get("breaks") or ()):
        words.describe_stop(reason)


def _has_texts(node: "Node", reason: words.Said) -> bool:
    """Whether a list whose length changed holds texts, by which compile the guards tell."""
    form = re.compile(re.escape(words.short(reason["name"])) + r"\[\d+\] == ['\"]")
    entries = [node.entry, node.tried(reason["tried"]) or {}]
    guards = [guard for entry in entries for guard in entry.get("guards") or ()]
    return any(form.match(words.short(str(one.get("text") or ""))) for one in guards)


def _stacks_of(node: "Node", compile_id: str) -> List[List[str]]:
    """Stacks of the lines that made the guards of an earlier entry."""
    tried = node.tried(compile_id) or {}
    stacks = list(tried.get("conditions") or ())
    stacks += [stack_lines(one.get("user_stack"), {}) for one in tried.get("symbols") or ()]
    stacks += [one["user_stack"] for one in tried.get("guards") or () if one.get("user_stack")]
    return stacks


def _place_of_tensor(node: "Node", reason: words.Said) -> None:
    """The line because of which a tensor is guarded; torch's reason for one names none."""
    match = _OF_TENSOR.match(reason["failed"])
    tried = node.tried(reason["tried"]) if match and not reason["line"] else None
    for guard in (tried or {}).get("guards") or ():
        if guard.get("kind") != "TENSOR_MATCH" or not match:
            continue
        made = parse_comment(str(guard.get("comment") or ""))
        if made and words.short(str(guard.get("source") or "")) == match.group(1):
            reason.update(file=made.path, line=made.line, source=made.code)
            break


def _compare_states(node: "Node", reason: words.Said) -> None:
    tried = node.tried(reason["tried"])
    if tried is not None:
        words.describe_state(reason, state_guard(tried), state_guard(node.entry))


def _compare_wrapped(node: "Node", reason: words.Said) -> None:
    """Says of the code of a decorator's wrapper which functions it is around."""
    before = _wrapped_before(node, reason)
    if before:
        words.describe_wrapped(reason, before, node.title)


def _wrapped_before(node: "Node", reason: words.Said) -> str:
    """The other function for which a decorator's wrapper was compiled when the entry was made
    that a reason names; "" where it was the same.
    """
    tried = node.tried(reason["tried"]) if node.through else None
    if tried is None:
        return ""
    before = str(tried.get("qualname") or (node.function or {}).get("qualname") or "")
    before = resumed(before)[0] or before
    return before if before != node.title else ""


def _fill_after(
    reason: words.Said,
    entry: Document,
    source: str,
    breaks: Sequence[words.Said],
    place: Tuple[str, int],
) -> None:
    """Says what a value is at the call that made an entry.

    Args:
        source: of the function that was compiled.
        breaks: of the entry.
        place: (file, line) of the function.
    """
    settings = (entry.get("metrics") or {}).get("settings")
    decided = [[str(one) for one in stack] for stack in entry.get("conditions") or ()]
    if reason["kind"] == "size" and has_size(reason, entry):
        words.describe_constant(reason, settings, source, decided)
    if reason["kind"] == "shape condition" and words.is_of_float(reason["raw"]):
        words.describe_float(reason, source, decided, place, known_of(entry))
        return
    if (
        reason["after"]
        or not reason["name"]
        or reason["kind"] not in ("value", "type", "container")
    ):
        return
    _find_after(reason, entry)
    if reason["kind"] == "container" and not reason["after"]:
        # torch guards on each key of a dict whose number of keys it asks for
        keys = counts_of_keys(entry).get(words.short(reason["name"]), reason["before"])
        reason["after"] = str(keys) if str(keys) != reason["before"] else ""
    if ".size()" in str(reason["after"]):  # no value, but how torch computes one from sizes
        formula = str(reason["after"])
        formula = formula[1:-1] if re.match(r"^\([^()]*(\(\)[^()]*)*\)$", formula) else formula
        form = "is another number, `%s`" % formula
        reason["words"] = re.sub(r"is another value$", lambda _: form, reason["words"])
        reason["after"] = ""
        return
    if (
        not reason["after"]
        and reason["kind"] == "value"
        and re.match(r"^-?\d", reason["before"])
        and entry.get("guards")
    ):
        guards = [words.short(str(one.get("text") or "")) for one in entry.get("guards") or ()]
        of_floats = [
            words.short(str(one.get("text") or ""))
            for one in entry["guards"]
            if words.is_of_float(str(one.get("comment") or ""))
        ]
        more = settings, source, decided, place, of_floats, known_of(entry)
        words.describe_any(reason, breaks, guards, *more)  # it asks for no value any more
    if reason["after"]:
        _say_after(reason)
    if reason["kind"] == "value" and words.is_number(reason["after"]):
        made = made_at(reason, entry)
        decided = [one for one in decided if made and one[-1].partition(" in ")[0].endswith(made)]
        words.describe_constant(reason, settings, source, decided, place, known_of(entry))


def _find_after(reason: words.Said, entry: Document) -> None:
    """Looks in the guards of the entry that was made for what a value is, where torch says only
    what it was.
    """
    wanted = words.short(reason["name"])
    for guard in entry.get("guards") or ():
        of_tensor = guard.get("kind") == "TENSOR_MATCH" and reason["kind"] == "value"
        if of_tensor and words.short(str(guard.get("source") or "")) == wanted:
            words.describe_value_of_type(reason, "tensor")
        text = words.short(str(guard.get("text") or ""))
        if wanted not in text:
            continue
        of_type = text.startswith("___check_type_id(%s," % wanted) and "type=<class '" in text
        if reason["kind"] == "value" and text.startswith(wanted + " == "):
            reason["after"] = text[len(wanted) + 4 :]
            # a float that is a constant is guarded by its value, with no guard of its type
            words.describe_value_of_type(reason, words.type_of_literal(reason["after"]))
        elif reason["kind"] == "container" and text.startswith("len(%s) == " % wanted):
            reason["after"] = text.rpartition(" == ")[2]
        elif reason["kind"] == "type" and of_type:
            words.describe_type(reason, text.split("type=<class '", 1)[1].split("'", 1)[0])
        elif reason["kind"] == "value" and of_type:
            words.describe_value_of_type(reason, text.split("type=<class '", 1)[1].split("'", 1)[0])
        elif reason["kind"] == "type" and text == wanted + " is None":
            words.describe_type(reason, "NoneType")
        elif reason["kind"] == "value" and text == wanted + " is None":
            reason["after"] = "None"
        if reason["after"]:
            break


def _say_after(reason: words.Said) -> None:
    """Puts what a value is into the words of a reason that say that it is another one."""

    def told(match: "re.Match[str]") -> str:
        if "type" in match.group():
            after = words.of_type(reason["after"])
        else:
            after = "None" if reason["after"] == "NoneType" else reason["after"]
        return ("has " if match.group().startswith("has ") else "is ") + after

    form = r"is another value$|has (?:another length|more or fewer)$|is of another type$|is given$"
    reason["words"] = re.sub(form, told, reason["words"])
