"""The file of a graph: its name, its text as Python, and its table."""

import re
from typing import Any, List, Tuple

from depyf import legend
from depyf.compiling import is_python
from depyf.model import Artifact, Entry
from depyf.trace.graph_rows import OPERATION

_ANONYMOUS_CLASS = re.compile(r"^(\s*)class <(\w+)>\(", re.MULTILINE)
#: the names of stages with TORCH_COMPILE_DEBUG=1; files have these names too, for its users
DEBUG_NAMES = {
    "BEFORE_POST_GRAD": "fx_graph_readable",
    "AFTER_POST_GRAD": "fx_graph_transformed",
    "kernel": "output_code",
}


def as_comment(text: str) -> str:
    """The text as comment lines; no line break that Python knows can end a comment early."""
    return "".join(
        "# %s\n" % line.replace("\0", "\\0").replace("\f", " ")
        for line in re.split(r"\r\n|\r|\n", text)
    )


def graph_as_python(text: str, heading: str) -> str:
    """A graph as torch prints it, as a module that compiles.

    Torch's `class <lambda>` gets a name.
    """
    body = _ANONYMOUS_CLASS.sub(r"\1class \2_graph(", text)
    module = "%simport torch\n\n%s" % (
        as_comment(heading),
        body if body.endswith("\n") else body + "\n",
    )
    if is_python(module):
        return module
    return "%s# The text of this stage is not Python; here it is as torch prints it.\n\n%s" % (
        as_comment(heading),
        as_comment(text),
    )


_TABLE_ROW = re.compile(
    r'^\s*(?P<name>\w+): "(?P<dtype>[A-Za-z0-9_]+)\[(?P<shape>[^\]]*)\](?:\[(?P<stride>[^\]]*)'
    r'\])?(?P<device>[^"]*)"'
    r"(?: = (?P<target>[^#]*?)(?:;  .*)?|,.*|\)?)$"
)
_TABLE_ARGUMENT = re.compile(
    r'(?P<name>\w+): "(?P<dtype>[A-Za-z0-9_]+)\[(?P<shape>[^\]]*)\](?:\[(?P<stride>[^\]]*)'
    r'\])?(?P<device>[^"]*)"'
)


def graph_table(text: str) -> str:
    """A graph as a table: name, dtype, shape, stride, device, and what computes it. Empty when no
    value has a shape.
    """
    rows: List[Tuple[str, ...]] = [("name", "dtype", "shape", "stride", "device", "computed by")]
    for line in text.splitlines():
        if line.lstrip().startswith("def "):
            for match in _TABLE_ARGUMENT.finditer(line):
                rows.append(_row(match, "argument"))
            continue
        match = _TABLE_ROW.match(line)  # type: ignore[assignment]
        if match is not None:
            rows.append(_row(match, (match.group("target") or "argument").strip()))
    if len(rows) == 1:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "".join(
        "  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[5]]).rstrip()
        + "\n"
        for row in rows
    )


def _row(match: Any, target: str) -> Tuple[str, ...]:
    stride = match.group("stride")
    return (
        match.group("name"),
        match.group("dtype"),
        "[%s]" % match.group("shape"),
        "[%s]" % stride if stride is not None else "",
        match.group("device") or "",
        target,
    )


#: values that a heading names
_CHANGED = 6


def changed_inputs(artifact: Artifact) -> str:
    """What the heading of a graph adds where it writes into what it is given: that is no output."""
    nodes = artifact.structure.get("nodes") or ()
    written = {one for _, into, _ in artifact.structure.get("writes") or () for one in into}
    names = [
        row[0] for number, row in enumerate(nodes) if number in written and row[1] != OPERATION
    ]
    if not names:
        return ""
    more = len(names) - _CHANGED
    named = ", ".join(names[:_CHANGED])
    said = "It writes to what it is given, besides what it returns: %s." % named
    if more > 0:
        said = "It writes to %d of its inputs, besides what it returns, such as %s." % (
            len(names),
            named,
        )
    return "\n" + "\n".join(legend.rows(said, 98))


def stage_file(prefix: str, artifact: Artifact) -> str:
    """The name of an artifact's file without its ending."""
    if artifact.kind == "kernel":
        return "%s.kernel_%d" % (prefix, artifact.index)
    return "%s.%s.%d" % (prefix, artifact.stage, artifact.index)


def entry_prefix(entry: Entry) -> str:
    """What the names of an entry's files begin with: its graph's name, or its compile id where
    there is no graph.
    """
    return entry.graph_name or "__compile_%s" % re.sub(r"\W+", "_", entry.compile_id)
