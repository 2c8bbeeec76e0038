"""Which lines of the program an operator or kernel computes, from the texts of graphs and kernels.

torch writes the line above each node of a graph, and the nodes above each kernel.
"""

import re
from typing import Dict, Iterable, List, Tuple

from depyf.terminal import short_path

_FILE = re.compile(r"^\s*# File: (?P<file>.+):(?P<line>\d+) in [^,]+, code: ")
_ATEN = re.compile(r"torch\.ops\.(?P<space>\w+)\.(?P<name>\w+)")
_NODE = re.compile(r"^\s*(?P<node>\w+)(?:: \"[^\"]*\")? = ")
_CALL = re.compile(r"(?:\btorch(?:\._C)?(?:\.\w+)*|\b\w+)\.(?P<name>\w+)\(")
_SIGN = re.compile(r"(?<=\s)(\+|-|\*|/|@|\*\*|>|<|>=|<=|==)(?=\s)")
_SIGNS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "@": "matmul",
    "**": "pow",
    ">": "gt",
    "<": "lt",
    ">=": "ge",
    "<=": "le",
    "==": "eq",
}
_KERNEL = re.compile(r"^(?P<name>\w+) = async_compile\.")
_SOURCES = re.compile(r"Source Nodes: \[(?P<nodes>[^\]]*)\]")


def lines_of(texts: Iterable[Tuple[str, str]]) -> Dict[str, List[str]]:
    """Places (`file:line`) by name: of operators as a profiler names them (`aten::add`), and of
    kernels.

    Args:
        texts: (stage, text) of the graphs and kernels of one compile.
    """
    found: Dict[str, List[str]] = {}
    nodes: Dict[str, str] = {}
    kernels = []
    for stage, text in texts:
        if stage == "kernel":
            kernels.append(text)
        else:
            _read_graph(text, found, nodes)
    for text in kernels:
        _read_kernels(text, found, nodes)
    return found


def _add(found: Dict[str, List[str]], name: str, place: str) -> None:
    places = found.setdefault(name, [])
    if place not in places:
        places.append(place)


def _read_graph(text: str, found: Dict[str, List[str]], nodes: Dict[str, str]) -> None:
    place = ""
    for line in text.splitlines():
        match = _FILE.match(line)
        if match is not None:
            place = "%s:%s" % (short_path(match.group("file")), match.group("line"))
            continue
        node = _NODE.match(line)
        if node is None or not place:
            continue
        nodes.setdefault(node.group("node"), place)
        value = line[node.end() :].partition(";")[0]
        operator = _ATEN.search(value)
        if operator is not None:
            _add(found, "%s::%s" % operator.group("space", "name"), place)
            continue
        call, sign = _CALL.search(value), _SIGN.search(value)
        if call is not None:
            _add(found, "aten::" + call.group("name"), place)
        elif sign is not None:
            _add(found, "aten::" + _SIGNS[sign.group(1)], place)


def _read_kernels(text: str, found: Dict[str, List[str]], nodes: Dict[str, str]) -> None:
    above: List[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            above.append(line)
            continue
        kernel = _KERNEL.match(line)
        sources = _SOURCES.search("\n".join(above))
        if kernel is not None and sources is not None:
            for name in sources.group("nodes").split(","):
                if name.strip() in nodes:
                    _add(found, kernel.group("name"), nodes[name.strip()])
        if line.strip():
            above = []
