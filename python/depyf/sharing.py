"""The form of a dump's file in which what repeats stands once; docs/run_schema.md describes it.

In memory a document spells out all guards and graphs. In `depyf.json` an entry with many of them
holds tables: a model of a thousand layers asks the same of each layer. What programs read rather
than people is deflated where it is much. Runs on Python 3.7, without torch. What is read may be
anybody's: what does not fit is left out, and its size is bounded.
"""

import base64
import json
import zlib
from typing import Any, Dict, Iterator, List, Optional, Tuple

from depyf.files import parse_json
from depyf.schema import Document

#: from so many guards of an entry, or nodes of its graphs, on, a table holds them
FEW = 100
#: characters that the tables of one file, and what it has deflated, may stand for
_MOST = 1 << 28
#: how deep graphs may stand in graphs
_DEEPEST = 16
#: characters of what `_BULK` names, of all entries, from which on it is deflated
MUCH = 1 << 18
#: keys of an entry that are deflated, each with what it is, and those of its artifacts
_BULK: Dict[str, Any] = {
    "original_bytecode": str,
    "transformed_bytecode": str,
    "guards": list,
    "graph_tables": dict,
    "sizes": dict,
    "metrics": dict,
    "backward_metrics": dict,
    "events": list,
}
_BULK_OF_ARTIFACT: Dict[str, Any] = {"structure": dict, "origins": dict}
#: stands for the source in the text of a guard
_SOURCE = "\x01"
_KINDS = ("input", "parameter", "op", "output")
_TABLES = ("targets", "shapes", "modules", "places")


class _Table:
    """Values, each of them once, by number; lists are values too."""

    def __init__(self) -> None:
        self.rows: List[Any] = []
        self._numbers: Dict[Any, int] = {}

    def add(self, value: Any) -> int:
        key = tuple(value) if isinstance(value, list) else value
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.rows)
            self.rows.append(value)
        return number


class _Sources:
    """Sources as a tree: each is an earlier one and what follows."""

    def __init__(self) -> None:
        self.rows: List[List[Any]] = []
        self._numbers: Dict[str, int] = {"": -1}

    def add(self, source: str) -> int:
        missing = []
        head = source
        while head not in self._numbers:
            cut = max(head.rfind("."), head.rfind("["))
            missing.append(head)
            head = head[: max(cut, 0)]
        for one in reversed(missing):
            self.rows.append([self._numbers[head], one[len(head) :]])
            self._numbers[one] = len(self.rows) - 1
            head = one
        return self._numbers[source]


def _guards_packed(guards: List[Document]) -> Any:
    fields = ("text", "kind", "source", "comment")
    sources, texts, kinds, comments, stacks = _Sources(), _Table(), _Table(), _Table(), _Table()
    rows = []
    for guard in guards:
        source, text, expression = guard["source"], guard["text"], guard["expression"]
        said = [text] if expression is None else [text, expression]
        if not all(isinstance(guard[name], str) for name in fields) or _SOURCE in "".join(said):
            return guards
        if source:
            said = [one.replace(source, _SOURCE) for one in said]
        row = [sources.add(source), texts.add(said[0])]
        row.append(-1 if expression is None else texts.add(said[1]))
        row += [kinds.add(guard["kind"]), comments.add(guard["comment"])]
        rows.append(row + [stacks.add(guard["user_stack"])])
    return {
        "rows": rows,
        "sources": sources.rows,
        "texts": texts.rows,
        "kinds": kinds.rows,
        "comments": comments.rows,
        "stacks": stacks.rows,
    }


def packed_entry(entry: Document) -> Document:
    """An entry as its file holds it; `entry` stays as it is."""
    found = dict(entry)
    if len(entry["guards"]) >= FEW:
        found["guards"] = _guards_packed(entry["guards"])
    nodes = sum(_count(one["structure"] or {}) for one in entry["artifacts"])
    if nodes < FEW:
        return found
    names = _Table()
    tables = {name: _Table() for name in _TABLES}
    found["artifacts"] = [_artifact_packed(one, names, tables) for one in entry["artifacts"]]
    found["graph_tables"] = {name: table.rows for name, table in tables.items()}
    found["graph_tables"]["names"] = names.rows
    return found


def _count(structure: Document) -> int:
    """How many nodes a graph and the graphs in it have."""
    inner = structure.get("inner", {}).values()
    return len(structure.get("nodes", ())) + sum(_count(one) for one in inner)


def _artifact_packed(artifact: Document, names: _Table, tables: Dict[str, _Table]) -> Document:
    found = dict(artifact)
    if artifact["structure"]:
        found["structure"] = _structure_packed(artifact["structure"], names, tables)
    found["origins"] = [names.add(name) for pair in artifact["origins"].items() for name in pair]
    return found


def _structure_packed(structure: Document, names: _Table, tables: Dict[str, _Table]) -> Document:
    rows = []
    for at, (name, kind, *numbers, reads) in enumerate(structure["nodes"]):
        row = [names.add(name), _KINDS.index(kind)]
        row += [
            tables[table].add(structure[table][number]) for table, number in zip(_TABLES, numbers)
        ]
        rows.append(row + [at - read for read in reads])
    found: Document = {"rows": rows}
    if "writes" in structure:
        found["writes"] = structure["writes"]
    if "inner" in structure:
        found["inner"] = {
            name: _structure_packed(one, names, tables) for name, one in structure["inner"].items()
        }
    return found


def file_text(document: Document) -> str:
    """The text of the file that holds a document, which stays as it is."""
    found = dict(document)
    found["functions"] = [
        dict(function, entries=[packed_entry(entry) for entry in function["entries"]])
        for function in document["functions"]
    ]
    found["unattributed"] = [packed_entry(entry) for entry in document["unattributed"]]
    text = dumps([_bulk(entry) for entry in _entries(found)])
    if MUCH <= len(text) <= _MOST:
        for entry in _entries(found):
            _remove_bulk(entry)
        found["deflated"] = base64.b64encode(zlib.compress(text.encode("ascii"))).decode("ascii")
    return dumps(found)


def _bulk(entry: Document) -> List[Document]:
    row = [{key: entry[key] for key in _BULK if key in entry}]
    for artifact in entry.get("artifacts", ()):
        row.append({key: artifact[key] for key in _BULK_OF_ARTIFACT if key in artifact})
    return row


def _remove_bulk(entry: Document) -> None:
    artifacts = [dict(artifact) for artifact in entry.get("artifacts", ())]
    if artifacts:
        entry["artifacts"] = artifacts  # those that the document has stay as they are
    for place, keys in [(entry, _BULK)] + [(one, _BULK_OF_ARTIFACT) for one in artifacts]:
        for key in keys:
            place.pop(key, None)


def dumps(value: Any) -> str:
    """The text of a line of JSON; values that JSON does not know are written as their repr."""
    return json.dumps(value, default=repr, separators=(",", ":"))


class _Budget:
    """How many characters may still be made."""

    def __init__(self) -> None:
        self.left = _MOST

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise ValueError("the tables expand to too much data")


def unpack(document: Any) -> None:
    """Spells out all that a document from a file has deflated or in tables, in place."""
    budget = _Budget()
    if isinstance(document, dict) and "deflated" in document:
        rows = _attempt(_inflated, document.pop("deflated"), budget)
        for number, entry in enumerate(_entries(document)):
            _add_bulk(entry, rows[number] if rows and number < len(rows) else [])
    for entry in _entries(document):
        tables = entry.pop("graph_tables", None)
        if isinstance(entry.get("guards"), dict):
            entry["guards"] = _attempt(_guards, entry["guards"], budget) or []
        if not isinstance(tables, dict) or not isinstance(entry.get("artifacts"), list):
            continue
        for artifact in entry["artifacts"]:
            if isinstance(artifact, dict):
                for key, read in (("structure", _structure), ("origins", _origins)):
                    artifact[key] = _attempt(read, (artifact.get(key), tables), budget) or {}


def _inflated(text: Any, budget: _Budget) -> Any:
    inflater = zlib.decompressobj()
    found = inflater.decompress(base64.b64decode(text), budget.left)
    if not inflater.eof:
        raise ValueError("it is truncated, or expands to too much data")
    rows = parse_json(found.decode("ascii"))
    return rows if isinstance(rows, list) else None


def _add_bulk(entry: Document, row: Any) -> None:
    artifacts = entry.get("artifacts")
    places: List[Tuple[Any, Dict[str, Any]]] = [(entry, _BULK)]
    if isinstance(artifacts, list):
        places += [(artifact, _BULK_OF_ARTIFACT) for artifact in artifacts]
    for number, (place, kinds) in enumerate(places):
        if isinstance(place, dict):
            given = row[number] if isinstance(row, list) and number < len(row) else None
            if not isinstance(given, dict):  # damaged: all of it is empty
                given = {key: kind() for key, kind in kinds.items() if key != "graph_tables"}
            place.update({key: given[key] for key in kinds if key in given})


def _entries(document: Any) -> Iterator[Document]:
    lists = [document.get("unattributed")] if isinstance(document, dict) else []
    functions = document.get("functions") if isinstance(document, dict) else None
    for function in functions if isinstance(functions, list) else ():
        lists.append(function.get("entries") if isinstance(function, dict) else None)
    for entries in lists:
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                yield entry


def _attempt(read: Any, value: Any, budget: _Budget) -> Any:
    try:
        return read(value, budget)
    except (TypeError, ValueError, IndexError, KeyError, AttributeError, zlib.error):
        return None  # damaged, or no depyf wrote it


def _at(table: List[Any], number: Any) -> Any:
    if not isinstance(number, int) or number < 0:
        raise ValueError("no number of a row")
    return table[number]


def _guards(table: Document, budget: _Budget) -> List[Document]:
    sources: List[str] = []
    for parent, rest in table["sources"]:
        head = "" if parent == -1 else _at(sources, parent)
        budget.take(len(head) + len(rest))
        sources.append(head + rest)

    def spelled(number: Any, source: str) -> str:
        text: str = _at(table["texts"], number)
        budget.take(len(text) + text.count(_SOURCE) * len(source))
        return text.replace(_SOURCE, source)

    found = []
    for number, text, expression, kind, comment, stack in table["rows"]:
        source = "" if number == -1 else _at(sources, number)
        found.append(
            {
                "text": spelled(text, source),
                "kind": _at(table["kinds"], kind),
                "source": source,
                "comment": _at(table["comments"], comment),
                "expression": None if expression == -1 else spelled(expression, source),
                "user_stack": list(_at(table["stacks"], stack)),
            }
        )
    return found


def _structure(given: Tuple[Any, Document], budget: _Budget, depth: int = 0) -> Optional[Document]:
    structure, shared = given
    if depth > _DEEPEST:
        raise ValueError("graphs stand in graphs too deep")
    if not isinstance(structure, dict) or "rows" not in structure:
        return structure if isinstance(structure, dict) else None
    tables = {name: _Table() for name in _TABLES}
    nodes = []
    for at, (name, kind, target, shape, module, place, *back) in enumerate(structure["rows"]):
        numbers = [
            tables[table].add(_at(shared[table], number))
            for table, number in zip(_TABLES, (target, shape, module, place))
        ]
        reads = [at - one for one in back]
        nodes.append([_at(shared["names"], name), _at(list(_KINDS), kind), *numbers, reads])
    found: Document = dict({"nodes": nodes}, **{name: table.rows for name, table in tables.items()})
    if "writes" in structure:
        found["writes"] = structure["writes"]
    if "inner" in structure:
        inner = structure["inner"].items()
        found["inner"] = {name: _structure((one, shared), budget, depth + 1) for name, one in inner}
    return found


def _origins(given: Tuple[Any, Document], budget: _Budget) -> Dict[str, str]:
    numbers, shared = given
    if isinstance(numbers, dict):
        return numbers
    names = [_at(shared["names"], number) for number in numbers]
    return dict(zip(names[::2], names[1::2]))
