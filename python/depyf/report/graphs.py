"""Graphs as the page draws them: what a live graph told, or else what its text says.

A dump has the structure of each graph that was alive when it was traced
(`depyf.torch.graph_structure`). A log of TORCH_TRACE, or the dump of an older depyf, has the text
alone: it is read here, once, so that the page only draws.
"""

import re
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from depyf.trace.graph_rows import (
    HELD,
    IN_PLACE,
    INPUT,
    OPERATION,
    OUTPUT,
    PARAMETER,
    Table,
    Writes,
)

#: a node of a graph inside the graph, such as the body of a condition: has a line, and is drawn in
#: a picture of its own
INNER = "inner"
_KINDS = frozenset((INPUT, PARAMETER, OPERATION, OUTPUT, INNER))

_PLACE = re.compile(r"^\s*# File: (.+?):(\d+)(?: in ([^,]+))?, code: (.*)$")
_CLASS = re.compile(r"^( *)class (\w+)\(")
# the value that an item is set of stands for the node: `x[0] = y;  setitem = x`
_ITEM = re.compile(r"^\s+(\w+)\[(.*)\] = (.*?);  (\w+) = \1\b")
_NODE = re.compile(r'^\s+(\w+)(?:: "([^"]*)")? = (.*)$')
_ARGUMENT = re.compile(r'(\w+): "([^"]*)"')
_WORD = re.compile(r"[A-Za-z_]\w*")
_SIGNATURE_ENDS = re.compile(r"\)(?:\s*->.*)?:\s*$")
_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
# a name that is read: no attribute, and no keyword of a call
_READ = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w)(?!\s*=(?!=))")
_CALL = re.compile(r"^([\w.]+)\(")
_SHAPE = re.compile(r"^(\w+\[[^\]]*\])")
_OUT = re.compile(r"\bout = (\w+)")
#: how deep graphs stand in graphs
_DEEPEST = 16
_MODULE = re.compile(r"^[lL]_\w+?_(?:dict_)?modules_(.+?)_(?:parameters|buffers)_")


#: file, line, function and code
_Place = Tuple[str, int, str, str]


class _Node:
    __slots__ = (
        "name",
        "kind",
        "target",
        "shape",
        "module",
        "place",
        "reads",
        "line",
        "place_line",
        "written",
    )

    def __init__(self, name: str, kind: str, line: int) -> None:
        self.name, self.kind, self.line = name, kind, line
        self.target = self.shape = self.module = ""
        self.place: Optional[_Place] = None
        self.place_line = -1
        self.reads: List[str] = []
        self.written: List[str] = []


class _Reader:
    """Reads the text of one graph."""

    def __init__(self) -> None:
        self.nodes: Dict[str, _Node] = {}
        self.order: List[_Node] = []
        self.outputs: List[Optional[str]] = []
        self.output_lines: List[int] = []
        self._place: Tuple[Optional[_Place], int] = (None, -1)
        self._signature = self._returning = self._inner = False
        self._forwards = 0

    def read(self, lines: Iterable[Tuple[int, str]]) -> None:
        for number, line in lines:
            begin = line.lstrip()
            if begin.startswith("def forward("):
                self._forwards += 1
                self._signature, self._returning = True, False
                self._inner = self._forwards > 1
            if self._signature:
                self._arguments(line, number)
            elif begin.startswith("#"):
                self._comment(line, begin, number)
            elif self._returning or begin.startswith("return ") and self.order:
                self._return(begin, number)
            else:
                self._assignment(line, number)

    def _put(self, node: _Node) -> None:
        if not self._inner:
            self.nodes[node.name] = node
        self.order.append(node)

    def _arguments(self, line: str, number: int) -> None:
        for name, shape in _ARGUMENT.findall(line):
            held = PARAMETER if HELD.search(name) else INPUT
            node = _Node(name, INNER if self._inner else held, number)
            node.target, node.shape = name, shape
            self._put(node)
        if _SIGNATURE_ENDS.search(line):
            self._signature = False

    def _comment(self, line: str, begin: str, number: int) -> None:
        found = _PLACE.match(line)
        if found:
            place = (found.group(1), int(found.group(2)), found.group(3) or "", found.group(4))
            self._place = (place, number)
        elif begin.startswith("# No stacktrace"):
            self._place = (None, -1)

    def _return(self, begin: str, number: int) -> None:
        self._returning = True
        if self._inner:
            return
        self.output_lines.append(number)
        if begin.startswith("return"):
            begin = begin[6:]
        for word in _WORD.findall(begin.partition("#")[0]):
            if word in self.nodes:
                self.outputs.append(word)
            elif word == "None":
                self.outputs.append(None)

    def _assignment(self, line: str, number: int) -> None:
        item = _ITEM.match(line)
        if item:
            owner, index, value, name = item.groups()
            line = "    %s = operator.setitem(%s, %s, %s);" % (name, owner, index, value)
        found = _NODE.match(line)
        if not found:
            return
        name, shape, body = found.group(1), found.group(2) or "", found.group(3).rstrip()
        cut = body.rfind(";  ")
        if cut >= 0 and body.rstrip(";").endswith("= None"):
            body = body[:cut]
        body = body.rstrip(";").strip()
        known = self.nodes.get(body)
        if known is not None and known.kind in (INPUT, PARAMETER) and not self._inner:
            known.name = name  # the text gives each input the name that its node has
            self.nodes[name] = known
            return
        node = _Node(name, INNER if self._inner else OPERATION, number)
        node.shape = shape
        node.place, node.place_line = self._place
        call = _CALL.match(body)
        node.target = call.group(1) if call else body
        plain = _STRING.sub("''", body)
        for word in _READ.findall(plain):
            read = self.nodes.get(word)
            if read is not None and not self._inner and read.name not in node.reads:
                node.reads.append(read.name)
        first = node.target.partition(".")[0]
        if call and first in self.nodes:
            node.target = node.target[len(first) :]  # a method of a value: `.sum`
        node.written = self._written(node, plain)
        if not call and body.startswith("self."):
            node.kind = INNER if self._inner else PARAMETER
        self._put(node)

    def _written(self, node: _Node, body: str) -> List[str]:
        """The nodes that an operation writes into, by its name and its keywords."""
        out = _OUT.search(body)
        found = [self.nodes[out.group(1)].name] if out and out.group(1) in self.nodes else []
        parts = node.target.split(".")
        in_place = any(IN_PLACE.fullmatch(part) for part in parts) or "inplace = True" in body
        if in_place or node.target == "operator.setitem":
            found += node.reads[:1]
        return found


class _Section:
    """The lines of a graph, and the graphs inside of it by name."""

    def __init__(self, indent: int) -> None:
        self.indent = indent
        self.lines: List[Tuple[int, str]] = []
        self.inner: Dict[str, "_Section"] = {}


def _sections(lines: List[str]) -> _Section:
    """The whole text; what is inside of its first graph is `inner`."""
    whole = _Section(-1)
    open_ = [whole]
    for number, line in enumerate(lines):
        found = _CLASS.match(line)
        if found:
            indent = len(found.group(1))
            while open_[-1].indent >= indent:
                open_.pop()
            section = _Section(indent)
            open_[-1].inner[found.group(2)] = section
            open_.append(section)
        open_[-1].lines.append((number, line))
    return next(iter(whole.inner.values()), whole)


def _modules_by_parameters(order: Sequence[_Node]) -> None:
    """Gives nodes the module of their parameters, or of the node before, where none was seen."""
    modules: Dict[str, str] = {}
    last = ""
    for node in order:
        if node.kind == PARAMETER:
            found = _MODULE.match(node.target)
            modules[node.name] = found.group(1).replace("_modules_", ".") if found else ""
        elif node.kind == OPERATION:
            last = next((modules[name] for name in node.reads if modules.get(name)), last)
            node.module = last


def _checked(structure: Any) -> Optional[List[_Node]]:
    """The nodes of a structure from a dump; None where it is none: the dump may not be ours."""
    if not isinstance(structure, dict) or not isinstance(structure.get("nodes"), list):
        return None
    tables: List[Any] = [structure.get(name) for name in ("targets", "shapes", "modules", "places")]
    if not all(isinstance(table, list) for table in tables):
        return None
    found: List[_Node] = []
    try:
        for name, kind, target, shape, module, place, reads in structure["nodes"]:
            if not isinstance(name, str) or kind not in _KINDS:
                return None
            node = _Node(name, kind, -1)
            targets, shapes, modules, places = tables
            node.target, node.shape = str(targets[target]), str(shapes[shape])
            node.module = str(modules[module])
            file, line, function = places[place]
            if file and isinstance(line, int) and 0 < line < 2**31:
                node.place = (str(file), line, str(function), "")
            count = len(found)
            for one in reads:
                if not (isinstance(one, int) and 0 <= one < count):
                    return None
            node.reads = [found[one].name for one in reads]
            found.append(node)
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return found if len({node.name for node in found}) == len(found) else None


def graph(text: str, structure: Any = None) -> Dict[str, Any]:
    """A graph for the page.

    Args:
        text: the graph as torch prints it.
        structure: what the live graph told, as `depyf.torch.graph_structure.structure` writes it.
    Returns:
        `nodes`: rows of name, kind, numbers in `targets`, `shapes`, `modules` and `places` (-1:
        none), the numbers of the nodes that it reads, its line in the text and that of the comment
        that names its place (-1: none); these tables; `outputs`, the names that are returned (None
        for None), and `output_lines`; `writes` as in a structure; `inner`, the graphs inside of
        this one, by name.
    """
    lines = text.split("\n")
    reader = _Reader()
    reader.read(enumerate(lines))
    return _drawn(reader, structure, _sections(lines), 0)


def _drawn(reader: _Reader, structure: Any, section: Optional[_Section], depth: int) -> Any:
    order = _merged(_checked(structure), reader) if structure else None
    told = structure if order is not None else {}
    if order is None:
        order = reader.order
        _modules_by_parameters(order)
        if reader.output_lines:
            output = _Node("output", OUTPUT, reader.output_lines[0])
            output.reads = list(dict.fromkeys(name for name in reader.outputs if name))
            order = order + [output]
    targets, shapes, modules, places = Table(), Table(), Table(), Table()
    numbers: Dict[str, int] = {}
    rows: List[List[Any]] = []
    for node in order:
        if node.kind != INNER:
            numbers[node.name] = len(rows)
        match = _SHAPE.match(node.shape)
        rows.append(
            [
                node.name,
                node.kind,
                targets.add(node.target),
                shapes.add(match.group(1) if match else node.shape),
                modules.add(node.module),
                places.add(node.place) if node.place else -1,
                [numbers[name] for name in node.reads if name in numbers],
                node.line,
                node.place_line,
            ]
        )
    known = reader.nodes
    writes = told.get("writes")
    if writes is None:  # a text, or a dump of an older depyf
        writes = _writes_by_names(order, numbers)
    return {
        "nodes": rows,
        "targets": targets.rows,
        "shapes": shapes.rows,
        "modules": modules.rows,
        "places": [list(row) for row in places.rows],
        "outputs": [name and known[name].name for name in reader.outputs],
        "output_lines": reader.output_lines,
        "writes": _checked_writes(writes, len(rows)),
        "inner": _inner(told.get("inner"), section, depth),
    }


def _inner(structures: Any, section: Optional[_Section], depth: int) -> Dict[str, Any]:
    """The graphs inside of a graph, by the names by which its operations are given them."""
    if depth == _DEEPEST:
        return {}
    structures = structures if isinstance(structures, dict) else {}
    sections = section.inner if section else {}
    found = {}
    for name in {**structures, **sections}:
        own = sections.get(name)
        reader = _Reader()
        reader.read(own.lines if own else ())
        graph = _drawn(reader, structures.get(name), own, depth + 1)
        if graph["nodes"]:
            found[name] = graph
    return found


def _writes_by_names(order: List[_Node], numbers: Dict[str, int]) -> List[List[Any]]:
    writes = Writes()
    for node in order:
        if node.kind != INNER:
            reads = [numbers[name] for name in node.reads if name in numbers]
            written = [numbers[name] for name in node.written if name in numbers]
            writes.add(numbers[node.name], node.kind, reads, written)
    return writes.rows()


def _checked_writes(rows: Any, count: int) -> List[List[Any]]:
    """Those rows of `writes` that are numbers of nodes."""

    def are_numbers(values: Any) -> bool:
        return isinstance(values, list) and all(
            isinstance(one, int) and 0 <= one < count for one in values
        )

    return [
        row
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, list)
        and len(row) == 3
        and are_numbers(row[:1])
        and are_numbers(row[1])
        and are_numbers(row[2])
        and all(one > row[0] for one in row[2])
    ]


def _merged(told: Optional[List[_Node]], reader: _Reader) -> Optional[List[_Node]]:
    """The nodes that the live graph told, with the lines of its text.

    None where it told none, or those of another graph.
    """
    if told is None:
        return None
    places: Dict[Tuple[str, int], _Place] = {}
    for node in reader.order:
        if node.place:
            places[node.place[:2]] = node.place
    missing = 0
    for node in told:
        seen = reader.nodes.get(node.name)
        if seen is None:
            missing += node.kind == OPERATION
            if node.kind == OUTPUT and reader.output_lines:
                node.line = reader.output_lines[0]
        else:
            node.line, node.place_line = seen.line, seen.place_line
            node.written = seen.written
            node.shape = seen.shape or node.shape
            node.place = seen.place or node.place
        if node.place and not node.place[3]:
            node.place = places.get(node.place[:2], node.place)
    if missing * 2 > len(told):
        return None
    return told + [node for node in reader.order if node.kind == INNER]
