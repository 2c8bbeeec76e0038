"""One function out of a source: its tree and its text."""

import functools
import re
import textwrap
from typing import Any, Optional, Tuple

from depyf.compiling import functions_in, parse
from depyf.interrupts import pass_on


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
    # not splitlines(): a form feed or U+2028 in a text or a comment ends no line of Python
    lines = re.split("\r\n|\r|\n", source)[chosen.lineno - 1 : chosen.end_lineno]
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
