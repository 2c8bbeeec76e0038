"""What is to be changed before a setting of torch's, as the run has code that it does no good."""

import re
from typing import Sequence, Set, Tuple

from depyf.advice import breaks as break_rows
from depyf.advice import recompiles as guard_rows
from depyf.advice import uses
from depyf.report.words.breaks import SETS, SIZED, Said, use_of
from depyf.report.words.stacks import short_place

#: rows of a number that Python needs at once, by what is said of the setting there
_NEEDED = {
    break_rows.DECIDED_FIRST: (
        "item that decides",
        "item that picks the largest",
        "item that orders",
        "item that is printed",
        "tensor as an index",
        "item in a text",
        "item in a function of math",
        "index into numpy's array",
    ),
    break_rows.VALUED_FIRST: (
        "item as an index",
        "item that picks an element",
        "item beside a number",
    ),
    break_rows.COUNTED_FIRST: (
        "item that updates a number",
        "item beside a counter",
    ),
    break_rows.LENGTHENED_FIRST: (
        "item in a list",
        "item in a list by a hook",
        "list of any length",
    ),
}

#: rows with that setting as advice
_KEPT_IN_GRAPH = ("item", "list of integers")
#: the row of a number of which torch made a tensor, and with that setting does not get it back
_DRAWN_ROW = "number drawn by Python"


def name_needed(found: Sequence[Said]) -> None:
    """Says, beside a setting that keeps numbers in the graph, which lines of the same run need one
    at once, and at which torch raises an error with it.

    Args:
        found: what is said of the breaks of one run.
    """
    drawn = [
        (one["file"], uses.drawn_at(one["file"], one["line"]) or one["line"])
        for one in found
        if one["row"] == _DRAWN_ROW
    ]
    items = {(one["file"], one["line"]) for one in found if one["row"] in _KEPT_IN_GRAPH}
    drawn += [(file, at) for file, line in items for at in uses.draws_in(file, line)]
    places = {break_rows.DRAWN_FIRST: drawn}
    for form, rows in _NEEDED.items():
        needed = [(one["file"], one["line"]) for one in found if one["row"] in rows]
        places[form] = [(file, use_of(file, line)[0] or line) for file, line in needed]
    begins = [
        form.format(at=", ".join(short_place(*one) for one in sorted(set(at))))
        for form, at in places.items()
        if at
    ]
    begin = "".join(begins[:1] + [one.replace("First ", "", 1) for one in begins[1:]])
    for one in found if begin else ():
        if one["row"] in _KEPT_IN_GRAPH:
            one["help"] = [
                begin + text if patch.startswith(SETS) and not text.startswith(begin) else text
                for text, patch in zip(one["help"], one["patches"])
            ]


def name_listed(found: Sequence[Said]) -> None:
    """Says, beside a setting that keeps sizes in the graph which depend on values, at which lines
    of the same run torch may raise an error with it.

    Args:
        found: what is said of the breaks of one run.
    """
    listed = [
        (one["file"], uses.listed_at(one["file"], one["line"]) or one["line"])
        for one in found
        if one["row"] == _LISTED_ROW
    ]
    sized = {(one["file"], one["line"]) for one in found if SIZED.search(one["what"])}
    listed += [(file, at) for file, line in sized for at in uses.lists_in(file, line)]
    at = ", ".join(short_place(*one) for one in sorted(set(listed)))
    begin = break_rows.LISTED_FIRST.format(at=at)
    for one in found if listed else ():
        one["help"] = [
            begin + re.sub("^If ", "if ", text)
            if _OF_SIZES in text and not text.startswith(begin)
            else text
            for text in one["help"]
        ]


#: the row of a result of which Python makes a list, and torch's setting for its shape
_LISTED_ROW = "dynamic shape in a list"

_OF_SIZES = "torch._dynamo.config.capture_dynamic_output_shape_ops = True"


def name_formatted(found: Said, places: Sequence[Tuple[str, int]], numbers: Set[str]) -> None:
    """Says, beside what makes numbers symbolic, or has torch compile on a function that it gave up,
    which lines make a string of a number: at a graph break, torch may lose such a string.

    Args:
        found: what is said of a recompile.
        places: a line of each function that is compiled for it.
        numbers: the names of numbers that are, or may become, symbolic.
    """
    met = {(file, uses.formatted_at(file, line, numbers)) for file, line in places}
    at = ", ".join(short_place(*one) for one in sorted(met) if one[1])
    begin = guard_rows.FORMATTED_FIRST.format(at=at)
    found["help"] = [
        begin + text if at and not text.startswith(begin) else text for text in found["help"]
    ]
