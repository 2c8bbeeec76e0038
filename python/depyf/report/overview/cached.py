"""Floats of Python's that torch's AOTAutograd cache keeps as constants of a graph, without the
guard that asks for the number.
"""

import re
from typing import Dict, List, Optional, Sequence, Set, Tuple

from depyf.advice import conditions
from depyf.report import words
from depyf.schema import Document

_CACHE = "aotautograd_cache"
#: operations whose floats Inductor makes constants
_CONSTANTS = re.compile(
    r"(?:^|[.])(?:addbmm|addcdiv|addcmul|addmm|addmv|addr|baddbmm|clamp(?:_max|_min)?|clip|fill|"
    r"fmod|full|full_like|hardtanh|lerp|masked_fill|new_full|pow|remainder|where)_?$"
)
#: those that it computes with a tensor of the float, but for their third number: `alpha`
_WITH_ALPHA = re.compile(r"(?:^|[.])(?:add|sub)_?$")


def answers(entry: Document, result: str) -> List[str]:
    """The keys of the graphs of a compile for which the cache gave an answer: "hit", "miss"."""
    return [
        str(one["key"])
        for one in entry.get("cache") or ()
        if isinstance(one, dict) and one.get("cache") == _CACHE and one.get("result") == result
        if one.get("key")
    ]


def constants_of_hit(entry: Document) -> Tuple[str, ...]:
    """The floats, as the program names them, that an operator takes as constants in a graph which
    the cache had: no guard of the compile tells of them.
    """
    sources = {
        re.sub(r"\W+", "_", str(one.get("source"))): words.short(str(one.get("source") or ""))
        for one in entry.get("symbols") or ()
        if isinstance(one, dict) and re.match(r"zf\d", str(one.get("symbol")))
    }
    if not sources or not answers(entry, "hit"):
        return ()
    found = [
        source
        for artifact in entry.get("artifacts") or ()
        if artifact.get("stage") == "Captured_Graph"
        for source in _constants(artifact.get("structure") or {})
    ]
    return tuple(dict.fromkeys(sources[one] for one in found if one in sources))


def _constants(structure: Document) -> List[str]:
    """The inputs of a graph that are floats of Python's, which operators take as constants."""
    targets = structure.get("targets") or ()
    of_inputs: Dict[int, Set[str]] = {}  # a number of the graph -> the inputs it is computed from
    found: List[str] = []
    for at, row in enumerate(structure.get("nodes") or ()):
        kind, target, given = row[1], str(targets[row[2]]), row[6]
        if kind == "input":
            of_inputs[at] = {target}
            continue
        held = [of_inputs.get(one, set()) for one in given]
        if _is_number(at, structure):
            of_inputs[at] = set().union(*held)
            continue
        first = 2 if _WITH_ALPHA.search(target) else 0 if _CONSTANTS.search(target) else len(given)
        numbers = [one for one in given[first:] if one in of_inputs and _is_number(one, structure)]
        found += [name for one in numbers for name in sorted(of_inputs[one])]
    return found


def _is_number(at: int, structure: Document) -> bool:
    return bool(structure["shapes"][structure["nodes"][at][3]] == "SymFloat")


def wrong_for(entry: Document, earlier: Sequence[Document]) -> Optional[Tuple[str, str]]:
    """(the compile, its guard) of which the cache gave a graph, where the guard does not hold for
    the number of this compile: torch did not ask for it, so the results are those of that number.
    """
    hits = answers(entry, "hit")
    if not hits:
        return None
    values = [
        (words.short(str(one.get("source") or "")), str(one.get("val")))
        for one in entry.get("symbols") or ()
        if isinstance(one, dict)
    ]
    own = {words.short(str(one.get("text") or "")) for one in entry.get("guards") or ()}
    for other in earlier:
        if not set(hits).intersection(answers(other, "miss")):
            continue
        for guard in other.get("guards") or ():
            text = words.short(str(guard.get("text") or ""))
            asked = words.is_of_float(str(guard.get("comment") or "")) and text not in own
            if asked and any(conditions.holds(text, *one) is False for one in values):
                return str(other.get("compile_id")), text
    return None
