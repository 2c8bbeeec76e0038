"""Recompiles of methods and of wrapped functions, which several objects share."""

import re
from typing import Tuple

from depyf.advice import uses
from depyf.report.words.breaks import Said
from depyf.report.words.constants import users_places
from depyf.report.words.rows import advise, list_row
from depyf.report.words.stacks import in_library


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
        at = users_places(found["raw"].splitlines()) if in_library(found["file"]) else at
        if at and uses.only_chooses(at[-1][0], at[-1][1], found["name"]):
            advise(found, "text that chooses")
        owner = found["name"].partition("[")[0]
        if at and owner != found["name"] and uses.elements_choose(at[-1][0], at[-1][1], owner):
            advise(found, "text that chooses")


def describe_free(found: Said) -> None:
    """Says of what has another type that nobody passes it, where it is a free variable: each
    function that the one around makes has its own, and all have one code.
    """
    if uses.is_free(found["file"], found["line"], found["name"]):
        found["words"] += "; it is a variable of the function around"
        found.update(help=[], patches=[])


#: a frame of the functions of functools.singledispatch, in a traceback
_DISPATCHES = re.compile(r"\bfunctools\.py\", line \d+, in (\w+\.)*(wrapper|dispatch|_method)\b")


def describe_dispatch(found: Said) -> None:
    """Has no advice on the type of what `functools.singledispatch` is given: the type selects what
    is computed, so that another one, or a tensor, computes something else.
    """
    at = found["file"], found["line"], found["name"]
    if uses.is_dispatched(*at) or _DISPATCHES.search(found["raw"]):
        found.update(help=[], patches=[])


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


def describe_in_turn(found: Said) -> None:
    """Says of the objects of a method that they are used one after the other, which is normal."""
    advise(found, "value of objects in turn")


def describe_apart(found: Said, caller: str, compile_id: str, given_up: bool) -> None:
    """Says why the method of several objects is compiled by itself though torch has met its caller:
    to compile that is no advice.

    Args:
        found: the reason.
        caller, compile_id: what calls it.
        given_up: whether torch gave that up.
    """
    why = "of a graph break below `%s` (%s)"
    why = "torch gave up `%s` (%s), which calls it" if given_up else why
    found["words"] += "; it has compiles of its own because " + why % (caller, compile_id)
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
