"""Which `with` of the program it is that torch's code enters and leaves by calls."""

import ast
import re
import types
from typing import List, Tuple

from depyf import compiling
from depyf.advice import uses
from depyf.advise.source import segment
from depyf.assembler import named_locals
from depyf.interrupts import pass_on
from depyf.model import Entry
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
        "follows the break enters %s again, where it has a graph or runs as plain Python."
    )
    calls = " and ".join("`%s.__enter__()`" % name for name in dict.fromkeys(names))
    words = ("is", "it", "it") if one else ("are", "them", "them")
    return text % (calls, words[0], " and ".join(told), *words[1:])


#: what calls in a graph switch, by how their functions end
_MODES = (("._set_grad_enabled", "gradients"), ("._enter_autocast", "autocast"))


def note_of_modes(entry: Entry) -> str:
    """A sentence on the modes that the graph of an entry switches by itself; "" where it does not:
    its code then has none of the program's `with torch.no_grad()`.
    """
    called = [
        str(target)
        for one in entry.artifacts
        if one.stage == "Captured_Graph"
        for target in one.structure.get("targets") or ()
    ]
    modes = [mode for end, mode in _MODES if any(one.endswith(end) for one in called)]
    if not modes or not entry.graph_name:
        return ""
    text = "`%s` itself switches %s on or off: the calls are in its Captured_Graph, not here."
    return text % (entry.graph_name, " and ".join(modes))


#: of every resume function
_OF_CALLERS = ("__nested_resume_fns", "__nested_frame_values", "__resume_frame_values")


def note_of_unread(entry: Entry) -> str:
    """A sentence on the parameters of a resume function that its code does not name."""
    code = entry._code.get() if entry.replaced else None  # made of the source
    if code is not None and _names_all(code):
        return ""
    try:
        tree = compiling.places_of(entry.source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass_on()
        return ""
    nodes = list(compiling.walk(tree))
    found = [one for one in nodes if isinstance(one, ast.FunctionDef) and one.name == entry.name]
    named = {one.id for one in nodes if isinstance(one, ast.Name)}
    for one in nodes:
        if isinstance(one, (ast.Global, ast.Nonlocal)):
            named.update(one.names)
    given = [one.arg for one in found[0].args.args] if len(found) == 1 else []
    names = [one for one in given if one not in named and one not in _OF_CALLERS]
    if not names:
        return ""
    listed = " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])
    return "Nothing here reads %s: torch hands over what was there at the break." % listed


def _names_all(code: types.CodeType) -> bool:
    """Whether the instructions of a function name each of its parameters."""
    named = named_locals(code)
    given = enumerate(code.co_varnames[: code.co_argcount])
    return all(at in named or one in code.co_cellvars or one in _OF_CALLERS for at, one in given)


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
