"""For what a program needs a shape: a decision on it, a list of a result, a size it computes."""

import ast
from typing import Any, Iterable, Iterator, List, Set

from depyf.advice.uses.following import first_needing, where_needed
from depyf.advice.uses.names import assigned, method_of, path_of, unwrapped
from depyf.advice.uses.needs import tests_of
from depyf.advice.uses.trees import HAS_ENDS, last_line, read_at, statement_at, walked


def sized_at(file: str, line: int) -> int:
    """The line that decides on the size of what a line assigns; 0 as above."""
    tree, function = read_at(file, line)
    statement = statement_at(function, line) if function is not None else None
    if tree is None or statement is None or not hasattr(statement, "end_lineno"):
        return 0
    return first_needing(tree, function, assigned(statement), line, _sizes, deep=True)


def sized_lines(file: str, line: int) -> List[int]:
    """The lines of the same function that decide on the size of what a line assigns."""
    tree, function = read_at(file, line)
    statement = statement_at(function, line) if function is not None else None
    found: List[int] = []
    if tree is None or statement is None or not hasattr(statement, "end_lineno"):
        return found
    at = line
    while at:
        at = first_needing(tree, function, assigned(statement), at, _sizes, deep=False)
        found += [at] if at else []
    return found


def sizes_decided_in(file: str, line: int) -> List[int]:
    """The lines of the function around a line that decide on the size of what the function selects
    by a tensor's values, as `nonzero` does.
    """
    tree, function = read_at(file, line)
    nodes = walked(function) if tree is not None else ()
    names: Set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and _selects(node.value):
            names |= assigned(node)
    return sorted(
        {
            int(one.lineno)
            for node in nodes
            for one in (_sizes(tree, node) if tree is not None else ())
            if path_of(one) in names or _selects(one)
        }
    )


def _selects(node: ast.AST) -> bool:
    return any(
        isinstance(one, ast.Call) and getattr(one.func, "attr", "") in _SELECT
        for one in ast.walk(node)
    )


def _sizes(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """The expressions on the size of which a node decides."""
    for test in tests_of(node):
        for one in ast.walk(test):
            if isinstance(one, ast.Attribute) and one.attr in (
                "shape",
                "size",
                "numel",
                "nelement",
            ):
                yield one.value
            elif isinstance(one, ast.Call) and getattr(one.func, "id", "") == "len":
                yield from one.args


def listed_at(file: str, line: int) -> int:
    """The line that calls `.tolist()` on what a line computes; 0 as above."""
    tree, function = read_at(file, line)
    if tree is None or function is None or not HAS_ENDS:
        return 0
    for node in walked(function):
        for one in _listed(tree, node):
            if one.lineno <= line <= last_line(one) and any(map(_computes, ast.walk(one))):
                return int(node.lineno)
    statement = statement_at(function, line)
    names = assigned(statement) if statement is not None else set()
    return first_needing(tree, function, names, line, _listed, deep=False) if names else 0


def lists_of(file: str, line: int) -> List[str]:
    """Of what a line calls `.tolist()`: the name or path of each, "" for what has none."""
    return [
        path_of(getattr(node.func, "value"))
        for node in walked(read_at(file, line)[1])
        if isinstance(node, ast.Call) and method_of(node) == "tolist"
        if node.lineno <= line <= last_line(node)
    ]


def lists_in(file: str, line: int) -> List[int]:
    """The lines of the function around a line that make a Python list of a result whose shape
    depends on a tensor's values.
    """
    tree, function = read_at(file, line)
    return sorted(
        {
            node.lineno
            for node in walked(function)
            for one in (_listed(tree, node) if tree is not None else ())
            if _selects(one)
        }
    )


def _listed(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """What a node makes a Python list of."""
    if isinstance(node, ast.Call) and method_of(node) == "tolist":
        yield getattr(node.func, "value")


def _computes(node: ast.AST) -> bool:
    return isinstance(node, (ast.Call, ast.Subscript))


#: functions and methods whose results have a shape by a tensor's values
_SELECT = ("argwhere", "masked_select", "nonzero", "unique", "unique_consecutive")


def bounds_at(file: str, line: int, name: str) -> int:
    """The line, in the function around a line, that computes a size, a bound or a place of an
    operator from a name, which a tensor in its place would break the graph for; 0 as above.
    """
    return where_needed(file, line, name, _bounds)


#: functions and methods that are given numbers alone, beside a tensor
_TAKE_BOUNDS = frozenset(
    "arange chunk empty expand eye full linspace narrow new_zeros ones rand randn repeat reshape "
    "roll select split tile topk unflatten view zeros".split()
)


def _bounds(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """What a node computes as a size, a bound or a place, from more than a name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _TAKE_BOUNDS:
            given = list(node.args) + [one.value for one in node.keywords]
            yield from (one for one in given if isinstance(one, ast.BinOp))
    elif isinstance(node, ast.Slice):
        yield from (one for one in (node.lower, node.upper) if one is not None)


def needs_number(file: str, line: int, statements: Iterable[ast.AST]) -> bool:
    """Whether the function around a line needs, below it, the number of what some statements assign
    to a name: it bounds a slice, is the length of a range, an index, a size, or stands in a text.
    """
    tree, function = read_at(file, line)
    names = {
        name
        for one in statements
        for node in ast.walk(one)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        for name in assigned(node)
    }
    if tree is None or not names:
        return False
    return bool(
        first_needing(tree, function, names, line, numbers_needed, deep=False, numbers=True)
    )


def number_needed_of(file: str, line: int) -> bool:
    """As `needs_number`, of what a line assigns."""
    function = read_at(file, line)[1]
    statement = statement_at(function, line) if function is not None else None
    return statement is not None and needs_number(file, line, [statement])


def numbers_needed(tree: ast.Module, node: ast.AST) -> Iterator[Any]:
    """What a node needs the number of."""
    if isinstance(node, ast.Subscript):
        index = unwrapped(node.slice)
        bounds = [one for one in ast.walk(node.slice) if isinstance(one, ast.Slice)]
        yield from (one for each in bounds for one in (each.lower, each.upper) if one is not None)
        if isinstance(index, (ast.Name, ast.BinOp, ast.Subscript)):
            yield index
    elif isinstance(node, ast.FormattedValue):
        yield node.value
    elif isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in _TAKE_BOUNDS or called == "range":
            yield from node.args
            yield from (one.value for one in node.keywords)
