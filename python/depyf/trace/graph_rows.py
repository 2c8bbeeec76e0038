"""What the rows of a graph have in common, whether a live graph or its text is read.

The form is that of `structure` in docs/run_schema.md.
"""

import re
from typing import Any, Dict, FrozenSet, Iterable, List, Sequence, Set

#: kinds of nodes: an input, a parameter or buffer, an operation, what the graph returns
INPUT, PARAMETER, OPERATION, OUTPUT = "input", "parameter", "op", "output"
#: what torch calls an input of the captured graph that is a parameter or buffer of a module
HELD = re.compile(r"_(?:parameters|buffers)_")
#: names of operations that write into their first argument, by torch's convention: `add_`,
#: `__iadd__`; `requires_grad_` writes nothing
IN_PLACE = re.compile(
    r"(?!requires_grad_)_?[a-zA-Z](?:\w*[^\W_])?_|__i(?!nvert__|nit__|ter__)\w+__"
)


class Table:
    """Rows, each of them once, by number."""

    def __init__(self) -> None:
        self._numbers: Dict[Any, int] = {}
        self.rows: List[Any] = []

    def add(self, row: Any) -> int:
        """The number of `row`, which is added where it is not there."""
        number = self._numbers.get(row)
        if number is None:
            number = self._numbers[row] = len(self.rows)
            self.rows.append(row)
        return number


class Writes:
    """What is written into in a graph, and which node reads it next; nodes are numbers.

    torch.fx has no edge for that: it keeps the order of the nodes instead. What draws a graph needs
    one.
    """

    def __init__(self) -> None:
        #: writer -> the first nodes with the memory that it writes into
        self.written: Dict[int, List[int]] = {}
        #: writer -> the nodes that read it next, also to write into it again
        self.readers: Dict[int, List[int]] = {}
        self._memory: Dict[int, FrozenSet[Any]] = {}
        self._first: Dict[Any, int] = {}
        self._last: Dict[Any, int] = {}
        self._given: Set[int] = set()
        self._read: Set[int] = set()

    def add(
        self,
        node: int,
        kind: str,
        reads: Sequence[int],
        written: Iterable[int] = (),
        memory: Iterable[Any] = (),
    ) -> None:
        """Adds the next node.

        Args:
            written: those that it writes into.
            memory: names of the memory of its value, which views share; empty where that is
                unknown.
        """
        self._read.update(reads)
        if kind in (INPUT, PARAMETER):
            self._given.add(node)
        self._reads(node, kind, reads)
        own: FrozenSet[Any] = frozenset(memory)
        targets = [one for one in dict.fromkeys(written) if one in self._memory]
        if targets:
            pieces = frozenset().union(*(self._memory[one] for one in targets))
            own = own or pieces  # an operation in place returns what it writes into
            self.written[node] = sorted({self._first[piece] for piece in pieces})
            for piece in pieces:
                self._last[piece] = node
        self._memory[node] = own or frozenset((("node", node),))
        for piece in self._memory[node]:
            self._first.setdefault(piece, node)

    def _reads(self, node: int, kind: str, reads: Sequence[int]) -> None:
        pieces: Set[Any] = set().union(*(self._memory.get(one, ()) for one in reads))
        if kind == OUTPUT:  # the caller sees what was written into its own
            for piece, writer in self._last.items():
                unread = writer not in self._read and writer not in self.readers
                if unread and self._first[piece] in self._given:
                    pieces.add(piece)
        for writer in {self._last[one]: 1 for one in pieces if one in self._last}:
            # what it reads was made behind the write, and read the written itself
            behind = any(
                one >= writer and not self._memory[one].isdisjoint(self._memory[writer])
                for one in reads
            )
            if not behind:
                self.readers.setdefault(writer, []).append(node)

    def rows(self) -> List[List[Any]]:
        """`writes` of docs/run_schema.md."""
        return [[one, into, self.readers.get(one, [])] for one, into in self.written.items()]
