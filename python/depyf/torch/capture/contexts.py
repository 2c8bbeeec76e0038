"""Which `with` of the program it is that torch's code enters and leaves by calls."""

import ast
import re
import textwrap
import types
from typing import List, Tuple

from depyf import compiling
from depyf.interrupts import pass_on
from depyf.torch.capture.heads import file_name
from depyf.torch.codes import source_of

_ENTERED = re.compile(r"(?m)^ *(\w+)\.__enter__\(\)$")
#: characters of a context that are told
_MOST = 60


def note_of_contexts(source: str, code: types.CodeType, line: int) -> str:
    """A sentence on the contexts that `source` enters by a call; "" where it enters none.

    Args:
        source: torch's code, as it is shown.
        code: of the function that the program has.
        line: of the graph break, at which the contexts are open.
    """
    names = _ENTERED.findall(source)
    found = _contexts_around(code, line) if names else []
    if not found or not names:
        return ""
    told = ["`with %s` of %s:%d" % (text, file_name(code), at) for at, text in found]
    one = len(set(names)) == 1
    text = (
        "%s, with `__exit__`, %s the program's %s: the code here leaves %s at the break, and what "
        "follows the break enters %s again."
    )
    calls = " and ".join("`%s.__enter__()`" % name for name in dict.fromkeys(names))
    words = ("is", "it", "it") if one else ("are", "them", "them")
    return text % (calls, words[0], " and ".join(told), *words[1:])


def _contexts_around(code: types.CodeType, line: int) -> List[Tuple[int, str]]:
    """Lines and texts of the contexts inside of which a line of a function is, outermost first."""
    try:
        text = source_of(code)
        tree = compiling.places_of(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass_on()
        return []
    rows = text.split("\n")
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.With, ast.AsyncWith)):
            continue
        first = code.co_firstlineno - 1
        begin, last = first + node.body[0].lineno, first + (node.end_lineno or 0)
        if not begin <= line <= last:
            continue
        for item in node.items:
            one = item.context_expr
            row = rows[one.lineno - 1].encode()  # columns of a tree are those of bytes
            same = one.end_lineno == one.lineno
            said = row[one.col_offset : one.end_col_offset if same else None].decode()
            said += "" if same else "…"
            said = said if len(said) <= _MOST else said[: _MOST - 1] + "…"
            found.append((first + one.lineno, said))
    return sorted(found)
