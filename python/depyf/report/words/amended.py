"""Advice for graph breaks with what the line that it is for needs beside it."""

import re
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from depyf import advice
from depyf.advice import breaks as break_rows
from depyf.advice import flows, gradients, tensor_arguments, uses
from depyf.report.words.stacks import short_place

Said = Dict[str, Any]

#: a branch on a value of NumPy's, of which torch made a tensor
OF_NUMPY = re.compile(r"attempted to jump with NumpyNdarrayVariable")


def with_condition(
    given: List[Tuple[str, str]], names: Mapping[str, str], raw: str, filename: str, line: int
) -> List[Tuple[str, str]]:
    """(text, patch) of what helps against a break, with what is to be done to the condition where
    torch.where and torch.cond do not take it as it stands.
    """
    decided = _AT_LINE.match(names.get("at", ""))
    at = int(decided.group("line")) if decided else line
    joined, numpy = break_rows.OF_CONDITIONS
    more = joined.text if uses.joins_tests(filename, at) else ""
    of_numpy = OF_NUMPY.search(raw)
    more += numpy.text if of_numpy else ""
    returned = " and ".join(uses.numbers_returned(filename, at))
    more += advice.filled(break_rows.OF_RETURNED.text, {"names": returned}) or ""
    more += _of_sides(filename, at)
    told = [(text + more if _CHOOSES.search(text) else text, patch) for text, patch in given]
    return [(text, "" if of_numpy and _CHOOSES.search(patch) else patch) for text, patch in told]


def _of_sides(filename: str, line: int) -> str:
    """What is said beside torch.where and torch.cond of what they change beside values."""
    function, chosen = gradients.chosen_at(filename, line)
    said: List[str] = []
    if function is None:
        return ""
    for node, one, other in chosen:
        asks = gradients.asks_for_nan(function, node.test)
        if asks and gradients.is_off(function, node.lineno) is False:
            said.append(break_rows.OF_NAN.text)
        if gradients.gradients_differ(function, node, one, other):
            said.append(break_rows.OF_GRADIENTS.text)
        for side in (one, other):
            name = uses.path_of(side)
            if name and gradients.kept(function, side, node.lineno):
                said.append(break_rows.OF_KEPT.text.replace("{name}", name))
    return "".join(dict.fromkeys(said))


def name_floats_of_sides(found: Said, uses_of: Sequence[flows.Use]) -> None:
    """Says, beside torch.where and torch.cond, which floats a side gives to an operator: a tensor
    is to be made of them first.

    Args:
        found: what is said of a break.
        uses_of: of the operators in the sides, and the floats that change.
    """
    called = {one.called.rpartition(".")[2]: one.called for one in uses_of}
    places = sorted({(one.file, one.line) for one in uses_of})
    unsure = [name for name in called if name not in tensor_arguments.TAKE_TENSORS]
    names = {
        "names": " and ".join(sorted({"`%s`" % name for one in uses_of for name in one.names})),
        "called": " and ".join(called.values()),
        "at": ", ".join(short_place(*one) for one in places),
    }
    hedge = ", if %s takes one" % " and ".join(unsure) if unsure else ""
    more = advice.filled(break_rows.OF_FLOATS.text.replace("{hedge}", hedge), names) or ""
    told = list(zip(found["help"], found["patches"]))
    found["help"] = [text + more if _CHOOSES.search(text) else text for text, _ in told]
    found["patches"] = ["" if _CHOOSES.search(patch) else patch for _, patch in told]


def with_uses(given: List[Tuple[str, str]], filename: str, line: int) -> List[Tuple[str, str]]:
    """(text, patch) of what helps where a number is printed, with what is to be done where other
    lines use it, too: that it is printed elsewhere alone removes nothing.
    """
    made, lines = uses.used_beside_print(filename, line)
    names = {"at": "line %d" % made, "lines": ", ".join("line %d" % one for one in lines)}
    more = advice.filled(break_rows.ALSO_USED.text, names) if lines else ""
    return [(text + more if more and not patch else text, patch) for text, patch in given]


def with_needs(given: List[Tuple[str, str]], filename: str, line: int) -> List[Tuple[str, str]]:
    """(text, patch) of what helps where a number is an index, with what is to be done where other
    lines need the number itself.
    """
    lines = ", ".join("line %d" % one for one in uses.needed_beside_index(filename, line))
    more = advice.filled(break_rows.ALSO_NEEDED.text, {"lines": lines}) if lines else ""
    return [(text + (more or ""), patch) for text, patch in given]


#: rows of a number that is printed
OF_PRINTED = ("item that is printed", "print of other values")
_AT_LINE = re.compile(r"line (?P<line>\d+)$")
_CHOOSES = re.compile(r"\btorch\.(where|cond)\b")
