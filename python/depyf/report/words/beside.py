"""What the other compiles, and the rest of the entry, tell of a recompile's reason: another value,
another type, a constant beside it, a switch of modes.
"""

import re
from collections import namedtuple
from typing import Any, Dict, List, Sequence, Tuple

from depyf.advice import conditions, flows, tensor_arguments, uses
from depyf.report.words.breaks import Said
from depyf.report.words.reasons import (
    CONSTANT_OF_FLOAT,
    DECIDES,
    EQUAL,
    KEPT,
    advise,
    argument_of,
    condition_row,
    decides_on,
    is_length,
    list_row,
    marks_of,
    picks_element,
    type_row,
    with_article,
)
from depyf.report.words.stacks import frame_places, in_library, short_place
from depyf.trace.guard_text import changed_state, state_of

#: the patch that makes sizes and numbers symbolic
_DYNAMIC = "torch.compile(..., dynamic=True)"


def describe_state(reason: Said, before: str, after: str) -> None:
    """Says what of torch's state changed from the guard of the entry that was tried to that of the
    one that was made.
    """
    changed = changed_state(state_of(before), state_of(after))
    if changed:
        reason["words"] = "; ".join(changed)


def of_type(name: str) -> str:
    """A value of a type, in words: `a float`, `None`."""
    return "None" if name == "NoneType" else with_article(name)


def describe_type(found: Said, after: str) -> None:
    """Says what a value of another type now is: torch tells it by the guards of the new entry."""
    found["after"] = after
    if found["before"] == "function" and after == "NoneType":
        advise(found, "none")
    if found["row"] == "type":
        advise(found, type_row(found["before"], after, found["name"]))


#: how a value begins as torch prints it -> its type
_LITERALS = (
    (re.compile(r"^-?\d+$"), "int"),
    (re.compile(r"^-?\d[\d.]*(e[-+]?\d+)?$|^-?(inf|nan)$"), "float"),
    (re.compile(r"^(True|False)$"), "bool"),
    (re.compile(r"^['\"]"), "str"),
)


#: rows of what torch takes as symbolic -> those of what is again a constant in the compile for the
#: other value
_AGAIN = {
    "size": "size used as a constant",
    "integer": "integer used as a constant",
    "float": "float used as a constant",
    "float attribute": "float attribute used as a constant",
}


def type_of_literal(text: str) -> str:
    """The type of a value as torch prints it; "" where it is not known."""
    return next((name for form, name in _LITERALS if form.match(text)), "")


def is_number(text: str) -> bool:
    """Whether a value as torch prints it is an integer or a float."""
    return type_of_literal(text) in ("int", "float")


#: what the guards of a compile tell of a function: the names of its `numbers` that change, whether
#: its tensors are `double`, the (file, line) of the frames that torch met in `stacks`, outermost
#: first, and the names of numbers that are `fixed`
Known = namedtuple("Known", "numbers double stacks fixed")
UNKNOWN = Known((), False, (), ())

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
    found["words"] += "; the compile for this value is for it alone, too"
    if row == "integer used as a constant":
        row = _constant_row(found)
    elif found["kind"] == "value" and _DROPOUT.search(found["source"]):
        row = "float of dropout"
    elif found["kind"] == "value" and _decides_otherwise(found):
        row = "number condition"
    names: Dict[str, str] = {}
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
    attribute = found["name"].rpartition(".")[2]
    if row == "float attribute used as a constant":
        met = {at for stack in known.stacks for at in stack}
        if (
            uses.sets_in(source, found["name"])
            or _sets(found["source"], attribute)
            or any(uses.sets_at(at[0], at[1], attribute) for at in met)
        ):
            return "float that is set", names
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


def _sets(source: str, attribute: str) -> bool:
    """Whether a line sets an attribute of an object, as `self.count += 1` does."""
    return bool(re.match(r"\s*[\w.\[\]]+\.%s\s*[-+*/]?=(?!=)" % re.escape(attribute), source))


def _users_places(stack: Sequence[str]) -> List[Tuple[str, int]]:
    """(file, line) of the frames of a stack that are no library's, innermost first."""
    return [one for one in frame_places(stack)[::-1] if not in_library(one[0])]


def _size_row(decided: Sequence[Sequence[str]]) -> Tuple[str, Dict[str, str]]:
    """(row, names) of a size that is a constant, by the line that made it one: a function of numpy,
    a loop, a lookup by it.
    """
    for stack in reversed(decided):
        for file, line in _users_places(stack)[:1]:
            names = {"at": short_place(file, line), "called": uses.outside_call(file, line)}
            if names["called"]:
                return "size in a function", names
            if uses.loop_at(file, line):
                return "size of a loop", names
            if uses.sets_key_at(file, line):
                return "size as a key", names
            if uses.key_at(file, line):
                return "size that is looked up", names
    places = _users_places(decided[0])[:1] if len(decided) == 1 else []
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
        for at in _users_places(stack)[:1]:
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
    decided: Sequence[Sequence[str]],
    place: Tuple[str, int],
    known: Known,
) -> None:
    """Advises on a condition of floats that torch could not make tensors; the arguments are those
    of `describe_constant`.
    """
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


def describe_decision(found: Said, place: Tuple[str, int], known: Known) -> None:
    """Says of a float on which the function, or what it calls, decides that a tensor in its place
    would break the graph there.

    Args:
        found: the reason.
        place: (file, line) where the function, or the rest of it, begins.
        known: what the guards tell of the function.
    """
    if found["row"] not in ("float", "float attribute") or not found["name"]:
        return
    used = [one for one in _uses_of(found["name"], place, known) if found["name"] in one.names]
    if decides_on(found) or any(one.kind == flows.NEEDED for one in used):
        advise(found, "float that decides")


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
    if uses.tested_at(*at) or DECIDES.match(found["source"]):
        return "number condition"
    return "integer in a text" if uses.spelt_at(*at) else "integer of an operator"


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
    asked = [one for one in guards if conditions.asks_of(one, name)]
    asked.sort(key=lambda one: " == " not in one)
    asked = [re.sub(r"\btorch\._sym_(\w+)", r"\1", one) for one in asked]
    any_number = "is another number; from here on any number fits"
    if asked:
        any_number += " for which `%s` holds" % asked[0]
    only = "is another number; the compile for it fits the numbers for which `%s` holds"
    now = only % known[0] if known else any_number
    found["words"] = found["words"].replace("is another value", now)
    given = isinstance(settings, dict) and settings.get("assume_static_by_default") is False
    if known and known[0] in of_floats and found["row"] in ("float", "float attribute"):
        # nothing decides on it: what is computed from it goes where no tensor can
        row, names = _constant_float(found, _AGAIN[found["row"]], source, decided, place, known_of)
        found["words"] += "; " + CONSTANT_OF_FLOAT
        advise(found, row, **names)
        return
    if known or given:
        # with dynamic=True, too, the first number has a compile of its own
        equal = EQUAL.match(known[0]) if known else None
        if equal is not None and not conditions.is_computed(equal.group("name")):
            advise(found, _constant_row(found), name=argument_of(equal.group("name")))
            return
        advise(found, condition_row(found, known[0] if known else ""))
        return
    if found["row"] in ("counter", "counter that decides"):
        advise(found, "integer attribute")
    if found["row"] in ("float", "float attribute") and decides_on(found):
        advise(found, "float that decides")
    if found["row"] == "integer" and any(one["row"] == "function of a number" for one in breaks):
        advise(found, "integer in a function")


#: rows of which all advice needs no name
_NAMELESS = ("growing cache", "size 0 or 1", "size from 2", "cache state")


def keep_advice_of_compile(found: Said, caller: Tuple[str, int, str]) -> None:
    """Of what a library's wrapper is given, keeps the advice for the torch.compile of the reader's.

    Args:
        found: the reason.
        caller: the reader's line that led there: file, line, code.
    """
    given = list(zip(found["help"], found["patches"]))
    if not uses.compiles(caller[0]):
        given = []  # the library compiles
    elif found["row"] not in _NAMELESS:
        given = [one for one in given if one[1] == _DYNAMIC]
    found.update(help=[one for one, _ in given], patches=[one for _, one in given])


def describe_handed_on(found: Said, title: str) -> None:
    """Says of what compiled code only hands on where it is to be changed.

    Args:
        found: the reason.
        title: of the function that compiled code begins with, and which hands it on.
    """
    where = " The caller passes it on: change it where `%s` is called." % title
    advised = []
    for text, patch in zip(found["help"], found["patches"]):
        if patch == _DYNAMIC:
            advised.append((text, patch))
        elif "mark_dynamic" not in patch:
            own = found["own"] and " " + found["own"]
            first = text[: -len(own)] if own and text.endswith(own) else text
            advised.append((first + where + text[len(first) :], ""))
    found.update(help=[text for text, _ in advised], patches=[patch for _, patch in advised])


def describe_methods(found: Said, place: Tuple[str, int]) -> None:
    """Advises on a list that a method of an object makes grow, by what the methods do with it that
    the compiled function calls.

    Args:
        found: the reason.
        place: (file, line) of the compiled function.
    """
    row = list_row(uses.owner_uses(place, (found["file"], found["line"]), found["name"]))
    if row:
        advise(found, row)


def describe_object(found: Said) -> None:
    """Advises on a flag, a text or another value that each object of a class is made with."""
    if uses.is_of_each_object(found["file"], found["name"]):
        advise(found, "value of each object")
    elif found["row"] == "text":
        # a container of modules has a line of torch's own that looks it up
        at = [(found["file"], found["line"])]
        at = _users_places(found["raw"].splitlines()) if in_library(found["file"]) else at
        if at and uses.only_chooses(at[-1][0], at[-1][1], found["name"]):
            advise(found, "text that chooses")


#: how the value of an attribute begins that a guard asks to be one object: its address follows
OBJECT = "object "


def describe_other_object(found: Said, name: str, before: str, after: str) -> None:
    """Says that one method serves several objects of a class, and in what they differ: why an entry
    for another object does not fit is told by the first guard alone that fails.

    Args:
        found: the reason.
        name, before, after: the attribute, its value in that entry and that of this object.
    """
    which = "`%s`" % name
    if before.startswith("["):
        told = "%s had the sizes %s, has %s" % (which, before, after)
    elif before.startswith(OBJECT) and after.startswith(OBJECT):
        told = "%s is another object than before" % which
        before = after = ""
    else:
        before, after = ("an object" if one.startswith(OBJECT) else one for one in (before, after))
        told = "%s was %s, is %s" % (which, before, after)
    is_named = found["name"] == name  # else what torch hints at is another value's
    found.update(kind="value", name=name, before=before, after=after)
    found["words"] = told + ": one method serves several objects, each with its own"
    advise(found, "value of each object")
    if not is_named:
        del found["help"][1:], found["patches"][1:]


def describe_state_of_object(found: Said, of_objects: Said, before: str, after: str) -> None:
    """Says that a compile for another state is one for each of several objects, too.

    Args:
        found: the reason.
        of_objects: the reason of a compile for another object.
        before, after: the attribute that it names, of the object whose compile for that state was
            the first, and of this one.
    """
    name = of_objects["name"]
    told = "for the object whose `%s` is %s, as before for %s" % (name, after, before)
    if OBJECT in before + after:
        told = "for another `%s`, as before for the first" % name
    found["words"] += ", %s: one method serves several objects, each with its own" % told
    found.update({key: of_objects[key] for key in ("kind", "name", "row", "help", "patches")})


def describe_apart(found: Said, caller: str, compile_id: str) -> None:
    """Says why the method of several objects is compiled by itself though its caller is compiled:
    to compile that is no advice.

    Args:
        found: the reason.
        caller, compile_id: what calls it.
    """
    found["words"] += "; it has compiles of its own because of a graph break below `%s` (%s)" % (
        caller,
        compile_id,
    )
    found.update(help=[], patches=[])


def describe_wrapped(found: Said, before: str, after: str) -> None:
    """Says which functions a decorator's wrapper is around: its code is compiled for each.

    Args:
        found: the reason.
        before, after: the function of the entry that was tried, and that of this one.
    """
    both = "one wrapper serves both, with a compile for each"
    if found["row"] == "object":
        name = found["name"].partition(".")[0]
        found["words"] = "`%s` is `%s`, was `%s`: %s" % (name, after, before, both)
    else:  # what differs between the two, and torch looks at before the function
        found["words"] += ", as the wrapper is called for `%s`, and was for `%s`: %s" % (
            after,
            before,
            both,
        )
    found.update(help=[], patches=[])


def is_on_stack(found: Said) -> bool:
    """Whether a reason is about a value that stood on the stack at a graph break."""
    return bool(KEPT.search(found["failed"]))


def is_kept(found: Said) -> bool:
    """Whether a reason is about a value that a graph break handed on: one on the stack, or a local
    that is no parameter of the function.
    """
    name, parameters = found["name"], found["parameters"]
    kept = name.isidentifier() and parameters is not None and name not in parameters
    return kept or is_on_stack(found)


def describe_kept(found: Said, line: int) -> None:
    """Says what spares the recompile because of a value that a graph break handed on.

    Args:
        found: the reason.
        line: of the break.
    """
    advise(found, "kept value", at="line %d" % line)


def describe_texts(found: Said) -> None:
    """Says of a list of another length that it is one of texts, which no tensor holds."""
    advise(found, "texts in a list")


def describe_small(found: Said, name: str, index: int, before: str) -> None:
    """Says that another size was 0 or 1, too, which torch compiles apart whatever is dynamic."""
    found["words"] += "; `%s.size(%d)`, which was %s, is another, too" % (name, index, before)
    advise(found, "size 0 or 1", name=argument_of(name), variable="", index=str(index))


def keep_unless_dynamic(found: Said) -> None:
    """Of what helps, leaves out dynamic=True, where the compile had it, or gained nothing by it."""
    given = [one for one in zip(found["help"], found["patches"]) if one[1] != _DYNAMIC]
    found.update(help=[one for one, _ in given], patches=[one for _, one in given])


def describe_equal_sizes(found: Said, dimension: Tuple[str, int], other: Tuple[str, int]) -> None:
    """Says that a size was taken for the same as another that was equal, and is a constant with it.

    Args:
        found: the reason.
        dimension, other: (tensor, dimension) of the size and of the other.
    """
    found["words"] += "; torch gave it and `%s.size(%d)`, which was equal, one symbol" % other
    advise(found, "equal sizes", marks=marks_of([dimension, other], found["parameters"]))


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


#: rows of numbers and sizes for which advice makes them symbolic
SYMBOLIC = (
    "size",
    "integer",
    "integer attribute",
    "float",
    "float attribute",
    "float that decides",
)


def describe_beside(found: Said, other: Said) -> None:
    """Says that another value, too, is a constant in both compiles: what makes the one symbolic
    spares none.
    """
    form = "; `%s`, which was %s, is %s, too"
    if other["kind"] == "container":
        form = "; `%s`, which had %s elements, has %s, too"
    found["words"] += form % (other["name"], other["before"] or "no", other["after"])
    own = found["help"][0] if found["row"] == "size" and found["help"] else ""
    own = "" if KEPT.search(found["name"]) else own
    found["beside"] = other["name"]
    found["own"] = own and "And for `%s`: %s" % (found["name"], own)
    found.update({key: other[key] for key in ("row", "help", "patches")})
    if own and found["help"]:
        # neither helps without the other
        found["help"] = ["%s %s" % (found["help"][0], found["own"])] + found["help"][1:]
        found["patches"] = [""] * len(found["help"])


#: values beside that of a reason that are named
_DIFFERING = 3


def describe_differing(found: Said, others: Sequence[Tuple[str, str, str]]) -> None:
    """Says that other values differ, too, for each of which torch compiles again.

    Args:
        found: the reason.
        others: (name, before, after) of each; `after` is "" for any number.
    """
    told = _differing(others)
    found["words"] += "; beside it, " + told
    end = " That alone spares no compile: %s. %s to stay the same, too." % (
        told,
        "It has" if len(others) == 1 else "They have",
    )
    found["help"] = [one + end for one in found["help"]]


def _differing(others: Sequence[Tuple[str, str, str]]) -> str:
    named = ["`%s` was %s, is %s" % (name, a, b or "another") for name, a, b in others[:_DIFFERING]]
    more = len(others) - len(named)
    return "; ".join(named) + ("; and %d more" % more if more else "")


def describe_numbers(found: Said, others: Sequence[Tuple[str, str, str]]) -> None:
    """Says that numbers differ, too, which a setting for all numbers covers and a mark does not.

    Args:
        found: the reason.
        others: as of `describe_differing`.
    """
    if not others:
        return
    told = _differing(others)
    found["words"] += "; beside it, " + told
    end = " That alone spares no compile: %s." % told
    found["help"] = [one + end if "mark_dynamic(" in one else one for one in found["help"]]


def describe_set_later(found: Said, value: str) -> None:
    """Says that an attribute that was None was set to a text after the first call."""
    found["words"] = "`%s` was None, is %s" % (found["name"], value)
    advise(found, "none that is set")


def describe_stop(found: Said) -> None:
    """Says that the compile for any number has a graph break, which one for a number alone has not:
    made symbolic from the start, it would break at once.
    """
    found["words"] += "; the compile for any number has a graph break"
    found.update(row="", help=[], patches=[])


def describe_value_of_type(found: Said, after: str) -> None:
    """Says that what was one value is of another type now; nothing where it is of the same, or
    where one of them is not known.
    """
    before = type_of_literal(found["before"])
    if not before or not after or before == after:
        return
    found["words"] = "`%s` was %s, %s, is %s" % (
        found["name"],
        found["before"],
        with_article(before),
        with_article(after),
    )
    found["after"] = after
    advise(found, type_row(before, after, found["name"]))
