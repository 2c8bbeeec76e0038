"""The collectives in the captured graphs of a run: what ranks of one job must meet in."""

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from depyf.schema import Document

_COLLECTIVE = re.compile(
    r"(?:_c10d_functional|c10d_functional|c10d)\.(\w+)"
    r"|\b(all_reduce|all_gather\w*|reduce_scatter\w*|all_to_all\w*|broadcast|barrier)\b(?=\()"
)
#: what of that namespace waits for a collective, or says that nobody waits, and sends nothing
_LOCAL = frozenset(("wait_tensor", "_wrap_tensor_autograd"))
_LINE = re.compile(r'^\s*\w+(?:: "(?P<shape>\w+\[[^\]]*\])[^"]*")? = (?P<body>.*)$')
#: a comment that names a source line, as torch writes it and as `depyf.difference` shortens it
_COMMENT = re.compile(r"\s*(?:#|File \S+ in \S+, code: )")
_CONSTANT = re.compile(r"'[^']*'|(?<![\w.])-?\d+(?:\.\d+)?\b(?!\w)")


class Collective(NamedTuple):
    """One collective of a captured graph."""

    name: str
    #: the name with what all ranks must agree on: shape of the result, operation, group
    words: str
    compile_id: str
    #: its line in the graph's text, from 1
    line: int


def of_graph(text: str, compile_id: str = "") -> List[Collective]:
    """The collectives of a graph as torch prints it, in their order."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if _COMMENT.match(line):
            continue
        assigned = _LINE.match(line)
        body = (assigned.group("body") if assigned else line).partition(";  ")[0]
        match = _COLLECTIVE.search(body)
        name = match and (match.group(1) or match.group(2))
        if not match or not name or name in _LOCAL:
            continue
        shape = assigned.group("shape") if assigned else None
        given = _CONSTANT.findall(body[match.end() :])
        words = "%s(%s)" % (name, ", ".join(([shape] if shape else []) + given))
        found.append(Collective(name, words, compile_id, number))
    return found


def of_run(
    run: Document, text_of: Optional[Callable[[Any], Optional[str]]] = None
) -> List[Collective]:
    """Those of all captured graphs, in the order in which they were compiled.

    Args:
        run: a document of docs/run_schema.md.
        text_of: the text of the captured graph of an entry; without it, artifacts hold theirs.
    """
    rows: List[Tuple[List[int], List[Collective]]] = []
    for function in run.get("functions", ()):
        for entry in function.get("entries", ()):
            compile_id = str(entry.get("compile_id"))
            text = _captured(entry) if text_of is None else text_of(entry)
            order = [int(part) for part in re.findall(r"\d+", compile_id)]
            rows.append((order, of_graph(text or "", compile_id)))
    rows.sort(key=lambda row: row[0])
    return [one for _, found in rows for one in found]


def _captured(entry: Document) -> str:
    for artifact in entry.get("artifacts") or ():
        if artifact.get("stage") == "Captured_Graph":
            return artifact.get("text") or ""
    return ""


def counted(found: List[Collective]) -> str:
    """How many of each, in words: `2 all_reduce, 1 broadcast`."""
    counts: Dict[str, int] = {}
    for one in found:
        counts[one.name] = counts.get(one.name, 0) + 1
    return ", ".join("%d %s" % (count, name) for name, count in counts.items())


class Meeting(NamedTuple):
    """The n-th collective of each rank; None for a rank that has no more."""

    number: int
    sides: List[Optional[Collective]]
    meets: bool


def meetings(runs: List[Document]) -> List[Meeting]:
    """What the ranks meet in, one row for the n-th collective of all."""
    sides = [of_run(run) for run in runs]
    rows = []
    for at in range(max(map(len, sides), default=0)):
        row = [side[at] if at < len(side) else None for side in sides]
        said = {one.words if one else "" for one in row}
        rows.append(Meeting(at + 1, row, len(said) == 1))
    return rows
