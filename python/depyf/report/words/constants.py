"""Sizes and numbers that are constants in compiled code: why, and what else they could be."""

import re
from typing import Any, Collection, Dict, FrozenSet, Iterable, List, NamedTuple, Sequence, Tuple

from depyf.advice import breaks as break_rows
from depyf.advice import conditions, flows, tensor_arguments, uses
from depyf.advice.recompiles.floats import OF_TENSOR
from depyf.report.words.breaks import Said
from depyf.report.words.rows import (
    CONSTANT_OF_FLOAT,
    DECIDES,
    EQUAL,
    KEPT,
    advise,
    argument_of,
    condition_row,
    decides_on,
    is_length,
    picks_element,
)
from depyf.report.words.stacks import frame_places, in_library, short_place

#: the patch that makes sizes and numbers symbolic
DYNAMIC = "torch.compile(..., dynamic=True)"
#: rows of what torch takes as symbolic -> those of what is again a constant in the compile for the
#: other value
_AGAIN = {
    "size": "size used as a constant",
    "integer": "integer used as a constant",
    "float": "float used as a constant",
    "float attribute": "float attribute used as a constant",
}


class Known(NamedTuple):
    """What the guards of a compile tell of a function."""

    #: the names of its numbers that change
    numbers: Collection[str]
    #: whether its tensors are double
    double: bool
    #: (file, line) of the frames that torch met, outermost first
    stacks: Sequence[Sequence[Any]]
    #: the names of numbers that are fixed
    fixed: Collection[str]
    #: the attributes that its compiled code sets
    sets: FrozenSet[str]
    #: the floats of a graph which torch's cache had, without a guard of them
    constants: Collection[str] = ()


UNKNOWN = Known((), False, (), (), frozenset())
_STATIC = re.compile(r"^\s*@.*\bdynamic\s*=\s*False\b", re.MULTILINE)


def describe_constant(
    found: Said,
    settings: Any = None,
    source: str = "",
    decided: Sequence[Sequence[str]] = (),
    place: Tuple[str, int] = ("", 0),
    known: Known = UNKNOWN,
) -> None:
    """Says that the compile for another size or number is for that alone, as its guards tell.

    Args:
        found: the reason.
        settings: those of the compile, where torch told them.
        source: of the function, its decorators included.
        decided: stacks of the lines that may have made it a constant, outermost frame first.
        place: (file, line) where the function begins.
        known: what the guards tell of the function.
    """
    row = _AGAIN.get(found["row"])
    if found["row"] == "growing cache":
        keep_unless_dynamic(found)
    if row is None:
        return
    found["words"] += "; this compile, too, is for that value only"
    names: Dict[str, str] = {}
    if row == "integer used as a constant":
        row, names = _math_of_integer(found, _constant_row(found), place, known)
    elif found["kind"] == "value" and _DROPOUT.search(found["source"]):
        row = "float of dropout"
    elif found["kind"] == "value" and _decides_otherwise(found):
        row = "number condition"
    if row == "size used as a constant":
        row, names = _size_row(decided)
    elif row in ("float used as a constant", "float attribute used as a constant"):
        row, names = _constant_float(found, row, source, decided, place, known)
    advise(found, _static_row(settings, source) or row, **names)


#: what a call of cross_entropy is given whose smoothing can be computed beside it
_SMOOTHED = ("input", "target", "label_smoothing")


def _constant_float(
    found: Said,
    row: str,
    source: str,
    decided: Sequence[Sequence[str]],
    place: Tuple[str, int],
    known: Known,
) -> Tuple[str, Dict[str, str]]:
    """(row, names) of a float that is a constant in each compile, by what the program does with it;
    the arguments are those of `describe_constant`.
    """
    names: Dict[str, str] = {}
    if row == "float attribute used as a constant" and _is_set(found, source, known):
        return _set_row(found, place, known), names
    if row in ("float used as a constant", "float attribute used as a constant"):
        of_torch = uses.number_parameter(found["file"], found["line"], found["name"])
        names["called"], parameter = of_torch
        at = found["file"], found["line"]
        smooths = parameter == "label_smoothing" and names["called"] == "cross_entropy"
        if smooths and not uses.gives_more(*at, "cross_entropy", _SMOOTHED):
            row = "float of label smoothing"
        elif names["called"]:
            row = "float of an operator"
        else:
            row, names = _float_row(found, row, decided, place, known)
    if known.double and argument_of(found["name"]):
        names["tensor"] = as_tensor(argument_of(found["name"]), known)
    return row, names


def as_tensor(name: str, known: Known) -> str:
    """The call that makes a tensor of a number, in which no digit is lost beside tensors of
    float64.
    """
    return "torch.tensor(%s%s)" % (name, ", dtype=torch.float64" if known.double else "")


def _is_set(found: Said, source: str, known: Known) -> bool:
    """Whether the function sets the attribute that a reason is about."""
    attribute = found["name"].rpartition(".")[2]
    met = {at for stack in known.stacks for at in stack}
    # a line may set it of another object, which is gone at the end of the call
    sets = _sets(found["source"], attribute) or any(
        uses.sets_at(at[0], at[1], attribute) for at in met
    )
    return uses.sets_in(source, found["name"]) or sets and attribute in known.sets


def _sets(source: str, attribute: str) -> bool:
    """Whether a line sets an attribute of an object, as `self.count += 1` does."""
    return bool(re.match(r"\s*[\w.\[\]]+\.%s\s*[-+*/]?=(?!=)" % re.escape(attribute), source))


def users_places(stack: Sequence[str]) -> List[Tuple[str, int]]:
    """(file, line) of the frames of a stack that are no library's, innermost first."""
    return [one for one in frame_places(stack)[::-1] if not in_library(one[0])]


def _size_row(decided: Sequence[Sequence[str]]) -> Tuple[str, Dict[str, str]]:
    """(row, names) of a size that is a constant, by the line that made it one: a function of numpy,
    a list, a loop, a lookup by it.
    """
    for stack in reversed(decided):
        for file, line in users_places(stack)[:1]:
            names = {"at": short_place(file, line), "called": uses.outside_call(file, line)}
            if names["called"]:
                return "size in a function", names
            if uses.lists_of(file, line):
                return "size of a list", names
            if uses.loop_at(file, line):
                return "size of a loop", names
            if uses.sets_key_at(file, line):
                return "size as a key", names
            if uses.key_at(file, line):
                return "size that is looked up", names
    places = users_places(decided[0])[:1] if len(decided) == 1 else []
    return "size used as a constant", {"maker": short_place(*places[0]) if places else "the code"}


def _float_row(
    found: Said,
    row: str,
    decided: Sequence[Sequence[str]],
    place: Tuple[str, int],
    known: Known,
) -> Tuple[str, Dict[str, str]]:
    """(row, names) of a float that is a constant: what makes it one may be a function of Python,
    which takes no tensor, as may other lines that use it.
    """
    name, (file, line) = found["name"], (found["file"], found["line"])
    body = uses.body_line(*place)
    needing: Dict[Tuple[str, int], None] = {}
    names: Dict[str, str] = {}
    for stack in decided:
        for at in users_places(stack)[:1]:
            called = uses.outside_call(*at)
            if called and not names:
                names = {"called": called, "at": short_place(*at)}
                needing.update(((at[0], one), None) for one in uses.number_lines(*at))
    for of, inner in dict.fromkeys([(file, line), (place[0], body)] if body else [(file, line)]):
        needing.update(((of, one), None) for one in uses.number_lines(of, inner, name))
        needed = uses.needed_at(of, inner, name)
        if needed:
            needing[of, needed] = None
    every = _uses_of(name, place, known)
    used = [one for one in every if name in one.names]
    kinds = {one.kind for one in used}
    if flows.MATH in kinds and not kinds & {flows.OUTSIDE, flows.NEEDED}:
        return _math_row(row, every, name, known)
    for one in used:
        if one.kind in (flows.MATH, flows.OUTSIDE, flows.NEEDED):
            needing[one.file, one.line] = None
        if one.kind in (flows.MATH, flows.OUTSIDE) and not names:
            names = {"called": one.called, "at": short_place(one.file, one.line)}
    operators = [one for one in used if one.kind == flows.OPERATOR]
    maker = _maker(operators)
    if not needing and not names:
        every_one = [one.called.rpartition(".")[2] for one in operators]
        instead = {"instead": tensor_arguments.hedge(every_one)} if every_one else {}
        return row, dict(instead, maker=maker)
    names["maker"] = maker
    names["needing"] = _places_in_words(sorted(needing))
    tested = {
        (one.file, one.line)
        for one in used
        if one.kind == flows.NEEDED and flows.RESULT in one.names
    }
    if tested and names.get("called"):
        names["decided"] = _places_in_words(sorted(tested))
        return "float in a function that decides", names
    return "float in a function" if names.get("called") else "float that Python needs", names


def _uses_of(name: str, place: Tuple[str, int], known: Known) -> List[flows.Use]:
    """Where the program uses a number that a function is given, as far as its source tells."""
    numbers = dict.fromkeys(tuple(known.numbers) + (name,))
    return flows.number_uses(place, numbers, known.stacks, known.fixed) if place[1] else []


def _maker(operators: Sequence[flows.Use]) -> str:
    """What makes a number a constant, with its verb: `clamp at f.py:3 makes`."""
    told = list(
        dict.fromkeys(
            "%s at %s" % (one.called.rpartition(".")[2], short_place(one.file, one.line))
            for one in operators
        )
    )
    if not told or len(told) > 3:
        return "the code makes"
    return "%s %s" % (" and ".join(told), "makes" if len(told) == 1 else "make")


def _math_row(
    row: str, used: Sequence[flows.Use], name: str, known: Known
) -> Tuple[str, Dict[str, str]]:
    """(row, names) of a float that goes into functions of math which torch has for tensors."""
    wanted, met = flows.to_be_tensors(used, name)
    operators = [one for one in used if one.kind == flows.OPERATOR and name in one.names]
    if not all(one.names.intersection(wanted) for one in operators):
        wanted = sorted(wanted + [name])
    called = list(dict.fromkeys(one.called for one in met))
    tensors, given = [], []
    for one in wanted:
        if one.isidentifier():
            made = as_tensor(one, known).replace("torch.tensor", "torch.as_tensor")
            given.append(made)
            tensors.append("pass %s in place of %s" % (made, one))
        else:
            tensors.append("make %s a tensor where the program sets it" % one)
    places = dict.fromkeys((one.file, one.line) for one in met)
    names = {
        "called": " and ".join(called),
        "torch": " and ".join("torch." + one.rpartition(".")[2] for one in called),
        "at": _places_in_words(list(places)),
        "takes": "takes" if len(called) == 1 else "take",
        "tensors": ", and ".join(tensors),
        "given": "; ".join(given),
    }
    kind = "float attribute" if "attribute" in row else "float"
    return kind + " in a function of math", names


def describe_float(
    found: Said,
    source: str,
    decided: Sequence[Sequence[str]],
    place: Tuple[str, int],
    known: Known,
) -> None:
    """Advises on a condition of floats that torch could not make tensors; the arguments are those
    of `describe_constant`.
    """
    if "." in found["name"] and _is_set(found, source, known):
        advise(found, _set_row(found, place, known))
        return
    if found["name"]:
        row, names = _constant_float(found, found["row"], "", decided, place, known)
        advise(found, row, **names)
        return
    for name in sorted(conditions.names(found["failed"])):
        used = [one for one in _uses_of(name, place, known) if name in one.names]
        if {one.kind for one in used} <= {flows.MATH, flows.OPERATOR} and any(
            one.kind == flows.MATH for one in used
        ):
            row, names = _math_row("float", _uses_of(name, place, known), name, known)
            advise(found, row, **names)
            return


def describe_decision(
    found: Said, place: Tuple[str, int], known: Known, breaks: Sequence[Said] = ()
) -> None:
    """Says of a float on which the function, or what it calls, decides that a tensor in its place
    would break the graph there.

    Args:
        found: the reason.
        place: (file, line) where the function, or the rest of it, begins.
        known: what the guards tell of the function.
        breaks: those of the compile.
    """
    if found["row"] not in ("float", "float attribute") or not found["name"]:
        return
    used = [one for one in _uses_of(found["name"], place, known) if found["name"] in one.names]
    needed = {(one.file, one.line) for one in used if one.kind == flows.NEEDED}
    if decides_on(found) or needed:
        advise(found, "float that decides")
        _keep_to_what_breaks(found, needed, breaks)


def _keep_to_what_breaks(
    found: Said, needed: Iterable[Tuple[str, int]], breaks: Sequence[Said]
) -> None:
    """Leaves out that a tensor would break the graph, where a tensor that decides breaks it at the
    same line with the float, too.

    Args:
        found: the reason.
        needed: (file, line) of what else decides on the float.
        breaks: those of the compile.
    """
    broken = {(one["file"], one["line"]) for one in breaks if one["row"] in break_rows.DECIDE}
    deciding = {*needed, (found["file"], found["line"])}
    if deciding <= broken:
        found["help"] = [one.replace(OF_TENSOR, "") for one in found["help"]]


def describe_set(found: Said, floats: Iterable[str], place: Tuple[str, int], known: Known) -> None:
    """Advises where dynamic=True would make symbolic what the function sets: a float that it sets
    is a constant of the graph, so torch would compile for each value.

    Args:
        found: the reason.
        floats: the attributes that the function sets, and that are floats.
        place: (file, line) where the function, or the rest of it, begins.
        known: what the guards tell of the function.
    """
    name = found["name"]
    own = "." in name and name.rpartition(".")[2] in floats
    if own and found["row"] in ("float attribute", "float that decides"):
        advise(found, _set_row(found, place, known))
    elif floats:
        keep_unless_dynamic(found)


def _set_row(found: Said, place: Tuple[str, int], known: Known) -> str:
    """The row of a float that the function sets, by whether it decides on it, too."""
    used = [one for one in _uses_of(found["name"], place, known) if found["name"] in one.names]
    decides = decides_on(found) or any(one.kind == flows.NEEDED for one in used)
    return "float that is set and decides" if decides else "float that is set"


def _places_in_words(places: Sequence[Tuple[str, int]]) -> str:
    """`a.py:3`, `a.py:3 and 5`, `a.py:3, 5 and 7`."""
    told = [
        short_place(file, line) if not index or places[index - 1][0] != file else str(line)
        for index, (file, line) in enumerate(places)
    ]
    return " and ".join([", ".join(told[:-1])] * bool(told[:-1]) + told[-1:])


_ASKED = re.compile(r"^\s*(?:el)?if (?P<test>[^:]+):")


def _decides_otherwise(found: Said) -> bool:
    """Whether the branch that made a guard goes another way for the value that there is now."""
    asked = _ASKED.match(found["source"])
    if asked is None:
        return False
    test, name = asked.group("test"), found["name"]
    sides = {conditions.holds(test, name, found[key]) for key in ("before", "after")}
    return sides == {True, False}


def describe_static(found: Said, settings: Any = None, source: str = "") -> None:
    """Advises on a size or number that has no compile, where torch takes none as symbolic.

    Args:
        found: the reason.
        settings: those of another compile of the function, where torch told them.
        source: of the function, its decorators included.
    """
    row = _static_row(settings, source)
    if row and found["row"] in _AGAIN:
        advise(found, row)


def _static_row(settings: Any, source: str) -> str:
    """The row of why torch takes no size or number of a function as symbolic; "" where it may."""
    if _STATIC.search(source.partition("def ")[0]):
        return "given dynamic=False"
    if isinstance(settings, dict) and settings.get("automatic_dynamic_shapes") is False:
        return "not dynamic"
    return ""


_DROPOUT = re.compile(r"\b(\w+_)?dropout\w*\(", re.IGNORECASE)


def _constant_row(found: Said) -> str:
    """The row of an integer that is a constant in each compile, by what the program does with it:
    a function, a loop, a branch, an operator.
    """
    at = found["file"], found["line"], found["name"]
    if picks_element(found):
        return "number that is picked" if uses.picks_number(*at) else "integer that picks"
    if is_length(found):
        return "integer used as a constant"
    if uses.put_at(*at):
        return "integer in a set"
    if uses.equals_at(*at) or _EQUALS.match(found["source"]):
        return "number condition"
    if uses.selects_at(*at):
        return "integer that picks"
    return "integer in a text" if uses.spelt_at(*at) else "integer of an operator"


#: a line that decides on more than a range, of which torch makes no constant
_EQUALS = re.compile(r"(?!.*[^<>=!][<>])%s" % DECIDES.pattern)
#: rows of integers that do not tell what is computed from them
_OF_INTEGERS = ("integer", "integer attribute", "integer of an operator")
_PICK = ("integer that picks", "number that is picked")


def _math_of_integer(
    found: Said, row: str, place: Tuple[str, int], known: Known
) -> Tuple[str, Dict[str, str]]:
    """(row, names) of an integer that goes into a function of math: Inductor's C++ cannot compute
    all of them with a symbolic number.
    """
    name = found["name"]
    used = [one for one in _uses_of(name, place, known) if name in one.names]
    of_math = [one for one in used if one.kind in (flows.MATH, flows.OUTSIDE)]
    if not of_math or row not in _OF_INTEGERS + _PICK:
        return _row_of_pick(found, row)
    constant = row in _PICK or row == "integer of an operator"
    picks = constant and any(uses.picks_at(one.file, one.line, name) for one in used)
    called = dict.fromkeys(one.called for one in of_math)
    places = dict.fromkeys((one.file, one.line) for one in of_math)
    names = {"called": " and ".join(called), "at": _places_in_words(list(places))}
    if picks or row in _PICK:
        return "integer that picks and that a function of math is given", names
    return "integer that a function of math is given", names


def _row_of_pick(found: Said, row: str) -> Tuple[str, Dict[str, str]]:
    """(row, names) of an integer that picks an element: Python may need its value, so that a tensor
    cannot take its place.
    """
    file = found["file"]
    lines = uses.lines_needing_pick(file, found["line"], found["name"]) if row in _PICK else []
    if not lines:
        return row, {}
    needing = _places_in_words([(file, one) for one in lines])
    return "integer that picks what Python needs", {"needing": needing}


def describe_any(
    found: Said,
    breaks: Sequence[Said] = (),
    guards: Sequence[str] = (),
    settings: Any = None,
    source: str = "",
    decided: Sequence[Sequence[str]] = (),
    place: Tuple[str, int] = ("", 0),
    of_floats: Sequence[str] = (),
    known_of: Known = UNKNOWN,
) -> None:
    """Says that the compile for another number takes any, or any of which a condition holds.

    Args:
        found: the reason.
        breaks: those of that compile, as `of_break` has them.
        guards: its guards.
        settings: those of the compile, where torch told them.
        source: as the next two, see `describe_constant`.
        of_floats: the guards that torch made of floats which it could not make tensors.
        known_of: what the guards tell of the function.
    """
    name, before = found["name"], found["before"]
    known = [one for one in guards if conditions.holds(one, name, before) is False]
    asked = [one for one in guards if conditions.asks_of(one, name) and "hasattr(" not in one]
    asked.sort(key=lambda one: " == " not in one)
    any_number = "is another number; from here on any number fits"
    named = re.compile(r"(?<![\w.'\"])%s(?![\w(])" % re.escape(name))
    is_read = any(named.search(one) for one in guards)
    if not is_read:
        any_number = "is another number; this compile does not depend on it"
    elif asked:
        any_number += _conditions(asked[0], asked, name)
    only = "is another number; the compile for it fits the numbers"
    now = only + _conditions(known[0], asked, name) if known else any_number
    of_cache = name in known_of.constants and found["row"] in ("float", "float attribute")
    if of_cache and not known:
        now = "is another number"
    found["words"] = found["words"].replace("is another value", now)
    given = isinstance(settings, dict) and settings.get("assume_static_by_default") is False
    known_constant = known and known[0] in of_floats or of_cache and not known
    if known_constant and found["row"] in ("float", "float attribute"):
        # nothing decides on it: what is computed from it goes where no tensor can
        row, names = _constant_float(found, _AGAIN[found["row"]], source, decided, place, known_of)
        found["words"] += "; " + CONSTANT_OF_FLOAT
        advise(found, row, **names)
        return
    if known or given:
        # with dynamic=True, too, the first number has a compile of its own
        equal = EQUAL.match(known[0]) if known else None
        if equal is not None and not conditions.is_computed(equal.group("name")):
            row = _constant_row(found)
            name = argument_of(equal.group("name"))
            if name == found["name"] and found["row"] in ("integer", "integer attribute"):
                row, names = _math_of_integer(found, row, place, known_of)
                advise(found, row, **names)
                return
            advise(found, row, name=name)
            return
        advise(found, condition_row(found, known[0] if known else ""))
        return
    if not is_read:
        return
    if found["row"].startswith("counter") and found["row"] != "counter in a dict":
        advise(found, "integer attribute")
    if found["row"] in ("float", "float attribute") and decides_on(found):
        advise(found, "float that decides")
        _keep_to_what_breaks(found, (), breaks)
    if found["row"] == "integer" and any(one["row"] == "function of a number" for one in breaks):
        advise(found, "integer in a function")
    if found["row"] in ("integer", "integer attribute"):
        row, names = _math_of_integer(found, found["row"], place, known_of)
        if row != found["row"]:
            advise(found, row, **names)


#: characters of a condition that a reader takes in at a glance
_SHORT = 60


def _conditions(first: str, asked: Sequence[str], name: str) -> str:
    """What the numbers have in common for which all guards on a number hold, as `_condition`."""
    compared = conditions.comparisons(first)
    if [one[:2] for one in compared] != [(name, "==")]:  # which decides all others
        first = " and ".join(dict.fromkeys([first, *asked]))
    return _condition(re.sub(r"\btorch\._sym_(\w+)", r"\1", first), name)


def _condition(guard: str, name: str) -> str:
    """What the numbers have in common that a compile fits, as the end of a sentence: a condition
    that is short and in names of the program.
    """
    if KEPT.search(name):
        guard = re.sub(r"(?<![\w.])%s(?![\w.\[(])" % re.escape(name), "kept", guard)
    if len(guard) > _SHORT or KEPT.search(guard):
        return " for which the code decides the same"
    return " for which `%s` holds" % guard


def keep_unless_dynamic(found: Said) -> None:
    """Of what helps, leaves out dynamic=True, where the compile had it, or gained nothing by it."""
    given = [one for one in zip(found["help"], found["patches"]) if one[1] != DYNAMIC]
    found.update(help=[one for one, _ in given], patches=[one for _, one in given])


def describe_decided_size(found: Said, decided: Sequence[Sequence[str]]) -> None:
    """Says that a size was symbolic already, and that code made it a constant for one value.

    Args:
        found: the reason.
        decided: stacks of the lines that may have made it a constant, outermost frame first.
    """
    row, names = _size_row(decided)
    if row == "size used as a constant":
        row, at = "shape condition", names["maker"]
        found["words"] += "; it was symbolic, and became a constant" + (
            " at %s" % at if at != "the code" else ""
        )
    advise(found, row, **names)
