"""Breaks of which the compile that they are of tells more: of lists of tensors' numbers, and of
numbers that the compiled function computes itself.
"""

import re
from typing import Dict, Iterable, Mapping, Optional, Sequence, Set, Tuple

from depyf.advice import breaks as break_rows
from depyf.advice import Row, uses
from depyf.advice.given import handed_on
from depyf.report.words.breaks import Said, advice_of
from depyf.schema import Document

#: a size that is no constant of a graph
_SYMBOL = re.compile(r"[a-z]", re.IGNORECASE)


#: a guard of a tensor that a function is given, with its size
_CHECKED = re.compile(r"check_tensor\(L\['(?P<name>\w+)'\], .*\bsize=\[(?P<size>[^\]]*)\]")


def _sizes_of(entry: Document) -> Dict[str, str]:
    """The sizes of the tensors of a compile, those that it guards and those in its graph."""
    guards = [_CHECKED.match(str(one.get("text"))) for one in entry.get("guards") or ()]
    found = {one.group("name"): "[%s]" % one.group("size") for one in guards if one}
    found.update((name, str(size)) for name, size in (entry.get("sizes") or {}).items())
    return found


def describe_list(said: Said, entries: Iterable[Document]) -> None:
    """Says of a list of a tensor's numbers that torch compiles for each length of it, where the
    compiles of its function do not have the tensor in one size alone.

    Args:
        entries: the compiles of the function.
    """
    if said["row"] != "list of integers":
        return
    named = [re.sub(r"\W+", "_", one) for one in uses.lists_of(said["file"], said["line"])]
    forms = [re.compile(r"(l_)?%s(_\d+)?_?$" % re.escape(one)) for one in named]
    found: Dict[str, Set[str]] = {}
    for name, size in (one for entry in entries for one in _sizes_of(entry).items()):
        found.setdefault(name, set()).add(size)
    listed = [[name for name in found if form.match(name)] for form in forms]
    # where a graph does not name the tensor, any other may be what it is computed from
    names = [name for each in listed for name in each] if all(listed) and all(named) else found
    if any(len(found[name]) > 1 or _SYMBOL.search("".join(found[name])) for name in names):
        row = break_rows.BY_KEY["list of any length"]
        said.update(row=row.key, why=row.words, hints=[])
        _advise(said, row, {})


def describe_computed(said: Said, way: Sequence[Tuple[str, int]]) -> None:
    """Says of a number that the compiled function computes, and gives a function of math, that
    nobody can call that function before.

    Args:
        way: (file, line) of the frames from the compiled function to the break, outermost first.
    """
    if said["row"] != "function of a number":
        return
    inner = [(said["file"], said["line"])] + list(way)[-2::-1]
    names: Optional[Set[str]] = uses.computed_of(*inner[0])
    for at, called_at in zip(inner, inner[1:]):
        function = uses.function_around(*at)
        if names is None or function is None:
            return
        begin = at[0], int(function.lineno)
        names = {handed_on(called_at, begin, one) for one in names}
        names = None if "" in names else names
    if names is None:
        row = break_rows.BY_KEY["function of a computed number"]
        called = uses.math_called_at(*inner[0])[0]
        said.update(row=row.key)
        _advise(said, row, {"called": called})


def _advise(said: Said, row: Row, names: Mapping[str, str]) -> None:
    given = advice_of(row, names)
    said.update(help=[text for text, _ in given], patches=[patch for _, patch in given])
