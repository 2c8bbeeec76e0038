"""Where a program makes a string of a number: by an f-string or `format`."""

import ast
from typing import Any, Iterator, Set

from depyf.advice.uses.following import first_needing, makes_number
from depyf.advice.uses.names import named_as
from depyf.advice.uses.trees import HAS_ENDS, functions_of, function_around, parsed, walked


def formatted_at(file: str, line: int, names: Set[str]) -> int:
    """The line, in the function that is around or begins at a line or in one that it calls, that
    makes a string of a number, by an f-string or `format`; 0 for none, or where the source is not
    there. The message of an exception is none, as the function ends with it.

    Args:
        names: of numbers, as guards name them.
    """
    tree = parsed(file) if file and line else None
    begun = [one for one in functions_of(tree) if one.lineno <= line <= one.body[0].lineno]
    function: Any = begun[-1] if begun else function_around(file, line)
    own: Set[str] = set()
    for name in names if function is not None else ():
        own |= named_as(function, name)
    if tree is None or not own or not HAS_ENDS:
        return 0
    at = function.lineno
    return first_needing(tree, function, own, at, _formatted, deep=True, numbers=True)


def _formatted(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The number of which a node makes a string, if that is none of a tensor."""
    made: Any = node.value if isinstance(node, ast.FormattedValue) else None
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "format":
        made = node.args[0] if node.args else None
    if made is not None and not makes_number(made) and not _is_of_exception(tree, made):
        yield made


def _is_of_exception(tree: ast.Module, node: ast.AST) -> bool:
    return any(
        isinstance(one, (ast.Raise, ast.Assert)) and node in walked(one) for one in walked(tree)
    )
