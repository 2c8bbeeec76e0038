"""One function out of a source: its tree and its text."""

import functools
import re
import textwrap
from typing import Any, Optional, Tuple

from depyf.compiling import functions_in, parse
from depyf.interrupts import pass_on

#: not splitlines(): a form feed or U+2028 in a text or a comment ends no line of Python
_LINE_END = re.compile("\r\n|\r|\n")


@functools.lru_cache(maxsize=64)
def function_in(source: str, name: Optional[str]) -> Tuple[Any, str]:
    """(the tree of one function in a source, its text, dedented and without decorators)."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass_on()
        return None, ""
    functions = functions_in(tree)
    if not functions:
        return None, ""
    chosen = next((node for node in functions if node.name == name), None)
    if chosen is None:
        chosen = min(functions, key=lambda node: node.lineno)
    lines = _LINE_END.split(source)[chosen.lineno - 1 : chosen.end_lineno]
    return chosen, textwrap.dedent("\n".join(lines)) + "\n"


_HEAD = re.compile(r"^((?:async\s+)?def\s+)\w+")


def function_text(source: str, name: Optional[str], new_name: str) -> Optional[str]:
    """The text of one function in a source, dedented, without decorators, under another name.

    None when it has none.
    """
    node, text = function_in(source, name)
    if node is None:
        return None
    return _HEAD.sub(lambda match: match.group(1) + new_name, text, count=1)


#: how a text begins to look in which lines do not tell where a statement ends
_HARD_LINES = re.compile(r"\"\"\"|'''|\\\n|\r|\f")


def printed_function(source: str, name: str) -> Optional[str]:
    """As `function_text` under its own name, of a source that depyf has printed; mostly without
    its tree: what is inside of a function, or of brackets, is indented.
    """
    lines = source.split("\n")
    head = "def %s(" % name
    found = [at for at, line in enumerate(lines) if line.lstrip(" ").startswith(head)]
    if len(found) != 1 or _HARD_LINES.search(source):
        return function_text(source, name, name)
    begin = found[0]
    outside = lines[begin].index("d")
    end = begin + 1
    for at in range(begin + 1, len(lines)):
        text = lines[at].lstrip(" ")
        if not text or text[0] == "#":
            continue
        if len(lines[at]) - len(text) <= outside and text[0] not in ")]}":
            break
        end = at + 1
    return textwrap.dedent("\n".join(lines[begin:end])) + "\n"
