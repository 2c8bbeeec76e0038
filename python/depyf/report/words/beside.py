"""What the other compiles, and the rest of the entry, tell of a recompile's reason: another value,
another type, a constant beside it, a switch of modes.
"""

import re
from typing import Sequence, Tuple

from depyf.advice import uses
from depyf.report.words.breaks import Said
from depyf.report.words.constants import DYNAMIC
from depyf.report.words.rows import (
    KEPT,
    VALUE_KEPT,
    advise,
    argument_of,
    is_of_global,
    marks_of,
    named_or_kept,
    type_row,
    with_article,
)
from depyf.trace.guard_text import changed_state, state_of


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


def type_of_literal(text: str) -> str:
    """The type of a value as torch prints it; "" where it is not known."""
    return next((name for form, name in _LITERALS if form.match(text)), "")


def is_number(text: str) -> bool:
    """Whether a value as torch prints it is an integer or a float."""
    return type_of_literal(text) in ("int", "float")


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
        given = [one for one in given if one[1] == DYNAMIC]
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
        if patch == DYNAMIC:
            advised.append((text, patch))
        elif "mark_dynamic" not in patch:
            own = found["own"] and " " + found["own"]
            first = text[: -len(own)] if own and text.endswith(own) else text
            rest = text[len(first) :]
            if _OUTSIDE in first:  # of two choices, the second alone is the caller's
                first = first.replace(
                    _OUTSIDE, _OUTSIDE + " and change it where `%s` is called" % title
                )
            else:
                first += where
            advised.append((first + rest, ""))
    found.update(help=[text for text, _ in advised], patches=[patch for _, patch in advised])


def drop_marks(found: Said) -> None:
    """Drops advice to mark a tensor before the call where the program's own code has none."""
    given = [one for one in zip(found["help"], found["patches"]) if "mark_" not in one[1]]
    found.update(help=[text for text, _ in given], patches=[patch for _, patch in given])


#: what is said of a setting for numbers of modules
_OF_A_GLOBAL = (
    " That is so only while a graph break has torch compile `%s` by itself: without the break it "
    "is part of the code that reaches its object by the global `%s`, and torch takes no number of "
    "a global as symbolic."
)


def describe_reached(found: Said, function: str, name: str) -> None:
    """Says of a setting for numbers of modules that it is for the function by itself alone: there
    is no patch with it, as one that removes the break would have it help no more.

    Args:
        found: the reason.
        function: that is compiled by itself.
        name: of the global by which the code that calls it reaches its object.
    """
    pairs = list(zip(found["help"], found["patches"]))
    others = [one for one in pairs if OF_MODULES not in one[1]]
    settings = [
        text + _OF_A_GLOBAL % (function, name) for text, patch in pairs if OF_MODULES in patch
    ]
    found.update(
        help=[text for text, _ in others] + settings,
        patches=[patch for _, patch in others] + [""] * len(settings),
    )


#: the setting that makes numbers of modules symbolic
OF_MODULES = "allow_unspec_int_on_nn_module"
#: the second choice of advice about a number
_OUTSIDE = ", or keep it out of the compiled function"


def is_on_stack(found: Said) -> bool:
    """Whether a reason is about a value that stood on the stack at a graph break."""
    return bool(KEPT.search(found["failed"]))


def is_of_kept_object(found: Said) -> bool:
    """Whether a reason is about what an object holds that stood on the stack at a graph break."""
    return bool(_OF_KEPT_OBJECT.search(found["failed"]))


#: an attribute of such a value that is none of a tensor's
_OF_KEPT_OBJECT = re.compile(
    r"(?:%s)(?:\[[^\[\]]*\])*\.(?!(?:size|stride|dim|shape|dtype|device|requires_grad)\b)\w"
    % KEPT.pattern
)


def is_kept(found: Said) -> bool:
    """Whether a reason is about a value that a graph break handed on: one on the stack, or a local
    that is no parameter of the function.
    """
    name, parameters = found["name"], found["parameters"]
    kept = name.isidentifier() and parameters is not None and name not in parameters
    return kept and not is_of_global(found) or is_on_stack(found)


def describe_kept(found: Said, line: int) -> None:
    """Says what spares the recompile because of a value that a graph break handed on.

    Args:
        found: the reason.
        line: of the break.
    """
    advise(found, "kept value", at="line %d" % line)


def describe_made_before(found: Said, at: str) -> None:
    """Says of a value that the same call makes before a graph break why torch guards it.

    Args:
        found: the reason.
        at: where the break is.
    """
    advise(found, MADE_BEFORE, at=at)


def describe_filled(found: Said) -> None:
    """Says of a dict that the function fills that no earlier compile fits while it differs."""
    found["words"] += "; it differs in every earlier compile, so no other change spares this one"
    advise(found, "growing dict")


#: the row of such a value
MADE_BEFORE = "made before a break"


def describe_texts(found: Said) -> None:
    """Says of a list of another length that it is one of texts, which no tensor holds."""
    advise(found, "texts in a list")


def describe_small(found: Said, name: str, index: int, before: str) -> None:
    """Says that another size was 0 or 1, too, which torch compiles apart whatever is dynamic."""
    found["words"] += "; `%s.size(%d)`, which was %s, is another, too" % (name, index, before)
    advise(found, "size 0 or 1", name=argument_of(name), variable="", index=str(index))


def describe_sides(found: Said) -> None:
    """Says of a size that the code decides on it, so that one compile for all is not possible."""
    advise(found, "shape condition")


def describe_equal_sizes(found: Said, dimension: Tuple[str, int], other: Tuple[str, int]) -> None:
    """Says that a size was taken for the same as another that was equal, and is a constant with it.

    Args:
        found: the reason.
        dimension, other: (tensor, dimension) of the size and of the other.
    """
    found["words"] += "; torch gave it and `%s.size(%d)`, which was equal, one symbol" % other
    advise(found, "equal sizes", marks=marks_of([dimension, other], found["parameters"]))


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
    form = "; %s, which was %s, is %s, too"
    if other["kind"] == "container":
        elements = "element" if other["before"] == "1" else "elements"
        form = "; %%s, which had %%s %s, has %%s, too" % elements
    found["words"] += form % (named_or_kept(other["name"]), other["before"] or "no", other["after"])
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
_OF_KEPT = VALUE_KEPT + " is another"
_OF_MORE_KEPT = "%d values kept across the graph break are others"


def describe_differing(found: Said, others: Sequence[Tuple[str, str, str]]) -> None:
    """Says that other values differ, too, for each of which torch compiles again.

    Args:
        found: the reason.
        others: (name, before, after) of each; `after` is "" for any number.
    """
    told = _differing(others)
    found["words"] += "; beside it, " + told
    found["differing"] = [name for name, _, _ in others]
    if found["row"] == MADE_BEFORE:
        return  # what helps says of no compile that it is spared
    end = " This spares a compile only where what differs beside it stays the same, too: %s." % told
    found["help"] = [one + end for one in found["help"]]


def _differing(others: Sequence[Tuple[str, str, str]]) -> str:
    known = [one for one in others if not KEPT.search(one[0])]
    named = ["`%s` was %s, is %s" % (name, a, b or "another") for name, a, b in known[:_DIFFERING]]
    kept, more = len(others) - len(known), len(known) - len(named)
    if kept:
        named.append(_OF_KEPT if kept == 1 else _OF_MORE_KEPT % kept)
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
    kept = KEPT.search(found["name"])  # torch's name for it stands in no source of the user's
    found["words"] = "%s was %s, %s, is %s" % (
        found["words"].partition(" was ")[0] if kept else "`%s`" % found["name"],
        found["before"],
        with_article(before),
        with_article(after),
    )
    found["after"] = after
    advise(found, type_row(before, after, found["name"]))
