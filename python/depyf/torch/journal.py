"""What a run holds while its block is open, for a job that is killed: a file that only grows, so
that a compile costs the same after a thousand others. `depyf.dumped` reads it.

Each line is a JSON object with a `row`. One with `entry` is a compile, with the number of its
function, and with the text of its guards as torch's trace carries it (`guard_tree`), since torch's
caches are read when the block ends; one with `function` is a function without entries; one with
neither is the document without functions. What a later line says of the same thing holds.
"""

from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from depyf import sharing
from depyf.files import append_text
from depyf.model import Entry, Function, Run


class Journal:
    """Writes the lines of one block to `path`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._functions: Dict[int, int] = {}  # id -> number, in order of the first compile
        self._owners: Dict[int, Tuple[int, Function]] = {}  # by id of an entry
        self._entries: Dict[int, int] = {}
        self._heads: Set[int] = set()  # numbers of the functions that are written
        self._problems: Optional[int] = None  # how many are written

    def seen(self, function: Function, entry: Entry) -> None:
        """A compile of a function has begun."""
        number = self._functions.setdefault(id(function), len(self._functions))
        self._owners[id(entry)] = number, function

    def append(self, run: Run, entries: Iterable[Entry]) -> None:
        """Writes what is known of these entries; raises OSError where that cannot be done."""
        lines: List[Dict[str, Any]] = []
        if self._problems != len(run.problems):
            self._problems = len(run.problems)
            row = run.to_json(False)
            del row["functions"], row["unattributed"]
            lines.append({"row": row})
        for entry in entries:
            number, function = self._owners.get(id(entry), (None, None))
            if number is not None and function is not None and number not in self._heads:
                self._heads.add(number)
                lines.append({"function": number, "row": function.to_json(False)})
            line: Dict[str, Any] = {
                "entry": self._entries.setdefault(id(entry), len(self._entries)),
                "function": number,
                "row": sharing.packed_entry(entry.to_json()),
            }
            if entry.guard_tree and not entry.guards:
                line["guard_tree"] = entry.guard_tree
            lines.append(line)
        append_text(self.path, "".join(sharing.dumps(line) + "\n" for line in lines))
