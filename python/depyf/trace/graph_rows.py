"""What the rows of a graph have in common, whether a live graph or its text is read.

The form is that of `structure` in docs/run_schema.md.
"""

import re
from typing import Any, Dict, List

#: kinds of nodes: an input, a parameter or buffer, an operation, what the graph returns
INPUT, PARAMETER, OPERATION, OUTPUT = "input", "parameter", "op", "output"
#: what torch calls an input of the captured graph that is a parameter or buffer of a module
HELD = re.compile(r"_(?:parameters|buffers)_")


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
