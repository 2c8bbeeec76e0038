"""Where a program computes with the number in a tensor and another number of Python's."""

import ast
from typing import Any, Iterator, Set

from depyf.advice.uses.following import parts_of_number, where_used
from depyf.advice.uses.names import assigned, is_size, path_of
from depyf.advice.uses.trees import innermost, walked


def beside_at(file: str, line: int) -> int:
    """The line that computes a number of Python's, by `min`, `max`, `round` or a comparison, from
    the number that a line makes of a tensor and from one that the function is given; 0 where there
    is none, or the source is not there.
    """
    return where_used(file, line, _computed)


def _computed(tree: ast.Module, node: Any) -> Iterator[Any]:
    """What a node computes a number from, beside one that its function is given."""
    parts: Any = ()
    called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and (called in ("min", "max") and node.args[1:]):
        parts = node.args
    elif isinstance(node, ast.Call) and called in ("abs", "int", "round"):
        parts = node.args[:1]
    elif isinstance(node, ast.Compare) and not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        parts = [node.left] + node.comparators
    if not parts:
        return
    function = innermost(tree, node.lineno)
    plain = isinstance(node, ast.Compare)  # a tensor is compared with a number, too
    own = _given(function, plain) if function is not None else set()
    kept = _set_here(function) if function is not None else set()
    if any(_has(one, own, kept) for one in parts):
        yield from parts


def _set_here(function: Any) -> Set[str]:
    """The attributes that a function sets: a number that it keeps from call to call is one of the
    graph as soon as it comes from a tensor.
    """
    targets = [one for node in walked(function) for one in getattr(node, "targets", ())]
    return {path_of(one) for one in targets if isinstance(one, ast.Attribute)}


def _given(function: Any, plain: bool) -> Set[str]:
    """The numbers that a function may be given, and those that it computes from them.

    Args:
        plain: those alone that are plainly floats, by an annotation or a default.
    """
    given = function.args
    every = getattr(given, "posonlyargs", []) + given.args
    defaults = dict(zip(every[::-1], given.defaults[::-1]))
    defaults.update(zip(given.kwonlyargs, given.kw_defaults))
    found = {
        one.arg
        for one in every + given.kwonlyargs
        if not plain
        or path_of(one.annotation) == "float"
        or isinstance(getattr(defaults.get(one), "value", None), float)
    }
    for node in walked(function):
        if (
            isinstance(node, ast.Assign)
            and _is_arithmetic(node.value)
            and _has(node.value, found, set())
        ):
            found |= assigned(node)
    return found


def _is_arithmetic(node: Any) -> bool:
    kinds = (ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.Load)
    return all(isinstance(one, kinds) for one in ast.walk(node))


def _has(node: Any, own: Set[str], kept: Set[str]) -> bool:
    """Whether one of some numbers, or an attribute of one that is not `kept`, goes into an
    expression.
    """
    if is_size(node):
        return False
    objects: Set[int] = set()  # those of which an attribute is asked are no numbers
    for one in parts_of_number(node):
        if isinstance(one, ast.Attribute):
            objects.add(id(one.value))
        if id(one) in objects:
            continue
        path = path_of(one)
        if path in kept or path.endswith((".shape", ".T")):
            continue
        if path and path.partition(".")[0] in own:
            return True
    return False
