"""Which `with` of the program it is that torch's code enters and leaves by calls."""

import re
import types
from typing import List, Tuple

from depyf.advice import uses
from depyf.advise.source import segment
from depyf.interrupts import pass_on
from depyf.plain import file_of
from depyf.torch.capture.heads import file_name
from depyf.torch.codes import lines_of

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
    file = file_of(code)
    try:
        source = "".join(lines_of(file))
    except (OSError, SyntaxError, ValueError):
        pass_on()
        return []
    found = []
    for node in uses.withs_around(file, line):
        for item in node.items:
            text = segment(source, item.context_expr) or ""
            said, _, more = text.partition("\n")
            said += "…" if more else ""
            said = said if len(said) <= _MOST else said[: _MOST - 1] + "…"
            found.append((item.context_expr.lineno, said))
    return sorted(found)
