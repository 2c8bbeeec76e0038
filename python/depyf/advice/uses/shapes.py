"""For what a program needs a shape: a decision on it, a list of a result, a size it computes."""

import ast
from typing import Any, Iterable, Iterator, List, Set

from depyf.advice.uses.following import (
    first_needing,
    gives_number,
    parts_of_number,
    turns_into_number,
    where_needed,
)
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


def sized_by_numbers_at(file: str, line: int) -> int:
    """The line, in the same function, that decides on a size which the Python numbers that a line
    makes of a tensor determine: that of a part of `torch.split`, of a slice, of what is made with
    them as its shape; 0 as above. What other functions make of those is not followed.
    """
    tree, function = read_at(file, line)
    if tree is None or function is None or not HAS_ENDS:
        return 0
    statement = statement_at(function, line)
    sized = _Sized(line, last_line(statement) if statement is not None else line)
    nodes: List[Any] = [one for one in walked(function) if hasattr(one, "lineno")]
    # a comprehension gives its names before it decides, as a loop does
    for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset)):
        if last_line(node) < line or node is function:
            continue
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            sized.assign(assigned(node), node.value)
        elif isinstance(node, ast.For):
            sized.give(node.target, node.iter)
        clauses = list(getattr(node, "generators", ()))
        for one in clauses:
            sized.give(one.target, one.iter)
        for test in [each for one in [node, *clauses] for each in _sizes(tree, one)]:
            if sized.is_one(test):
                return int(test.lineno)
    return 0


class _Sized:
    """Which names hold numbers that a line makes of tensors, and tensors with sizes by them.

    Attributes:
        numbers: of numbers, or lists of them.
        many: of lists of such tensors.
        ones: of such tensors.
    """

    def __init__(self, first: int, last: int) -> None:
        self._lines = range(first, last + 1)
        self.numbers: Set[str] = set()
        self.many: Set[str] = set()
        self.ones: Set[str] = set()

    def assign(self, names: Set[str], value: Any) -> None:
        """Reads an assignment."""
        for kind, holds in self._kinds():
            if holds(value):
                kind |= names
                return

    def give(self, target: Any, iterable: Any) -> None:
        """Reads what a loop gives its names."""
        given, targets = [iterable], [target]
        called = getattr(getattr(iterable, "func", None), "id", "")
        parts = target.elts if isinstance(target, ast.Tuple) else []
        if called == "enumerate" and len(parts) == 2 and iterable.args:
            given, targets = iterable.args[:1], parts[1:]
        elif called == "zip" and len(parts) == len(iterable.args):
            given, targets = iterable.args, parts
        for to, one in zip(targets, given):
            kept = self.ones if self.is_many(one) else self.numbers
            if kept is self.ones or self.is_number(one):
                kept |= {each.id for each in ast.walk(to) if isinstance(each, ast.Name)}

    def _kinds(self) -> List[Any]:
        return [
            (self.many, self.is_many),
            (self.ones, self.is_one),
            (self.numbers, self.is_number),
        ]

    def is_number(self, node: Any) -> bool:
        """Whether an expression is such a number, or a list of them."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            return path_of(node) in self.numbers
        if isinstance(node, ast.Call):
            if turns_into_number(node) and node.lineno in self._lines:
                return True
            return gives_number(node) and any(map(self.is_number, node.args))
        if isinstance(node, (ast.List, ast.Tuple)):
            return any(map(self.is_number, node.elts))
        if isinstance(node, ast.BinOp):
            return self.is_number(node.left) or self.is_number(node.right)
        return isinstance(node, ast.Subscript) and self.is_number(node.value)

    def is_many(self, node: Any) -> bool:
        """Whether an expression is a list of tensors of such sizes."""
        if isinstance(node, ast.Call) and _name_of(node) in ("split", "split_with_sizes"):
            return any(map(self.is_number, _given(node)))
        if isinstance(node, ast.Call) and _name_of(node) in ("list", "tuple", "reversed"):
            return any(map(self.is_many, node.args))
        if isinstance(node, ast.ListComp):
            for one in node.generators:
                self.give(one.target, one.iter)
            return self.is_one(node.elt)
        return path_of(node) in self.many

    def is_one(self, node: Any) -> bool:
        """Whether an expression is a tensor of such a size."""
        if isinstance(node, ast.Call):
            return _name_of(node) in _SHAPED and any(map(self.is_number, _given(node)))
        if isinstance(node, ast.Subscript):
            bounds = [one for one in ast.walk(node.slice) if isinstance(one, ast.Slice)]
            ends = [each for one in bounds for each in (one.lower, one.upper) if each is not None]
            return any(map(self.is_number, ends)) or not bounds and self.is_many(node.value)
        return path_of(node) in self.ones


#: functions and methods that are given the shape of their result
_SHAPED = frozenset(
    "empty expand full narrow new_empty new_full new_ones new_zeros ones rand randn repeat "
    "zeros".split()
)


def _name_of(call: Any) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _given(call: ast.Call) -> List[ast.expr]:
    return call.args + [one.value for one in call.keywords]


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
            yield from (one for one in _given(node) if isinstance(one, ast.BinOp))
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


def needed_beside_index(file: str, line: int) -> List[int]:
    """The lines, in the function around a line and below it, that need the Python number which it
    makes of a tensor itself, as a size, a bound or a length, in a text, or to decide.
    """
    tree, function = read_at(file, line)
    statement = statement_at(function, line) if function is not None else None
    if tree is None or statement is None:
        return []
    names, found = assigned(statement), set()

    def holds(node: Any) -> bool:
        return any(path_of(one) in names for one in parts_of_number(node))

    below: List[Any] = [one for one in walked(function) if getattr(one, "lineno", 0) > line]
    for node in sorted(below, key=lambda one: (one.lineno, one.col_offset)):
        needing = [*numbers_needed(tree, node), *tests_of(node)]
        found |= {int(one.lineno) for one in needing if holds(one)}
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            names |= assigned(node) if holds(node.value) else set()
    return sorted(found)


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
        if _name_of(node) in _TAKE_BOUNDS or _name_of(node) == "range":
            yield from _given(node)
